/** The REST interface of a relay (spec.md section 4), as far as the client uses it. */
import type { Account, Tunnel } from '../../shared/tunnel.ts';
import { readAccount } from './account-answer.ts';
import { describeNetworkError, RelayRefusal, RelayUnreachable } from './errors.ts';
import { API_BODY_MAX_BYTES, API_TIMEOUT_MS } from './limits.ts';
import { call, type CallAnswer } from './network/call.ts';
import { Network } from './network/network.ts';
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
  readonly #network: Network;

  /** @param network the way to the relay; directly unless told otherwise */
  constructor(relay: RelayAddress, key: string, network: Network = new Network()) {
    this.#relay = relay;
    this.#key = key;
    this.#network = network;
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
    let answer: CallAnswer;
    try {
      answer = await call(this.#network, this.#relay, {
        method,
        path,
        headers: {
          authorization: `Bearer ${this.#key}`,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        maxBytes: API_BODY_MAX_BYTES,
        timeoutMs: API_TIMEOUT_MS,
      });
    } catch (error) {
      const why = describeNetworkError(error);
      throw new RelayUnreachable(`The relay at ${this.#relay.origin} cannot be reached: ${why}`, {
        cause: error,
      });
    }
    if (answer.status < 200 || answer.status > 299) throw this.#refusal(answer);
    try {
      return JSON.parse(answer.text);
    } catch {
      throw new RelayUnreachable(`What answers at ${this.#relay.origin} is no Culvert relay`);
    }
  }

  #refusal({ status, headers, text }: CallAnswer): RelayRefusal {
    const { location } = headers;
    const said =
      status < 400 && location !== undefined
        ? `it has another address: ${originOf(location, this.#relay)}`
        : (readErrorText(text) ?? `it answered with status ${status}`);
    return new RelayRefusal(status, said, readRetryAfter(headers['retry-after'], Date.now()));
  }
}

/** The origin of a redirect as it can be shown; it is not followed. */
function originOf(location: string, relay: RelayAddress): string {
  const url = URL.parse(location, relay.origin);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.origin : 'none of the web';
}

function tunnelPath(id: string): string {
  return `/v1/tunnels/${encodeURIComponent(id)}`;
}
