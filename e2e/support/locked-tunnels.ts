import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from './accounts.ts';
import { Culvert } from './programs.ts';
import { type Field, formatRequest, RawConnection, type Request, type Response, visit } from './raw-http.ts';
import type { RelaySuite } from './relay-suite.ts';
import { type HttpService, startHttpService } from './services/listen.ts';
import { SpecClient } from './spec-client/client.ts';

export const BROWSER: Field = ['Accept', 'text/html,application/xhtml+xml,*/*;q=0.8'];
export const PREFLIGHT: readonly Field[] = [
  ['Origin', 'https://app.example'],
  ['Access-Control-Request-Method', 'PUT'],
  ['Access-Control-Request-Headers', 'authorization'],
];
const FORM: Field = ['Content-Type', 'application/x-www-form-urlencoded'];

export function basic(user: string, password: string): Field {
  return ['Authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`];
}

export function bearer(token: string, scheme = 'Bearer'): Field {
  return ['Authorization', `${scheme} ${token}`];
}

/** The cookies of `Set-Cookie` fields, as a `Cookie` field. */
export function cookiesOf({ head }: Response): Field {
  const cookies = head.all('set-cookie').map((cookie) => cookie.split(';', 1)[0]);
  return ['Cookie', cookies.join('; ')];
}

/** A form of a tunnel's address. */
export interface Form {
  readonly host: string;
  /** of the path form, otherwise empty */
  readonly prefix: string;
}

type Asked = Omit<Partial<Request>, 'host' | 'headers'>;

/** Tunnels with access policies, their visitors, and the service behind them, which records what reaches it. */
export class LockedTunnels {
  readonly #suite: RelaySuite;
  /** one for each test, because the rate of creating tunnels is limited per account */
  account!: TestAccount;
  service!: HttpService;
  /** the requests that reached the service in this test */
  seen: IncomingMessage[] = [];
  #subdomain = '';

  /**
   * Declares the hooks of the enclosing `describe`.
   *
   * @param respond may respond to a request instead of the service
   */
  constructor(
    suite: RelaySuite,
    respond: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
  ) {
    this.#suite = suite;
    before(async () => {
      this.service = await startHttpService(suite.scope, (request, response) => {
        this.seen.push(request);
        if (request.url === '/events')
          response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
        else if (request.url === '/endless') response.write('begun');
        else if (!respond(request, response)) request.resume().on('end', () => response.end('ok'));
      });
      this.service.server.on('upgrade', (request, socket) => {
        this.seen.push(request);
        socket.on('error', () => {});
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      });
    });
    beforeEach(async () => {
      this.seen = [];
      this.#subdomain = `acme-${randomBytes(6).toString('hex')}`;
      this.account = await createAccount(suite.relay, { subdomain: this.#subdomain });
    });
  }

  /** Starts a tunnel over data sockets. */
  async start(access: object, more: object = {}): Promise<Tunnel> {
    const { scope, relay } = this.#suite;
    const request = { local_port: this.service.port, access, ...more };
    return (await SpecClient.start(scope, relay, this.account.key, request)).tunnel;
  }

  /** Starts `culvert` with a tunnel over trunks. @returns the tunnel with its access policy */
  async startCulvert(access: object): Promise<Tunnel> {
    const { scope, relay } = this.#suite;
    const { tunnel } = await Culvert.start(scope, relay, this.account.key, this.service.port);
    return await this.setAccess(tunnel, access);
  }

  async setAccess({ id }: Tunnel, access: object): Promise<Tunnel> {
    const { status, json } = await this.account.api.send('PUT', `/v1/tunnels/${id}/access`, { json: access });
    assert.equal(status, 200, JSON.stringify(json));
    return json as Tunnel;
  }

  /** The three forms of a tunnel's address. The last one is its `public_url`. */
  forms({ slug }: Tunnel): [Form, Form, Form] {
    const { port } = this.#suite.relay;
    return [
      { host: `${slug}.localhost:${port}`, prefix: '' },
      { host: `localhost:${port}`, prefix: `/t/${slug}` },
      { host: `${slug}.${this.#subdomain}.localhost:${port}`, prefix: '' },
    ];
  }

  /** Sends a request to a tunnel, by default in the first form of its address. The target is below that address. */
  async ask(to: Tunnel | Form, headers: readonly Field[] = [], request: Asked = {}): Promise<Response> {
    const { host, prefix } = this.#form(to);
    const target = prefix + (request.target ?? '/');
    return await visit(this.#suite.relay.port, { host, headers, ...request, target });
  }

  /** Submits the form of the page that asks for a password. */
  async submit(
    to: Tunnel | Form,
    password: string,
    target = '/',
    headers: readonly Field[] = [],
  ): Promise<Response> {
    return await this.ask(to, [BROWSER, FORM, ...headers], {
      method: 'POST',
      target: `${target}${target.includes('?') ? '&' : '?'}culvert_gate`,
      body: new URLSearchParams({ culvert_password: password }).toString(),
    });
  }

  /** A visitor who has the head of a response. */
  async enter(
    to: Tunnel | Form,
    headers: readonly Field[],
    target = '/',
  ): Promise<RawConnection & { readonly status: number }> {
    const { host, prefix } = this.#form(to);
    const visitor = await RawConnection.open(this.#suite.scope, this.#suite.relay.port, 60_000);
    await visitor.write(formatRequest({ host, target: prefix + target, headers }));
    const { status } = await visitor.finalHead();
    return Object.assign(visitor, { status });
  }

  last(): IncomingMessage | undefined {
    return this.seen.at(-1);
  }

  /** Asserts what the service has seen of its last request, and forgets all requests. */
  assertSeen(visitor: string | undefined, url: string): void {
    const { headers, url: seen } = this.last() ?? assert.fail('the service has seen nothing');
    assert.deepEqual([headers['culvert-visitor'], seen], [visitor, url]);
    this.seen = [];
  }

  /** Asserts that the relay refused a request, and that none has reached the service. */
  assertRefused({ head, status }: Response, code: keyof typeof REFUSALS = 'access-required'): void {
    assert.deepEqual([head.field('culvert-error'), status], [code, REFUSALS[code]]);
    assert.deepEqual(
      this.seen.map(({ url }) => url),
      [],
    );
  }

  #form(to: Tunnel | Form): Form {
    return 'prefix' in to ? to : this.forms(to)[0];
  }
}

const REFUSALS = { 'access-required': 401, 'access-address': 403, 'access-attempts': 429 } as const;
