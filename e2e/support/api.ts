import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { Account, Tunnel } from '../../shared/tunnel.ts';
import { type Field, type ResponseHead, visit } from './raw-http.ts';

export interface ApiResponse {
  readonly status: number;
  readonly head: ResponseHead;
  /** The parsed body. */
  readonly json: unknown;
}

export interface ApiRequest {
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged. */
  readonly body?: string;
  readonly headers?: readonly Field[];
}

/** The REST interface with one account's key, over raw connections, so that paths arrive as written. */
export class Api {
  readonly #relay: { readonly port: number };
  readonly #tls: ConnectionOptions | undefined;
  readonly #authorization: string | undefined;

  /**
   * @param relay its port is read for each request, because relays may restart
   * @param key API key, or `undefined` to send none
   * @param tls with the relay's name as `servername`; without it, connections have no TLS
   */
  constructor(relay: { readonly port: number }, key: string | undefined, tls?: ConnectionOptions) {
    this.#relay = relay;
    this.#tls = tls;
    this.#authorization = key === undefined ? undefined : `Bearer ${key}`;
  }

  /** Sends a request and reads its JSON response, whatever the status. */
  async send(method: string, path: string, request: ApiRequest = {}): Promise<ApiResponse> {
    const { port } = this.#relay;
    const headers: Field[] = [...(request.headers ?? [])];
    if (this.#authorization !== undefined) headers.push(['Authorization', this.#authorization]);
    const body = request.json === undefined ? request.body : JSON.stringify(request.json);
    const isTyped = headers.some(([name]) => name === 'Content-Type');
    if (body !== undefined && !isTyped) headers.push(['Content-Type', 'application/json']);
    const response = await visit(this.#tls === undefined ? port : { port, ...this.#tls }, {
      method,
      target: path,
      host: this.#tls?.servername ?? `localhost:${port}`,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    const json: unknown = JSON.parse(response.text);
    return { status: response.status, head: response.head, json };
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
    const response = await this.send(method, path, request);
    assert.equal(response.status, status, `${method} ${path} answered ${JSON.stringify(response.json)}`);
    return response.json as T;
  }
}

/** Asserts a documented error: status, text, its code and nothing else in the body. */
export function assertError(
  response: ApiResponse,
  status: number,
  text: string,
  code = documentedCode(text),
): void {
  assert.ok(code !== undefined, `docs/reference/errors.md has no error with the text "${text}"`);
  assert.deepEqual({ status: response.status, body: response.json }, { status, body: { error: text, code } });
  assert.equal(response.head.field('content-type'), 'application/json; charset=utf-8');
}

const ENTRY = /^### `([\w-]+)`\n\n\d{3}: `([^`]+)`$/gm;

const CODES = [...readFileSync('docs/reference/errors.md', 'utf8').matchAll(ENTRY)].map(
  ([, code = '', text = '']) => ({
    code,
    // `…` stands for a name in the text, or for the rest of it.
    parts: text.split('…'),
  }),
);

/**
 * @returns the code of the error with that text, preferring the most specific one; `undefined` if none is documented
 */
export function documentedCode(text: string): string | undefined {
  const found = CODES.filter(({ parts }) => hasInOrder(text, parts));
  return found.toSorted((a, b) => b.parts.join('').length - a.parts.join('').length)[0]?.code;
}

function hasInOrder(text: string, [start = '', ...others]: readonly string[]): boolean {
  if (others.length === 0) return text === start;
  let from = text.startsWith(start) ? start.length : -1;
  for (const part of others) {
    if (from >= 0) from = text.indexOf(part, from);
    if (from >= 0) from += part.length;
  }
  return from >= 0;
}
