/** Talks to one authority: its directory, its nonces, and signed requests (RFC 8555 sections 6 and 7.1). */
import type { KeyObject } from 'node:crypto';
import { ACME_NONCE_RETRIES, ACME_NONCES_MAX } from '../../limits.ts';
import { type Signer, signedRequest } from './jws.ts';
import { AcmeProblem, AuthorityError, problemOf } from './problem.ts';
import type { Answer, Transport } from './transport.ts';

const NONCE = /^[\w-]{1,256}$/;

interface Directory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
}

export class AcmeSession {
  readonly #transport: Transport;
  readonly #address: string;
  #directory: Promise<Directory> | undefined;
  readonly #nonces: string[] = [];

  /** @param address of the authority's directory */
  constructor(transport: Transport, address: string) {
    this.#transport = transport;
    this.#address = address;
  }

  /**
   * Sends what `signer` signs, again with another nonce if the authority does not like the first.
   *
   * @param to an address, or what the directory calls it
   * @param payload `''` for a POST-as-GET
   * @throws AcmeProblem, AuthorityError
   */
  async post(to: keyof Directory | URL, signer: Signer, payload: object | ''): Promise<Answer> {
    const url = to instanceof URL ? to.href : (await this.#find())[to];
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#transport.send(
        url,
        signedRequest(signer, url, await this.#nonce(), payload),
      );
      this.#keepNonce(answer);
      if (answer.status >= 200 && answer.status < 300) return answer;
      const refusal = refusalOf(answer);
      if (!(refusal instanceof AcmeProblem) || refusal.type !== 'badNonce') throw refusal;
      if (tries > ACME_NONCE_RETRIES)
        throw new AuthorityError(`the authority refused ${tries} nonces in a row`, undefined, refusal);
    }
  }

  /**
   * Registers an account, or finds the one that the key has already (RFC 8555 section 7.3).
   *
   * @returns its address
   * @throws AcmeProblem, AuthorityError
   */
  async register(key: KeyObject, email: string): Promise<string> {
    const contact = [`mailto:${email}`];
    const account = { termsOfServiceAgreed: true, contact };
    const answer = await this.post('newAccount', { key, account: undefined }, account);
    return locationOf(answer).href;
  }

  #find(): Promise<Directory> {
    this.#directory ??= this.#fetch().catch((error: unknown) => {
      this.#directory = undefined;
      throw error;
    });
    return this.#directory;
  }

  async #fetch(): Promise<Directory> {
    const answer = await this.#transport.send(this.#address);
    if (answer.status !== 200) throw refusalOf(answer);
    const { newNonce, newAccount, newOrder } = jsonOf(answer);
    return {
      newNonce: addressOf(newNonce),
      newAccount: addressOf(newAccount),
      newOrder: addressOf(newOrder),
    };
  }

  async #nonce(): Promise<string> {
    const kept = this.#nonces.pop();
    if (kept !== undefined) return kept;
    const { newNonce } = await this.#find();
    const answer = await this.#transport.send(newNonce, undefined, 'HEAD');
    this.#keepNonce(answer);
    const nonce = this.#nonces.pop();
    if (nonce === undefined)
      throw new AuthorityError(`the authority gave no nonce, but status ${answer.status}`);
    return nonce;
  }

  #keepNonce({ headers }: Answer): void {
    const nonce = headers['replay-nonce'];
    if (typeof nonce !== 'string' || !NONCE.test(nonce) || this.#nonces.length >= ACME_NONCES_MAX) return;
    this.#nonces.push(nonce);
  }
}

/** @throws AuthorityError */
export function jsonOf({ body, status }: Answer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString());
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // As if it were another value.
  }
  throw new AuthorityError(`the authority sent no JSON object, with status ${status}`);
}

/** @throws AuthorityError */
export function locationOf({ headers }: Answer): URL {
  return new URL(addressOf(headers.location));
}

/**
 * Keys and proofs go to no address that somebody in between could read.
 *
 * @throws AuthorityError
 */
export function addressOf(value: unknown): string {
  if (typeof value === 'string' && URL.canParse(value) && new URL(value).protocol === 'https:') return value;
  throw new AuthorityError('the authority gave something that is no https address');
}

/** 429 and 5xx are no verdict about what was asked. */
function refusalOf(answer: Answer): AcmeProblem | AuthorityError {
  const { status, retryAfterMs, body } = answer;
  const problem = problemOf(isJson(answer) ? tryJson(body) : undefined, status);
  const temporary = status === 429 || status >= 500 || problem.type === 'rateLimited' || status < 400;
  return temporary
    ? new AuthorityError(`the authority answered with status ${status}`, retryAfterMs, problem)
    : problem;
}

function isJson({ headers }: Answer): boolean {
  return /^application\/(?:problem\+)?json/.test(headers['content-type'] ?? '');
}

function tryJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
