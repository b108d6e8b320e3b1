/** What is known of the delegations of domains: looked up when it matters, and remembered for a while. */
import type { Clock } from '../../clock.ts';
import { DELEGATIONS_KNOWN_MAX } from '../../limits.ts';
import type { Log } from '../../log.ts';
import type { Delegation, LookUpDelegation } from './delegation.ts';
import { challengeName } from './zones.ts';

/** ms for which a delegation that was seen is believed. */
const DELEGATION_SEEN_MS = 3600_000;
/** ms after which one that is missing is looked for again. */
const DELEGATION_MISSING_MS = 60_000;

interface Known {
  readonly isOurs: boolean;
  /** monotonic time in ms from which it is to be looked up again */
  readonly until: number;
}

export interface DelegationsOptions {
  readonly lookUp: LookUpDelegation;
  /** host name of the relay */
  readonly nameServer: string;
  readonly clock: Clock;
  readonly log: Log;
}

export class Delegations {
  readonly #options: DelegationsOptions;
  /** by domain, looked up longest ago first */
  readonly #known = new Map<string, Known>();
  readonly #lookingUp = new Map<string, Promise<boolean>>();

  constructor(options: DelegationsOptions) {
    this.#options = options;
  }

  /** Whether authorities find challenges of a domain here. Never rejects. */
  isOurs(domain: string): Promise<boolean> {
    const known = this.#known.get(domain);
    if (known !== undefined && this.#options.clock.monotonic() < known.until)
      return Promise.resolve(known.isOurs);
    const underWay = this.#lookingUp.get(domain) ?? this.#lookUp(domain, known?.isOurs);
    this.#lookingUp.set(domain, underWay);
    return underWay;
  }

  async #lookUp(domain: string, before: boolean | undefined): Promise<boolean> {
    const found = await this.#options.lookUp(domain);
    this.#lookingUp.delete(domain);
    // A wildcard that is in use is not given up for a resolver that is away.
    const isOurs = found.kind === 'ours' || (found.kind === 'failed' && before === true);
    this.#remember(domain, isOurs, found.kind === 'ours' ? DELEGATION_SEEN_MS : DELEGATION_MISSING_MS);
    if (isOurs !== before) this.#tell(domain, found);
    return isOurs;
  }

  #remember(domain: string, isOurs: boolean, ms: number): void {
    this.#known.delete(domain);
    this.#known.set(domain, { isOurs, until: this.#options.clock.monotonic() + ms });
    if (this.#known.size <= DELEGATIONS_KNOWN_MAX) return;
    const [oldest = domain] = this.#known.keys();
    this.#known.delete(oldest);
  }

  #tell(domain: string, found: Delegation): void {
    const { log, nameServer } = this.#options;
    const record = `${challengeName(domain)}. NS ${nameServer}.`;
    if (found.kind === 'ours') log('delegation seen', { domain });
    else log('delegation missing', { domain, record, reason: found.reason });
  }
}
