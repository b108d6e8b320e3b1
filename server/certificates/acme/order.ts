/** Orders one certificate (RFC 8555 section 7.4): proves each name, sends the request, downloads the chain. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../../clock.ts';
import type { AcmeAccountRecord, ChallengeRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { ChallengeSolver } from '../challenge-solver.ts';
import {
  AcmeProblem,
  type AcmeSession,
  addressOf,
  type Answer,
  AuthorityError,
  jsonOf,
  keyAuthorization,
  locationOf,
  problemOf,
  type Signer,
} from './session.ts';
import { certificateRequest, newKey, pemOf } from './x509.ts';

/** How long the relay works on an ACME order before it gives up and may start another one. */
export const ACME_ORDER_TIMEOUT_MS = 120_000;
/** Maximum number of certificates in a certificate chain. */
export const ACME_CHAIN_MAX = 10;

/** ms between two checks of an order, unless the authority requests otherwise. */
const ACME_POLL_MS = 500;

/** The authority has checked a challenge and found no proof, or offers no challenge that this solver supports. */
export class UnprovenError extends Error {
  constructor(type: string, cause: unknown) {
    super(`${type} has failed`, { cause });
    this.name = 'UnprovenError';
  }
}

/** The result of an order, in PEM. */
export interface Issued {
  readonly chain: string;
  readonly key: string;
}

type Json = Readonly<Record<string, unknown>>;
const TOKEN = /^[\w-]{16,256}$/;
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\w+/=\s]+-----END CERTIFICATE-----/g;

export class Order {
  readonly #session: AcmeSession;
  readonly #signer: Signer;
  readonly #clock: Clock;
  /** Deadline, wall time in ms; at worst, setting the clock ends the order. */
  readonly #deadline: number;

  /** @param signer with an account */
  constructor(session: AcmeSession, signer: Signer, clock: Clock) {
    this.#session = session;
    this.#signer = signer;
    this.#clock = clock;
    this.#deadline = clock.monotonic() + ACME_ORDER_TIMEOUT_MS;
  }

  /**
   * @param names on the certificate
   * @param solver proves them
   * @throws UnprovenError, AcmeProblem, AuthorityError, or what the solver throws
   */
  async run(names: readonly string[], solver: ChallengeSolver): Promise<Issued> {
    const identifiers = names.map((value) => ({ type: 'dns', value }));
    const created = await this.#post('newOrder', { identifiers });
    const at = locationOf(created);
    const { authorizations } = jsonOf(created);
    if (!Array.isArray(authorizations) || authorizations.length > names.length)
      throw new AuthorityError('the authority sent an order without its authorizations');
    for (const address of authorizations) await this.#prove(new URL(addressOf(address)), solver);
    const ready = await this.#until(at, ['ready', 'valid'], ['pending']);
    const key = await newKey();
    const csr = certificateRequest(names, key).toString('base64url');
    await this.#post(new URL(addressOf(ready['finalize'])), { csr });
    const { certificate } = await this.#until(at, ['valid'], ['processing', 'ready', 'pending']);
    const { body } = await this.#post(new URL(addressOf(certificate)), '');
    return { chain: chainOf(body.toString('latin1'), names, key), key: pemOf(key) };
  }

  async #prove(at: URL, solver: ChallengeSolver): Promise<void> {
    const authorization = jsonOf(await this.#post(at, ''));
    if (authorization['status'] === 'valid') return;
    const { url, challenge } = this.#challengeOf(authorization, solver);
    try {
      await solver.present(challenge);
      await this.#post(url, {});
      await this.#until(at, ['valid'], ['pending']).catch((error: unknown) => {
        if (error instanceof AcmeProblem) throw new UnprovenError(solver.type, error);
        throw error;
      });
    } finally {
      await solver.withdraw(challenge);
    }
  }

  #challengeOf(authorization: Json, { type }: ChallengeSolver): { url: URL; challenge: ChallengeRecord } {
    const { identifier, challenges } = authorization as { identifier?: Json; challenges?: unknown };
    const list = (Array.isArray(challenges) ? challenges : []) as readonly Json[];
    const offered = list.find((one) => one['type'] === type);
    if (offered === undefined)
      throw new UnprovenError(type, new Error('the authority does not offer this type of challenge'));
    const { token, url } = offered;
    const host = identifier?.['value'];
    if (typeof token !== 'string' || !TOKEN.test(token) || typeof host !== 'string')
      throw new AuthorityError('the authority sent an unusable challenge');
    const answer = keyAuthorization(token, this.#signer.key);
    const expiresAt = this.#clock.now() + ACME_ORDER_TIMEOUT_MS;
    return {
      url: new URL(addressOf(url)),
      challenge: { type, host, token, keyAuthorization: answer, expiresAt },
    };
  }

  /**
   * Polls until the status is one of the `good` ones.
   *
   * @throws AcmeProblem if it is none of the known ones; AuthorityError if it takes too long
   */
  async #until(at: URL, good: readonly string[], goingOn: readonly string[]): Promise<Json> {
    for (;;) {
      const answer = await this.#post(at, '');
      const body = jsonOf(answer);
      const status = String(body['status']);
      if (good.includes(status)) return body;
      if (!goingOn.includes(status)) throw problemOf(errorIn(body), answer.status);
      await this.#wait(answer.retryAfterMs);
    }
  }

  /** As long as the authority requests, within reason. */
  async #wait(retryAfterMs: number | undefined): Promise<void> {
    const ms = Math.min(Math.max(retryAfterMs ?? ACME_POLL_MS, ACME_POLL_MS), 10 * ACME_POLL_MS);
    await new Promise<void>((resolve) => {
      this.#clock.setTimeout(resolve, ms);
    });
  }

  async #post(to: 'newOrder' | URL, payload: object | ''): Promise<Answer> {
    if (this.#clock.monotonic() > this.#deadline)
      throw new AuthorityError(`the order was not completed within ${ACME_ORDER_TIMEOUT_MS} ms`);
    return await this.#session.post(to, this.#signer, payload);
  }
}

/** The error of an order, or of the challenge of an authorization that has failed. */
function errorIn(body: Json): unknown {
  if (body['error'] !== undefined) return body['error'];
  const list = (Array.isArray(body['challenges']) ? body['challenges'] : []) as readonly Json[];
  return list.find((one) => one['error'] !== undefined)?.['error'];
}

/**
 * A response of an authority is used only if it is a certificate for these names and this key, and TLS accepts its
 * chain.
 *
 * @throws AuthorityError
 */
function chainOf(text: string, names: readonly string[], key: KeyObject): string {
  const list = text.match(PEM_CERTIFICATE) ?? [];
  if (list.length > ACME_CHAIN_MAX) throw new AuthorityError('the authority sent too many certificates');
  const chain = `${list.join('\n')}\n`;
  try {
    const [own] = list.map((pem) => new X509Certificate(pem));
    if (own?.checkPrivateKey(key) !== true) throw new Error('it has another key');
    const missing = names.find((name) => own.checkHost(name.replace(/^\*/, 'x')) === undefined);
    if (missing !== undefined) throw new Error(`it is not for ${missing}`);
    createSecureContext({ cert: chain, key: pemOf(key) });
  } catch (error) {
    throw new AuthorityError('the authority sent no usable certificate', undefined, error);
  }
  return chain;
}

/* The relay's account at an authority: created on first use, stored for all relays. */

/** Errors of an authority that does not, or no longer, know an account (RFC 8555 section 6.7). */
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
   * Makes sure that an account exists; sends nothing.
   *
   * @throws StoreError
   */
  async ensure(): Promise<AcmeAccountRecord> {
    const fresh = { directory: this.#directory, key: pemOf(await newKey()), url: null };
    return await this.#store.acmeAccount(fresh, this.#clock.now());
  }

  /**
   * Runs `work` with the account. If the authority does not know the account, creates another one and runs it once
   * more.
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

  /**
   * With the same key if that is still valid: the authority may have lost the account, or another relay noticed that
   * first.
   */
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

  /** @param lost address that is no longer valid: if the authority returns it again, another key is needed */
  async #register(stored: AcmeAccountRecord, lost: string | null = null): Promise<Signer> {
    const key = createPrivateKey(stored.key);
    const url = await this.#session.register(key, this.#email);
    if (url === lost) throw new AcmeProblem('unauthorized', 'the ACME account is no longer valid', 0);
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
