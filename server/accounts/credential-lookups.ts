/**
 * Looks up credentials that cannot be guessed: API keys and invitations. Others' wrong ones never keep a right one out:
 * it is looked up before anything is counted, and only the load of the lookups is limited.
 */
import { API_ERRORS, ApiError, type ApiErrorEntry } from '../../shared/errors.ts';
import type { Clock } from '../clock.ts';
import {
  ADDRESS_LOOKUPS_AT_ONCE,
  ADDRESS_LOOKUPS_WAITING_MAX,
  LOOKUPS_AT_ONCE,
  STORE_RETRY_AFTER_SECONDS,
} from '../limits.ts';
import { RateLimiter } from '../rate-limiter.ts';
import { Turnstile } from '../turnstile.ts';

interface CredentialLookupsOptions {
  readonly clock: Clock;
  /** how many wrong ones an address may send per minute, and in one burst */
  readonly perMinute: number;
  /** refuses a wrong one */
  readonly wrong: () => ApiError;
  /** refuses a wrong one beyond the limit */
  readonly tooMany: ApiErrorEntry;
}

export class CredentialLookups {
  readonly #options: CredentialLookupsOptions;
  readonly #turns = new Turnstile({ all: LOOKUPS_AT_ONCE, group: ADDRESS_LOOKUPS_AT_ONCE });
  /** by address */
  readonly #wrong: RateLimiter;

  constructor(options: CredentialLookupsOptions) {
    const { clock, perMinute } = options;
    this.#options = options;
    this.#wrong = new RateLimiter(clock, { perMinute, burst: perMinute });
  }

  /**
   * @param address of the sender; `undefined` for the relay's own machine, where a proxy may send everybody's requests:
   *   its wrong ones are not counted, but take turns like those of one address
   * @param look finds what belongs to the credential
   * @throws ApiError for a wrong one, 503 if too many of the address wait
   */
  async find<T>(address: string | undefined, look: () => Promise<T | undefined>): Promise<T> {
    const group = address ?? '';
    if (this.#turns.waiting(group) >= ADDRESS_LOOKUPS_WAITING_MAX)
      throw new ApiError(API_ERRORS.unavailable, { 'Retry-After': String(STORE_RETRY_AFTER_SECONDS) });
    const found = await this.#turns.run(group, look);
    if (found !== undefined) return found;
    const wait = address === undefined ? 0 : this.#wrong.take(address);
    if (wait === 0) throw this.#options.wrong();
    throw new ApiError(this.#options.tooMany, { 'Retry-After': String(wait) });
  }
}
