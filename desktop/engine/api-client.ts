/** The REST interface of a relay (spec.md section 4), as far as the client uses it. */
import type { Account, Tunnel } from '../../shared/tunnel.ts';
import { readAccount } from './account-answer.ts';
import { describeNetworkError, RelayRefusal, RelayUnreachable } from './errors.ts';
import { API_BODY_MAX_BYTES, API_TIMEOUT_MS } from './limits.ts';
import type { RelayAddress } from './relay-address.ts';
import { readErrorText, readRetryAfter } from './relay-text.ts';
import { readTunnel, readTunnelList } from './tunnel-answer.ts';

/** The body of a create request (spec.md section 4.1). */
export interface CreateRequest {
  readonly local_port: number;
  readonly name?: string;
  readonly ttl?: string;
  readonly idle_ttl?: boolean;
}

/**
 * Calls a relay. Every call takes at most {@link API_TIMEOUT_MS}, follows no redirect (a redirect must not take the
 * key elsewhere) and is made once: whether to try again is the caller's to say.
 *
 * All methods throw {@link RelayRefusal} for an error the relay answered, {@link RelayUnreachable} for everything else.
 */
export class ApiClient {
  readonly #relay: RelayAddress;
  readonly #key: string;

  constructor(relay: RelayAddress, key: string) {
    this.#relay = relay;
    this.#key = key;
  }

  /** `GET /v1/account`: whom the key belongs to, and what it may do. */
  async getAccount(): Promise<Account> {
    return readAccount(await this.#call('GET', '/v1/account'));
  }

  /** `POST /v1/tunnels` */
  async createTunnel(request: CreateRequest): Promise<Tunnel> {
    return readTunnel(await this.#call('POST', '/v1/tunnels', request));
  }

  /** `GET /v1/tunnels`: the live tunnels of the key's account, newest first. */
  async listTunnels(): Promise<Tunnel[]> {
    return readTunnelList(await this.#call('GET', '/v1/tunnels'));
  }

  /** `GET /v1/tunnels/{id}` */
  async getTunnel(id: string): Promise<Tunnel> {
    return readTunnel(await this.#call('GET', tunnelPath(id)));
  }

  /** `DELETE /v1/tunnels/{id}` */
  async closeTunnel(id: string): Promise<void> {
    await this.#call('DELETE', tunnelPath(id));
  }

  /**
   * `PUT /v1/tunnels/{id}/extend`
   *
   * @param ttl duration string; without it the tunnel's own `ttl` is added
   */
  async extendTunnel(id: string, ttl?: string): Promise<Tunnel> {
    return readTunnel(await this.#call('PUT', `${tunnelPath(id)}/extend`, ttl === undefined ? {} : { ttl }));
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.#relay.origin + path, this.#request(method, body));
      text = await readBody(response);
    } catch (error) {
      const why = describeNetworkError(error);
      throw new RelayUnreachable(`The relay at ${this.#relay.origin} cannot be reached: ${why}`, {
        cause: error,
      });
    }
    if (!response.ok) throw this.#refusal(response, text);
    try {
      return JSON.parse(text);
    } catch {
      throw new RelayUnreachable(`What answers at ${this.#relay.origin} is no Culvert relay`);
    }
  }

  #request(method: string, body: unknown): RequestInit {
    const headers: Record<string, string> = {
      authorization: `Bearer ${this.#key}`,
      accept: 'application/json',
    };
    const init: RequestInit = {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(API_TIMEOUT_MS),
    };
    if (body === undefined) return init;
    headers['content-type'] = 'application/json';
    return { ...init, body: JSON.stringify(body) };
  }

  #refusal(response: Response, body: string): RelayRefusal {
    const location = response.headers.get('location');
    const text =
      response.status < 400 && location !== null
        ? `it has another address: ${URL.parse(location, this.#relay.origin)?.origin ?? 'unknown'}`
        : (readErrorText(body) ?? `it answered with status ${response.status}`);
    return new RelayRefusal(
      response.status,
      text,
      readRetryAfter(response.headers.get('retry-after'), Date.now()),
    );
  }
}

function tunnelPath(id: string): string {
  return `/v1/tunnels/${encodeURIComponent(id)}`;
}

/** Reads a body of bounded size; the request's own deadline covers it. */
async function readBody(response: Response): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    if (size > API_BODY_MAX_BYTES) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
