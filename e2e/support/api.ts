import assert from 'node:assert/strict';
import type { Account, Tunnel } from '../../shared/tunnel.ts';
import { documentedCode } from './documented-errors.ts';
import { type Field, type ResponseHead, visit } from './raw-http.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly head: ResponseHead;
  /** The parsed body. */
  readonly json: unknown;
}

export interface ApiRequest {
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: string;
  readonly headers?: readonly Field[];
}

/** The REST interface with one account's key, over raw connections so that paths arrive as written. */
export class Api {
  readonly #relay: { readonly port: number };
  readonly #authorization: string | undefined;

  /**
   * @param relay its port is read at each request, for relays that restart
   * @param key API key, or `undefined` to send none
   */
  constructor(relay: { readonly port: number }, key: string | undefined) {
    this.#relay = relay;
    this.#authorization = key === undefined ? undefined : `Bearer ${key}`;
  }

  /** Sends a request and reads its JSON answer, whatever the status. */
  async send(method: string, path: string, request: ApiRequest = {}): Promise<ApiAnswer> {
    const { port } = this.#relay;
    const headers: Field[] = [...(request.headers ?? [])];
    if (this.#authorization !== undefined) headers.push(['Authorization', this.#authorization]);
    const body = request.json === undefined ? request.body : JSON.stringify(request.json);
    const isTyped = headers.some(([name]) => name === 'Content-Type');
    if (body !== undefined && !isTyped) headers.push(['Content-Type', 'application/json']);
    const answer = await visit(port, {
      method,
      target: path,
      host: `localhost:${port}`,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    const json: unknown = JSON.parse(answer.text);
    return { status: answer.status, head: answer.head, json };
  }

  /** Creates a tunnel that must succeed. */
  async create(request: object): Promise<Tunnel> {
    return await this.#expect<Tunnel>(201, 'POST', '/v1/tunnels', { json: request });
  }

  async get(id: string): Promise<Tunnel> {
    return await this.#expect<Tunnel>(200, 'GET', `/v1/tunnels/${id}`);
  }

  async list(): Promise<Tunnel[]> {
    return (await this.#expect<{ tunnels: Tunnel[] }>(200, 'GET', '/v1/tunnels')).tunnels;
  }

  async close(id: string): Promise<void> {
    assert.deepEqual(await this.#expect(200, 'DELETE', `/v1/tunnels/${id}`), { status: 'closed' });
  }

  async extend(id: string, request: object): Promise<Tunnel> {
    return await this.#expect<Tunnel>(200, 'PUT', `/v1/tunnels/${id}/extend`, { json: request });
  }

  async account(): Promise<Account> {
    return await this.#expect<Account>(200, 'GET', '/v1/account');
  }

  async #expect<T>(status: number, method: string, path: string, request?: ApiRequest): Promise<T> {
    const answer = await this.send(method, path, request);
    assert.equal(answer.status, status, `${method} ${path} answered ${JSON.stringify(answer.json)}`);
    return answer.json as T;
  }
}

/** Asserts a documented error: status, text, its code and nothing else in the body. */
export function assertError(answer: ApiAnswer, status: number, text: string): void {
  const code = documentedCode(text);
  assert.ok(code !== undefined, `docs/protocol.md has no error with the text "${text}"`);
  assert.deepEqual({ status: answer.status, body: answer.json }, { status, body: { error: text, code } });
  assert.equal(answer.head.field('content-type'), 'application/json; charset=utf-8');
}
