/** How the relay proves to an authority that it controls a name. */
import type { ChallengeRecord, ChallengeType } from '../store/records.ts';

/**
 * One type of proof. An order presents a challenge, waits for the authority to check it, and withdraws it in any case.
 */
export interface ChallengeSolver {
  readonly type: ChallengeType;
  /**
   * Makes the proof available on every relay that the authority may query: it may do so as soon as this is fulfilled.
   *
   * @throws Error if it cannot be presented; the order then fails, and is retried later
   */
  present(challenge: ChallengeRecord): Promise<void>;
  /** Withdraws the proof, whether or not it was presented. Never rejects. */
  withdraw(challenge: ChallengeRecord): Promise<void>;
}

/** The certificate to order for a host. */
export interface Plan {
  /** the name on the certificate: the host, or `*.` and its domain */
  readonly subject: string;
  /** solvers, each tried only after the previous one has failed; without any, nothing is ordered */
  readonly solvers: readonly ChallengeSolver[];
  /** id of the account that owns the host, whose share of orders is limited; default: none */
  readonly account?: string;
  /** the alternative for the host if that fails; default: none */
  readonly otherwise?: Plan;
}

/**
 * Returns what to order for a host that may have a certificate, or to renew a certificate of this name. Never rejects.
 */
export type PlanFor = (name: string) => Promise<Plan>;

/** Decides which certificates to order. */
export interface Planning {
  /** See {@link PlanFor}. */
  planFor(name: string): Promise<Plan>;
  /** Hosts and wildcards whose certificates are ordered in advance, besides the relay's own name. Never rejects. */
  always(): Promise<readonly string[]>;
}

/** A separate certificate for each host. */
export function eachForItself(solvers: readonly ChallengeSolver[]): Planning {
  return {
    // Only the DNS proves a wildcard (RFC 8555 section 7.1.3).
    planFor: (subject) => Promise.resolve({ subject, solvers: subject.startsWith('*.') ? [] : solvers }),
    always: () => Promise.resolve([]),
  };
}

/** Whether a certificate of this name may be presented and stored: not that of a domain that is no longer verified. */
export type IsServed = (name: string) => boolean;

/**
 * Whether a host may have a certificate: it is the relay's, a live tunnel's or a verified domain's; or whether a
 * wildcard of this name is needed. Rejects if that cannot be determined.
 */
export type MayHave = (name: string) => boolean | Promise<boolean>;

/** The owner of a host that may have a certificate. */
export interface Holder {
  /** the id of an account; `relay` for the relay's own name */
  readonly account: string;
  /** the name on the certificate: the host, or a wildcard for one that has none of its own */
  readonly subject: string;
}

/** Finds the owner of a host; `undefined`: it may have no certificate. Rejects if that cannot be determined. */
export type HolderOf = (host: string) => Promise<Holder | undefined>;
