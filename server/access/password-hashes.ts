/** Passwords as the relay stores them: hashed with scrypt (RFC 7914), off the main thread. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { STORE_RETRY_AFTER_SECONDS } from '../store/store-errors.ts';

/**
 * @limit Number of passwords that are hashed at the same time: Node has four threads, which also look up names and read
 * files.
 */
export const HASHES_AT_ONCE = 2;
/**
 * @limit Maximum number of one account's passwords that may wait to be hashed, including those for its tunnels; about 1
 * s.
 */
export const HASHES_WAITING_OF_ONE_MAX = 32;
/** @limit Maximum number of passwords from all accounts that may wait to be hashed; accounts take turns. */
export const HASHES_WAITING_MAX = 1024;

/** 16 MiB and about 50 ms for each: what OWASP's cheat sheet recommends for scrypt on shared memory. */
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

/** For whom a password is hashed. Accounts take turns, and so do the tunnels of an account. */
interface HashOwner {
  /** id */
  readonly account: string;
  /** id of the tunnel that the visitor waits at; `''` for passwords that the account sets itself */
  readonly tunnel: string;
}

/** Derives {@link KEY_BYTES} from a password; as slow as is affordable. */
type Derive = (password: string, salt: Buffer) => Promise<Buffer>;

export class PasswordHashes {
  readonly #deriveKey: Derive;
  readonly #waiting = new WaitingHashes();
  #running = 0;

  constructor(derive: Derive = deriveWithScrypt) {
    this.#deriveKey = derive;
  }

  /** @throws BusyError when too many wait; this one may also have to give way later */
  async hash(password: string, owner: HashOwner): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const key = await this.#derive(password, salt, owner);
    return `scrypt$${COST.N}$${COST.r}$${COST.p}$${salt.toString('base64url')}$${key.toString('base64url')}`;
  }

  /**
   * Compares in constant time.
   *
   * @param hash as created by {@link hash}; without one, the same time is spent, and the result is `false`
   * @throws BusyError as {@link hash} does
   */
  async matches(password: string, hash: string | undefined, owner: HashOwner): Promise<boolean> {
    const [, salt = '', key = ''] = FORMAT.exec(hash ?? '') ?? [];
    const derived = await this.#derive(password, Buffer.from(salt, 'base64url'), owner);
    const expected = Buffer.from(key, 'base64url');
    return expected.length === derived.length && timingSafeEqual(expected, derived);
  }

  async #derive(password: string, salt: Buffer, owner: HashOwner): Promise<Buffer> {
    await this.#turn(owner);
    try {
      // The same text may arrive composed or decomposed (RFC 8265 section 4.2.1).
      return await this.#deriveKey(password.normalize('NFC'), salt);
    } finally {
      this.#handOn();
    }
  }

  /** Node's four threads also look up names and read files. */
  async #turn(owner: HashOwner): Promise<void> {
    if (this.#running < HASHES_AT_ONCE) {
      this.#running += 1;
      return;
    }
    await new Promise<void>((begin, reject) => {
      const refuse = (): void => reject(new BusyError());
      this.#waiting.push(owner, { begin, refuse })?.refuse();
    });
  }

  #handOn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next.begin();
  }
}

/** A password that waits to be hashed. */
interface Waiting {
  readonly begin: () => void;
  readonly refuse: () => void;
}

/** Waiting passwords of an account, by tunnel; the next tunnel comes first. */
interface AccountLine {
  count: number;
  readonly tunnels: Map<string, Waiting[]>;
}

/**
 * Passwords that wait. When there are too many, the latest of the tunnel or account with the most gives way: guessing
 * passwords at one tunnel does not keep the passwords of other tenants from being checked.
 */
class WaitingHashes {
  /** the next account comes first */
  readonly #accounts = new Map<string, AccountLine>();
  #count = 0;

  /** @returns the one that is refused instead, if any; it may be the new one itself */
  push({ account, tunnel }: HashOwner, waiting: Waiting): Waiting | undefined {
    const line = this.#accounts.get(account) ?? { count: 0, tunnels: new Map<string, Waiting[]>() };
    const ofTunnel = line.tunnels.get(tunnel) ?? [];
    let refused: Waiting | undefined;
    if (line.count >= HASHES_WAITING_OF_ONE_MAX) {
      const [, most] = longest(line.tunnels, ({ length }) => length);
      if (most.length <= ofTunnel.length + 1) return waiting;
      refused = this.#dropLatest(line);
    } else if (this.#count >= HASHES_WAITING_MAX) {
      const [, most] = longest(this.#accounts, ({ count }) => count);
      if (most.count <= line.count + 1) return waiting;
      refused = this.#dropLatest(most);
    }
    ofTunnel.push(waiting);
    line.tunnels.set(tunnel, ofTunnel);
    line.count += 1;
    this.#accounts.set(account, line);
    this.#count += 1;
    return refused;
  }

  /** @returns the next one */
  shift(): Waiting | undefined {
    for (const [account, line] of this.#accounts) {
      for (const [tunnel, waiting] of line.tunnels) {
        const next = waiting.shift();
        line.tunnels.delete(tunnel);
        if (waiting.length > 0) line.tunnels.set(tunnel, waiting);
        line.count -= 1;
        this.#accounts.delete(account);
        if (line.count > 0) this.#accounts.set(account, line);
        this.#count -= 1;
        return next;
      }
    }
    return undefined;
  }

  /** @param line of an account that has more than one */
  #dropLatest(line: AccountLine): Waiting | undefined {
    const [tunnel, waiting] = longest(line.tunnels, ({ length }) => length);
    const latest = waiting.pop();
    if (waiting.length === 0) line.tunnels.delete(tunnel);
    line.count -= 1;
    this.#count -= 1;
    return latest;
  }
}

/** @returns the entry with the largest size; needed only when the queue is full */
function longest<T>(lines: ReadonlyMap<string, T>, size: (line: T) => number): [key: string, line: T] {
  let [found] = lines;
  for (const entry of lines) if (found === undefined || size(entry[1]) > size(found[1])) found = entry;
  if (found === undefined) throw new Error('nothing waits');
  return found;
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
 * Waits for the hashing of passwords on behalf of an API request.
 *
 * @throws ApiError 503 when too many wait
 */
export async function mapBusyError<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof BusyError)) throw error;
    throw new ApiError(API_ERRORS.unavailable, { 'Retry-After': String(STORE_RETRY_AFTER_SECONDS) });
  }
}
