/** When an authority is left alone that could not be used. */
import type { Clock } from '../clock.ts';
import { AUTHORITY_RETRY_MAX_MS, AUTHORITY_RETRY_MS } from '../limits.ts';
import { AcmeProblem, type AuthorityError } from './acme/problem.ts';

/** Why a certificate is ordered: a visitor waits for it, or the relay sees to it that it is there. */
export type Cause = 'visitor' | 'upkeep';

interface Pause {
  /** monotonic ms */
  until: number;
  /** times in a row that the authority could not be used */
  outages: number;
}

/** Longer each time. Limits that visitors have reached keep only further visitors waiting: renewals do not count against them. */
export class Pauses {
  readonly #clock: Clock;
  readonly #of: Readonly<Record<Cause, Pause>> = {
    visitor: { until: 0, outages: 0 },
    upkeep: { until: 0, outages: 0 },
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether nothing is to be ordered now. */
  isOn(cause: Cause): boolean {
    return this.#clock.monotonic() < this.#of[cause].until;
  }

  /**
   * An order could not be made.
   *
   * @returns ms until the next may
   */
  begin(cause: Cause, error: AuthorityError): number {
    const isLimit = error.cause instanceof AcmeProblem && error.cause.type === 'rateLimited';
    const wait = Math.max(this.#growing(cause), error.retryAfterMs ?? 0);
    const concerned = isLimit && cause === 'visitor' ? [this.#of.visitor] : Object.values(this.#of);
    for (const pause of concerned) {
      pause.outages += 1;
      pause.until = this.#clock.monotonic() + wait;
    }
    return wait;
  }

  /** An order has been made. */
  over(cause: Cause): void {
    this.#of[cause].outages = 0;
  }

  #growing(cause: Cause): number {
    return Math.min(AUTHORITY_RETRY_MS * 2 ** this.#of[cause].outages, AUTHORITY_RETRY_MAX_MS);
  }
}
