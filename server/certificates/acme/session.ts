/** Communicates with one authority: its directory, its nonces, and signed requests (RFC 8555 sections 6 and 7.1). */
import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Clock } from '../../clock.ts';

/** Maximum size of a certificate authority's response: a chain has about 6 KB. */
export const ACME_ANSWER_MAX_BYTES = 128 * 1024;
/** How long a certificate authority's response may take to arrive in full. */
export const ACME_REQUEST_TIMEOUT_MS = 20_000;
/** Longest `Retry-After` from a certificate authority that the relay respects. */
export const ACME_RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/** Maximum number of a certificate authority's nonces that the relay keeps for later requests. */
export const ACME_NONCES_MAX = 16;
/** Maximum number of times that a request is repeated because the certificate authority rejected its nonce. */
export const ACME_NONCE_RETRIES = 8;

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
   * Sends a request signed by `signer`, again with another nonce if the authority rejects the first.
   *
   * @param to an address, or its name in the directory
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
   * Registers an account, or finds the one that already has the key (RFC 8555 section 7.3).
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
      throw new AuthorityError(`the authority sent no nonce, but responded with status ${answer.status}`);
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
    // Handled like any other value that is not an object.
  }
  throw new AuthorityError(`the authority sent no JSON object, but responded with status ${status}`);
}

/** @throws AuthorityError */
export function locationOf({ headers }: Answer): URL {
  return new URL(addressOf(headers.location));
}

/**
 * Keys and proofs are never sent to an address that can be intercepted.
 *
 * @throws AuthorityError
 */
export function addressOf(value: unknown): string {
  if (typeof value === 'string' && URL.canParse(value) && new URL(value).protocol === 'https:') return value;
  throw new AuthorityError('the authority sent a URL that does not begin with https://');
}

/** 429 and 5xx say nothing about the request itself. */
function refusalOf(answer: Answer): AcmeProblem | AuthorityError {
  const { status, retryAfterMs, body } = answer;
  const problem = problemOf(isJson(answer) ? tryJson(body) : undefined, status);
  const temporary = status === 429 || status >= 500 || problem.type === 'rateLimited' || status < 400;
  return temporary
    ? new AuthorityError(`the authority responded with status ${status}`, retryAfterMs, problem)
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

/* HTTPS to an authority, with limits on the size and duration of its responses. */

export interface Answer {
  readonly status: number;
  /** names in lower case */
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** ms; `undefined` if the authority requests none */
  readonly retryAfterMs: number | undefined;
}

export type Transport = ReturnType<typeof httpsTransport>;

/**
 * @param ca trusted certificates instead of the system's, in PEM
 * @param userAgent RFC 8555 section 6.1
 */
export function httpsTransport(ca: readonly string[] | undefined, userAgent: string, clock: Clock) {
  // Imported, it would be loaded at every start.
  const https = process.getBuiltinModule('node:https');
  const agent = new https.Agent({ keepAlive: true, maxSockets: 8, maxFreeSockets: 2 });
  const trusted = ca && { ca: [...ca] };
  const closing = new AbortController();
  return {
    /**
     * @param body of a POST; without one, a GET or `method`
     * @throws AuthorityError
     */
    async send(url: string, body?: string, method?: 'HEAD'): Promise<Answer> {
      const headers = {
        'user-agent': userAgent,
        'accept-language': 'en',
        ...(body !== undefined && { 'content-type': 'application/jose+json' }),
      };
      const options = { agent, headers, ...trusted, method: method ?? (body === undefined ? 'GET' : 'POST') };
      const late = new AbortController();
      const timer = clock.setTimeout(() => late.abort(), ACME_REQUEST_TIMEOUT_MS);
      const signal = AbortSignal.any([late.signal, closing.signal]);
      try {
        return await answerTo(url, { ...options, signal }, body, () => clock.now());
      } catch (error) {
        if (error instanceof AuthorityError) throw error;
        const cause = late.signal.aborted
          ? new Error(`no response within ${ACME_REQUEST_TIMEOUT_MS} ms`)
          : error;
        throw new AuthorityError('the authority cannot be reached', undefined, cause);
      } finally {
        timer.cancel();
      }
    },
    /** Cuts all connections; later requests fail. */
    close(): void {
      closing.abort();
      agent.destroy();
    },
  };
}

function answerTo(
  url: string,
  options: Parameters<typeof request>[1],
  body: string | undefined,
  now: () => number,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, options);
    sent.on('error', reject);
    sent.on('response', (response) => {
      const parts: Buffer[] = [];
      let length = 0;
      response.on('error', reject);
      response.on('data', (part: Buffer) => {
        length += part.length;
        if (length > ACME_ANSWER_MAX_BYTES)
          sent.destroy(new AuthorityError(`the authority sent more than ${ACME_ANSWER_MAX_BYTES} bytes`));
        else parts.push(part);
      });
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(parts),
          retryAfterMs: retryAfter(response.headers['retry-after'], now()),
        }),
      );
    });
    sent.end(body);
  });
}

/** RFC 9110 section 10.2.3: seconds, or a date; at most {@link ACME_RETRY_AFTER_MAX_MS}. */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), ACME_RETRY_AFTER_MAX_MS);
}

/* How requests to an authority are signed (RFC 8555 section 6.2, RFC 7515): ES256. */

/** How the authority identifies the signer: the address of an account, or the key itself before there is one. */
export type Signer = { readonly key: KeyObject; readonly account: string | undefined };

interface Jwk {
  readonly crv: string;
  readonly kty: string;
  readonly x: string;
  readonly y: string;
}

/** @param payload `''` for a POST-as-GET (RFC 8555 section 6.3) */
export function signedRequest(
  { key, account }: Signer,
  url: string,
  nonce: string,
  payload: object | '',
): string {
  const who = account === undefined ? { jwk: jwkOf(key) } : { kid: account };
  const head = encoded(JSON.stringify({ alg: 'ES256', nonce, url, ...who }));
  const body = payload === '' ? '' : encoded(JSON.stringify(payload));
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' });
  return JSON.stringify({ protected: head, payload: body, signature: signature.toString('base64url') });
}

/** Proves that the owner of the account's key has seen a challenge (RFC 8555 section 8.1). */
export function keyAuthorization(token: string, key: KeyObject): string {
  const thumbprint = createHash('sha256')
    .update(JSON.stringify(jwkOf(key)))
    .digest('base64url');
  return `${token}.${thumbprint}`;
}

/** Only the required members, in the order that is hashed (RFC 7638 section 3). */
function jwkOf(key: KeyObject): Jwk {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' });
  return { crv, kty, x, y } as Jwk;
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** Errors of an authority. */

const URN = 'urn:ietf:params:acme:error:';
const DETAIL_MAX_LENGTH = 300;

/** The authority cannot be reached, is overloaded, or sends an unusable response: no name is to blame. */
export class AuthorityError extends Error {
  /** requested wait, in ms */
  readonly retryAfterMs: number | undefined;

  constructor(text: string, retryAfterMs?: number, cause?: unknown) {
    super(text, { cause });
    this.name = 'AuthorityError';
    this.retryAfterMs = retryAfterMs;
  }
}

/** The authority has refused (RFC 8555 section 6.7). */
export class AcmeProblem extends Error {
  /** without the namespace of ACME, such as `badNonce` */
  readonly type: string;
  readonly status: number;

  constructor(type: string, detail: string, status: number) {
    super(`${type}: ${printable(detail)}`);
    this.name = 'AcmeProblem';
    this.type = type;
    this.status = status;
  }
}

/** @param body of a response, parsed, or an `error` in it */
export function problemOf(body: unknown, status: number): AcmeProblem {
  const { type, detail } = (body ?? {}) as { type?: unknown; detail?: unknown };
  const kind = typeof type === 'string' && type.startsWith(URN) ? type.slice(URN.length) : 'malformed';
  return new AcmeProblem(printable(kind), typeof detail === 'string' ? detail : `status ${status}`, status);
}

/** Foreign text that goes into the log. */
function printable(text: string): string {
  return text.slice(0, DETAIL_MAX_LENGTH).replaceAll(/[^\x20-\x7e]/g, '?');
}
