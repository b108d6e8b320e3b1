/** Passwords as the relay keeps them: hashed with scrypt (RFC 7914), off the main thread. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { HASHES_AT_ONCE, HASHES_WAITING_MAX, STORE_RETRY_AFTER_SECONDS } from '../limits.ts';

/** 16 MiB and some 50 ms for each: what OWASP's cheat sheet names for scrypt where memory is shared. */
const COST = { N: 16_384, r: 8, p: 1 };
const SALT_BYTES = 16;
const KEY_BYTES = 32;
const FORMAT = /^scrypt\$16384\$8\$1\$([\w-]{22})\$([\w-]{43})$/;

/** Too many passwords wait to be checked. */
export class BusyError extends Error {
  constructor() {
    super('too many passwords wait to be checked');
    this.name = 'BusyError';
  }
}

export class PasswordHashes {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** @throws BusyError */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const key = await this.#derive(password, salt);
    return `scrypt$${COST.N}$${COST.r}$${COST.p}$${salt.toString('base64url')}$${key.toString('base64url')}`;
  }

  /**
   * Compares in constant time.
   *
   * @param hash what {@link hash} has made; without one, the same time is spent, and the answer is `false`
   * @throws BusyError
   */
  async matches(password: string, hash: string | undefined): Promise<boolean> {
    const [, salt = '', key = ''] = FORMAT.exec(hash ?? '') ?? [];
    const derived = await this.#derive(password, Buffer.from(salt, 'base64url'));
    const expected = Buffer.from(key, 'base64url');
    return expected.length === derived.length && timingSafeEqual(expected, derived);
  }

  async #derive(password: string, salt: Buffer): Promise<Buffer> {
    await this.#turn();
    try {
      return await new Promise<Buffer>((resolve, reject) => {
        // The same text may come composed or decomposed (RFC 8265 section 4.2.1).
        scrypt(password.normalize('NFC'), salt, KEY_BYTES, COST, (error, key) => {
          if (error === null) resolve(key);
          else reject(error);
        });
      });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  /** Node's four threads also look up names and read files. */
  async #turn(): Promise<void> {
    if (this.#running < HASHES_AT_ONCE) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= HASHES_WAITING_MAX) throw new BusyError();
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

/**
 * Waits for passwords on behalf of a request of the API.
 *
 * @throws ApiError 503 when too many wait
 */
export async function orBusy<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof BusyError)) throw error;
    throw new ApiError(API_ERRORS.unavailable, { 'Retry-After': String(STORE_RETRY_AFTER_SECONDS) });
  }
}
