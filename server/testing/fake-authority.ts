/**
 * A certificate authority without a network, as far as the relay uses it: it accepts every challenge unless a test
 * says otherwise.
 */
import { type Answer, AuthorityError, type Transport } from '../certificates/acme/session.ts';
import { certificate, newKey, pemOf, publicKeyOf } from '../certificates/acme/x509.ts';

const BASE = 'https://authority.test';

interface Sent {
  readonly url: string;
  readonly payload: Record<string, unknown> | '';
  readonly nonce: string;
  readonly kid: string | undefined;
}

interface FakeOrder {
  readonly name: string;
  status: 'pending' | 'ready' | 'valid' | 'invalid';
  chain: string;
}

/** Replaces the usual answer to a request whose address has a given end. */
export type Fault = (sent: Sent) => Answer | undefined;

export class FakeAuthority implements Transport {
  /** ends of requested addresses, in order */
  readonly asked: string[] = [];
  readonly accounts = new Set<string>();
  /** whether it finds the proof of a type */
  finds: (type: string, host: string) => boolean = () => true;
  fault: Fault = () => undefined;
  /** wall time in ms as it sees it */
  now: () => number;
  /** ms that its certificates are valid */
  life = 90 * 86_400_000;
  isDown = false;
  readonly #orders: FakeOrder[] = [];
  #nonces = 0;
  #accounts = 0;
  closed = false;

  constructor(now: () => number) {
    this.now = now;
  }

  get directory(): string {
    return `${BASE}/dir`;
  }

  /** How many orders it has received. */
  get orders(): number {
    return this.#orders.length;
  }

  async send(url: string, body?: string): Promise<Answer> {
    await Promise.resolve();
    if (this.isDown) throw new AuthorityError('the authority cannot be reached');
    const path = url.slice(BASE.length);
    this.asked.push(path);
    if (path === '/dir') return this.#answer(200, this.#directory());
    if (path === '/nonce') return this.#answer(200, {});
    const sent = readSent(url, body ?? '');
    return this.fault(sent) ?? (await this.#respond(path, sent));
  }

  close(): void {
    this.closed = true;
  }

  #directory(): object {
    return { newNonce: `${BASE}/nonce`, newAccount: `${BASE}/account`, newOrder: `${BASE}/order` };
  }

  async #respond(path: string, { payload, kid }: Sent): Promise<Answer> {
    if (path === '/account') {
      const account = `${BASE}/account/${(this.#accounts += 1)}`;
      this.accounts.add(account);
      return this.#answer(201, { status: 'valid' }, { location: account });
    }
    if (kid === undefined || !this.accounts.has(kid)) return this.problem(400, 'accountDoesNotExist');
    if (path === '/order') {
      const [identifier] = (payload as { identifiers: { value: string }[] }).identifiers;
      this.#orders.push({ name: identifier?.value ?? '', status: 'pending', chain: '' });
      const id = this.#orders.length - 1;
      return this.#answer(201, this.#view(id), { location: `${BASE}/order/${id}` });
    }
    const [, kind = '', number = '', type = ''] = path.split('/');
    const id = Number(number);
    const order = this.#orders[id];
    if (order === undefined) return this.problem(404, 'malformed');
    const host = order.name.replace(/^\*\./, '');
    if (kind === 'order') return this.#answer(200, this.#view(id));
    if (kind === 'authz') return this.#answer(200, this.#authorization(id));
    if (kind === 'challenge') {
      order.status = this.finds(type, host) ? 'ready' : 'invalid';
      return this.#answer(200, {});
    }
    if (kind === 'finalize') {
      const request = Buffer.from((payload as { csr: string }).csr, 'base64url');
      order.chain = await this.issue(order.name, publicKeyIn(request));
      order.status = 'valid';
      return this.#answer(200, this.#view(id));
    }
    return this.#answer(200, order.chain);
  }

  /** Issues a certificate, as PEM. */
  issue = async (name: string, publicKey: Buffer): Promise<string> => {
    const from = this.now();
    const content = { names: [name], publicKey, from, until: from + this.life, extensions: [] };
    return certificate(content, await newKey());
  };

  #view(id: number): object {
    const { status } = this.#orders[id] ?? {};
    return {
      status,
      authorizations: [`${BASE}/authz/${id}`],
      finalize: `${BASE}/finalize/${id}`,
      certificate: `${BASE}/certificate/${id}`,
    };
  }

  #authorization(id: number): object {
    const { name = '', status } = this.#orders[id] ?? {};
    const error = { type: 'urn:ietf:params:acme:error:unauthorized', detail: 'not found there' };
    return {
      status: status === 'pending' || status === 'invalid' ? status : 'valid',
      identifier: { type: 'dns', value: name.replace(/^\*\./, '') },
      challenges: ['http-01', 'tls-alpn-01', 'dns-01'].map((type) => ({
        type,
        url: `${BASE}/challenge/${id}/${type}`,
        token: `token-of-${type}-${id}`.padEnd(32, 'x'),
        ...(status === 'invalid' && { error }),
      })),
    };
  }

  problem(status: number, type: string, headers: Record<string, string> = {}): Answer {
    const body = { type: `urn:ietf:params:acme:error:${type}`, detail: `it is ${type}` };
    return this.#answer(status, body, { 'content-type': 'application/problem+json', ...headers });
  }

  #answer(status: number, body: object | string, headers: Record<string, string> = {}): Answer {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const nonce = `nonce-${(this.#nonces += 1)}`;
    return {
      status,
      headers: { 'content-type': 'application/json', 'replay-nonce': nonce, ...headers },
      body: Buffer.from(text),
      retryAfterMs: headers['retry-after'] === undefined ? undefined : Number(headers['retry-after']) * 1000,
    };
  }
}

/** A certificate for a name that is its own authority, and its key, as PEM. Times are in ms. */
export async function selfSigned(
  name: string,
  from: number,
  until: number,
): Promise<{ readonly chain: string; readonly key: string }> {
  const key = await newKey();
  const content = { names: [name], publicKey: publicKeyOf(key), from, until, extensions: [] };
  return { chain: certificate(content, key), key: pemOf(key) };
}

function readSent(url: string, body: string): Sent {
  const { protected: head, payload } = JSON.parse(body) as { protected: string; payload: string };
  const { nonce, kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as {
    nonce: string;
    kid?: string;
  };
  const text = Buffer.from(payload, 'base64url').toString();
  return { url, payload: text === '' ? '' : (JSON.parse(text) as Record<string, unknown>), nonce, kid };
}

/** Prefix of a public key of P-256 (RFC 5480 section 2). */
const KEY_HEAD = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex');
const POINT_BYTES = 65;

function publicKeyIn(request: Buffer): Buffer {
  const at = request.indexOf(KEY_HEAD);
  return request.subarray(at, at + KEY_HEAD.length + POINT_BYTES);
}
