/** How the relay proves to an authority that a name is its own. */
import type { ChallengeRecord, ChallengeType } from '../store/records.ts';

/** One way to do so. An order presents a challenge, waits for the authority to look, and withdraws it however that ended. */
export interface ChallengeSolver {
  readonly type: ChallengeType;
  /**
   * Makes the authority find what it looks for, on whichever relay it asks: it may ask as soon as this is fulfilled.
   *
   * @throws Error if it cannot be presented; the order then fails, and is tried again later
   */
  present(challenge: ChallengeRecord): Promise<void>;
  /** Takes it back. It need not have been presented. Never rejects. */
  withdraw(challenge: ChallengeRecord): Promise<void>;
}

/** What is ordered for a host. */
export interface Plan {
  /** the name on the certificate: the host, or `*.` and its domain */
  readonly subject: string;
  /** the ways to prove it, each tried only after the one before has failed; none: it is not ordered */
  readonly solvers: readonly ChallengeSolver[];
  /** id of the account whose host it is, which may have no more than its share of orders; default: nobody's */
  readonly account?: string;
  /** what is ordered for the host if that cannot be had; default: nothing */
  readonly otherwise?: Plan;
}

/** Says what is ordered for a host that may have a certificate, or to renew one of this name. Never rejects. */
export type PlanFor = (name: string) => Promise<Plan>;

/** What is ordered for whom. */
export interface Planning {
  /** See {@link PlanFor}. */
  planFor(name: string): Promise<Plan>;
  /** Hosts and wildcards that have a certificate before anybody asks for it, besides the relay's own name. Never rejects. */
  always(): Promise<readonly string[]>;
}

/** A certificate for each host. */
export function eachForItself(solvers: readonly ChallengeSolver[]): Planning {
  return {
    planFor: (subject) => Promise.resolve({ subject, solvers }),
    always: () => Promise.resolve([]),
  };
}

/** Whether a certificate of this name may be presented and kept: not that of a domain that is no longer verified. */
export type IsServed = (name: string) => boolean;

/**
 * Whether a host may have a certificate: it is the relay's, a live tunnel's or a verified domain's; or whether a wildcard of this
 * name is needed. Rejects if that cannot be found out.
 */
export type MayHave = (name: string) => boolean | Promise<boolean>;

/**
 * Whose a host is that may have a certificate: the id of an account; `undefined`: it may have none. Rejects if that cannot be found
 * out.
 */
export type HolderOf = (host: string) => Promise<string | undefined>;
