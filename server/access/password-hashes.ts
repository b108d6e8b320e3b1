/** Passwords as the relay stores them: hashed with scrypt (RFC 7914), off the main thread. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { Turnstile } from '../turnstile.ts';

/**
 * Number of passwords that are hashed at the same time: Node has four threads, which also look up names and read
 * files.
 */
export const HASHES_AT_ONCE = 2;
/**
 * Maximum number of one account's passwords that may wait to be hashed, including those for its tunnels; about 1
 * s.
 */
export const HASHES_WAITING_OF_ONE_MAX = 32;
/** Maximum number of passwords from all accounts that may wait to be hashed; accounts take turns. */
export const HASHES_WAITING_MAX = 1024;

/** 16 MiB and about 50 ms for each: what OWASP's cheat sheet recommends for scrypt on shared memory. */
const COST = { N: 16_384, r: 8, p: 1 };
const SALT_BYTES = 16;
const KEY_BYTES = 32;
const FORMAT = /^scrypt\$16384\$8\$1\$([\w-]{22})\$([\w-]{43})$/;

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
  readonly #turns = new Turnstile({
    atOnce: { all: HASHES_AT_ONCE, group: HASHES_AT_ONCE },
    waiting: { all: HASHES_WAITING_MAX, group: HASHES_WAITING_OF_ONE_MAX },
  });

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

  #derive(password: string, salt: Buffer, { account, tunnel }: HashOwner): Promise<Buffer> {
    // The same text may arrive composed or decomposed (RFC 8265 section 4.2.1).
    return this.#turns.run(account, () => this.#deriveKey(password.normalize('NFC'), salt), tunnel);
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
