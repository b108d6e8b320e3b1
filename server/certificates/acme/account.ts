/** The relay's account at an authority: made when it is first needed, kept in the store for all relays. */
import { createPrivateKey } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { AcmeAccountRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { Signer } from './jws.ts';
import { AcmeProblem } from './problem.ts';
import type { AcmeSession } from './session.ts';
import { newKey, pemOf } from './x509.ts';

/** With these an authority says that it does not, or no longer, know an account (RFC 8555 section 6.7). */
const LOST = new Set(['accountDoesNotExist', 'unauthorized']);

export class AcmeAccount {
  readonly #store: Pick<Store, 'acmeAccount' | 'setAcmeAccount'>;
  readonly #session: AcmeSession;
  readonly #directory: string;
  readonly #email: string;
  readonly #clock: Clock;

  constructor(
    store: Pick<Store, 'acmeAccount' | 'setAcmeAccount'>,
    session: AcmeSession,
    authority: { readonly directory: string; readonly email: string },
    clock: Clock,
  ) {
    this.#store = store;
    this.#session = session;
    this.#directory = authority.directory;
    this.#email = authority.email;
    this.#clock = clock;
  }

  /**
   * Makes sure that there is one to order with; nothing is sent for that.
   *
   * @throws StoreError
   */
  async ensure(): Promise<AcmeAccountRecord> {
    const fresh = { directory: this.#directory, key: pemOf(await newKey()), url: null };
    return await this.#store.acmeAccount(fresh, this.#clock.now());
  }

  /**
   * Does something with the account. If the authority says that it does not know it, another one is made, and the same done
   * once more.
   *
   * @throws StoreError, AcmeProblem, AuthorityError, what `work` throws
   */
  async with<T>(work: (signer: Signer) => Promise<T>): Promise<T> {
    const stored = await this.ensure();
    if (stored.url === null) return await work(await this.#register(stored));
    try {
      return await work(signerOf(stored, stored.url));
    } catch (error) {
      if (!isLost(error)) throw error;
      return await work(await this.#registerAgain(stored));
    }
  }

  /** With the same key where that is good: the authority may have lost it, or another relay found that out first. */
  async #registerAgain(lost: AcmeAccountRecord): Promise<Signer> {
    const stored = await this.ensure();
    if (stored.key !== lost.key && stored.url !== null) return signerOf(stored, stored.url);
    try {
      return await this.#register(stored, lost.url);
    } catch (error) {
      if (!isLost(error)) throw error;
    }
    const fresh = { directory: this.#directory, key: pemOf(await newKey()), url: null };
    await this.#store.setAcmeAccount(fresh);
    return await this.#register(fresh);
  }

  /** @param lost address that is not good any more: who gets it again needs another key */
  async #register(stored: AcmeAccountRecord, lost: string | null = null): Promise<Signer> {
    const key = createPrivateKey(stored.key);
    const url = await this.#session.register(key, this.#email);
    if (url === lost) throw new AcmeProblem('unauthorized', 'the account is not valid any more', 0);
    await this.#store.setAcmeAccount({ ...stored, url });
    return { key, account: url };
  }
}

function isLost(error: unknown): boolean {
  return error instanceof AcmeProblem && LOST.has(error.type);
}

function signerOf({ key }: AcmeAccountRecord, url: string): Signer {
  return { key: createPrivateKey(key), account: url };
}
