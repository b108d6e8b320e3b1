/**
 * Looks up credentials that cannot be guessed: API keys and invitations. Others' wrong ones never keep a right one out:
 * it is looked up before anything is counted, and only the load of the lookups is limited.
 */
import { ApiError, type ApiErrorEntry } from '../../shared/errors.ts';
import type { Clock } from '../clock.ts';
import { type CreateLimiter, type Limit, RateLimiter } from '../rate-limiter.ts';
import { mapBusyError, Turnstile } from '../turnstile.ts';

/** Maximum number of unknown API keys or invitations that the database looks up at the same time. */
const LOOKUPS_AT_ONCE = 8;
/**
 * Maximum number of them from one IP address; addresses take turns, and the relay's own machine counts as one.
 */
export const ADDRESS_LOOKUPS_AT_ONCE = 2;
/** Maximum number of an IP address's unknown API keys or invitations that may wait for that; more get 503. */
export const ADDRESS_LOOKUPS_WAITING_MAX = 1000;

interface CredentialLookupsOptions {
  readonly clock: Clock;
  /** how many wrong ones an address may send per minute, and in one burst */
  readonly perMinute: number;
  /** counts them at all relays that share the database */
  readonly limit: Limit;
  /** what they are, for `limit` */
  readonly kind: string;
  /** refuses a wrong one */
  readonly wrong: () => ApiError;
  /** refuses a wrong one beyond the limit */
  readonly tooMany: ApiErrorEntry;
}

export class CredentialLookups {
  readonly #options: CredentialLookupsOptions;
  readonly #turns = new Turnstile({
    atOnce: { all: LOOKUPS_AT_ONCE, group: ADDRESS_LOOKUPS_AT_ONCE },
    waiting: { group: ADDRESS_LOOKUPS_WAITING_MAX },
  });
  /** by address */
  readonly #wrong: CreateLimiter;

  constructor(options: CredentialLookupsOptions) {
    const { clock, perMinute, limit, kind } = options;
    this.#options = options;
    const rate = { perMinute, burst: perMinute };
    this.#wrong = limit(new RateLimiter(clock, rate), rate, kind);
  }

  /**
   * @param address of the sender; `undefined` for the relay's own machine, where a proxy may send everybody's requests:
   *   its wrong ones are not counted, but take turns like those of one address
   * @param look finds what belongs to the credential
   * @throws ApiError for a wrong one, 503 if too many of the address wait
   */
  async find<T>(address: string | undefined, look: () => Promise<T | undefined>): Promise<T> {
    const found = await mapBusyError(this.#turns.run(address ?? '', look));
    if (found !== undefined) return found;
    const wait = address === undefined ? 0 : await this.#wrong.take(address);
    if (wait === 0) throw this.#options.wrong();
    throw new ApiError(this.#options.tooMany, { 'Retry-After': String(wait) });
  }
}
