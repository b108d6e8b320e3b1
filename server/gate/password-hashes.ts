/** Passwords as the relay keeps them: hashed with scrypt (RFC 7914), off the main thread. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import {
  HASHES_AT_ONCE,
  HASHES_WAITING_MAX,
  HASHES_WAITING_OF_ONE_MAX,
  STORE_RETRY_AFTER_SECONDS,
} from '../limits.ts';

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

/** Makes {@link KEY_BYTES} out of a password; as slow as is affordable. */
export type Derive = (password: string, salt: Buffer) => Promise<Buffer>;

export class PasswordHashes {
  readonly #deriveKey: Derive;
  #running = 0;
  /** those who wait, by whom they belong to; the group whose turn it is comes first */
  readonly #waiting = new Map<string, (() => void)[]>();
  #waitingCount = 0;

  constructor(derive: Derive = deriveWithScrypt) {
    this.#deriveKey = derive;
  }

  /**
   * @param group whom it belongs to: groups take turns
   * @throws BusyError
   */
  async hash(password: string, group: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const key = await this.#derive(password, salt, group);
    return `scrypt$${COST.N}$${COST.r}$${COST.p}$${salt.toString('base64url')}$${key.toString('base64url')}`;
  }

  /**
   * Compares in constant time.
   *
   * @param hash what {@link hash} has made; without one, the same time is spent, and the answer is `false`
   * @param group as for {@link hash}
   * @throws BusyError
   */
  async matches(password: string, hash: string | undefined, group: string): Promise<boolean> {
    const [, salt = '', key = ''] = FORMAT.exec(hash ?? '') ?? [];
    const derived = await this.#derive(password, Buffer.from(salt, 'base64url'), group);
    const expected = Buffer.from(key, 'base64url');
    return expected.length === derived.length && timingSafeEqual(expected, derived);
  }

  async #derive(password: string, salt: Buffer, group: string): Promise<Buffer> {
    await this.#turn(group);
    try {
      // The same text may come composed or decomposed (RFC 8265 section 4.2.1).
      return await this.#deriveKey(password.normalize('NFC'), salt);
    } finally {
      this.#handOn();
    }
  }

  /** Node's four threads also look up names and read files. */
  async #turn(group: string): Promise<void> {
    if (this.#running < HASHES_AT_ONCE) {
      this.#running += 1;
      return;
    }
    const line = this.#waiting.get(group) ?? [];
    if (line.length >= HASHES_WAITING_OF_ONE_MAX || this.#waitingCount >= HASHES_WAITING_MAX)
      throw new BusyError();
    this.#waiting.set(group, line);
    this.#waitingCount += 1;
    await new Promise<void>((resolve) => line.push(resolve));
  }

  /** Who tries passwords at one tunnel makes others wait for one of them, not for all. */
  #handOn(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#running -= 1;
      return;
    }
    const [group, line] = first;
    const next = line.shift();
    this.#waiting.delete(group);
    if (line.length > 0) this.#waiting.set(group, line);
    this.#waitingCount -= 1;
    next?.();
  }
}

async function deriveWithScrypt(password: string, salt: Buffer): Promise<Buffer> {
  return await new Promise<Buffer>((resolve, reject) => {
    scrypt(password, salt, KEY_BYTES, COST, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
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
