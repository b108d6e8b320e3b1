/**
 * A temporary tunnel for the diagnostics, through the public address: with an account and key for one run, and a
 * client in this process that follows protocol.md section 9.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import { pipeline } from 'node:stream';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { createWebSocketStream, WebSocket } from 'ws';
import { parseControlMessage } from '../../shared/control.ts';
import { API_ERRORS } from '../../shared/errors.ts';
import { uriHost } from '../../shared/networks.ts';
import type { Protocol } from '../../shared/tunnel.ts';
import { Administration } from '../administration/administration.ts';
import { systemClock } from '../clock.ts';
import { type Config, publicUrlOf } from '../config.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { Skipped } from './check.ts';
import { ask, DIAGNOSIS_ANSWER_MS } from './http-probe.ts';

/**
 * Age above which `culvert-relay doctor` removes a test account that an earlier run left behind: longer than
 * they run.
 */
export const DIAGNOSIS_LEFTOVER_MS = 3_600_000;

/** TLS without a certificate: both ends know a secret, and nothing between them does. */
const BY_SHARED_KEY = {
  ciphers: 'PSK',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
  checkServerIdentity: () => undefined,
} as const;

/** Accounts of the diagnostics; each exists only during one run. */
const ACCOUNT = /^doctor-[0-9a-f]{12}$/;

/** The relay at the public address does not know what was just written to the database. */
export class OtherDatabaseError extends Error {
  constructor() {
    super('the relay that responded does not recognize a key that was just created in this database');
  }
}

export class TestTunnel {
  readonly #administration: Administration;
  readonly #account: string;
  readonly #server: Server;
  readonly #to: URL;
  readonly #controls: WebSocket[] = [];
  readonly #rawServices: TcpServer[] = [];
  #key = '';
  #host = '';
  /** its local service */
  serve: RequestListener = (_request, response) => response.end();

  /**
   * @param to the public address
   * @param now wall time in ms
   * @throws OtherDatabaseError, or Error for another failure, with nothing left behind
   */
  static async open(to: URL, administration: Administration, now: number): Promise<TestTunnel> {
    await removeLeftovers(administration, now);
    const names = [`doctor-${randomBytes(6).toString('hex')}`];
    const wanted = { names, plan: 'dev', subdomain: null, withKeys: true } as const;
    const [made] = await administration.createAccounts(wanted);
    if (made?.key === undefined) throw new Error('no account was created');
    const tunnel = new TestTunnel(to, administration, made.account.name);
    try {
      tunnel.#key = made.key;
      await tunnel.#begin();
      return tunnel;
    } catch (error) {
      await tunnel.close().catch(() => {});
      throw error;
    }
  }

  private constructor(to: URL, administration: Administration, account: string) {
    this.#to = to;
    this.#administration = administration;
    this.#account = account;
    this.#server = createServer((request, response) => this.serve(request, response));
  }

  /** `Host` of its visitors */
  get host(): string {
    return this.#host;
  }

  /**
   * Creates a TLS or TCP tunnel as well, and visits it.
   *
   * @returns the address that was visited, as `host:port`
   * @throws Error unless the visitor has reached the service of this very tunnel, for TLS without anybody in between
   */
  async visitRaw(protocol: 'tls' | 'tcp'): Promise<string> {
    const psk = randomBytes(32);
    const greeting = psk.toString('hex');
    const onPeer = (socket: Socket): void => void socket.on('error', () => socket.destroy()).write(greeting);
    const service =
      protocol === 'tls'
        ? createTlsServer({ ...BY_SHARED_KEY, pskCallback: () => psk }, onPeer)
        : createTcpServer(onPeer);
    this.#rawServices.push(service);
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port: localPort } = service.address() as AddressInfo;
    const { hostname, port } = new URL((await this.#create(localPort, protocol)).public_url);
    const host = (protocol === 'tls' ? this.#to : { hostname }).hostname.replace(/^\[|\]$/g, '');
    const target = { host, port: Number(port || 443), timeout: DIAGNOSIS_ANSWER_MS };
    const visitor =
      protocol === 'tls'
        ? connectTls({
            ...target,
            ...BY_SHARED_KEY,
            servername: hostname,
            pskCallback: () => ({ psk, identity: '' }),
          })
        : connect(target);
    visitor.once('timeout', () => visitor.destroy(new Error('no response in time')));
    try {
      const [bytes] = (await Promise.race([once(visitor, 'data'), once(visitor, 'end')])) as [Buffer?];
      if (bytes === undefined) throw new Error('the connection was closed');
      if (bytes.toString() !== greeting) throw new Error('another program responds there');
      return `${uriHost(protocol === 'tls' ? hostname : host)}:${target.port}`;
    } finally {
      visitor.on('error', () => {}).destroy();
    }
  }

  /** Ends it, and removes everything that was created for it. */
  async close(): Promise<void> {
    for (const control of this.#controls) control.terminate();
    for (const service of this.#rawServices) service.close();
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#administration.removeAccount(this.#account);
  }

  async #begin(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    this.#host = new URL((await this.#create(port, 'http')).urls.subdomain).host;
  }

  /** Creates a tunnel, and serves it from a local port. */
  async #create(port: number, protocol: Protocol) {
    const headers = { authorization: `Bearer ${this.#key}` };
    const body = JSON.stringify({ local_port: port, protocol });
    const made = await ask({ to: this.#to, method: 'POST', path: '/v1/tunnels', headers, body });
    const { code, ...tunnel } = JSON.parse(made.text) as {
      id: string;
      public_url: string;
      urls: { subdomain: string };
      code?: string;
    };
    if (code === API_ERRORS.invalidKey.code) throw new OtherDatabaseError();
    if (made.status !== 201) throw new Error(`no tunnel can be created (${code}, status ${made.status})`);
    const control = this.#socket(`/ws/control?tunnel_id=${tunnel.id}`, headers);
    this.#controls.push(control);
    control.on('message', (data: Buffer) => {
      const message = parseControlMessage(data.toString());
      if (message?.type === 'connection') this.#accept(message.id, port);
    });
    await once(control, 'open');
    return tunnel;
  }

  #accept(id: string, port: number): void {
    const visitor = createWebSocketStream(this.#socket(`/ws/data?id=${id}`));
    const local = connect(port, '127.0.0.1');
    // Either end closes both; the visitor's side reports the result.
    pipeline(visitor, local, () => {});
    pipeline(local, visitor, () => {});
  }

  #socket(path: string, headers: Readonly<Record<string, string>> = {}): WebSocket {
    const url = new URL(path, this.#to);
    url.protocol = this.#to.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url, {
      headers,
      handshakeTimeout: DIAGNOSIS_ANSWER_MS,
      perMessageDeflate: false,
    });
    socket.on('error', () => socket.terminate());
    return socket;
  }
}

/** Removes accounts of runs that were killed; one in progress keeps its account. */
async function removeLeftovers(administration: Administration, now: number): Promise<void> {
  for (const { name, createdAt } of await administration.listAccounts())
    if (ACCOUNT.test(name) && now - createdAt > DIAGNOSIS_LEFTOVER_MS)
      await administration.removeAccount(name);
}

/* What the diagnostics create in the database, and remove afterwards. */

export class Visit {
  readonly #config: Config;
  readonly #user: string;
  #store: Store | undefined;
  #tunnel: TestTunnel | undefined;

  /** @param user the actor in the audit log */
  constructor(config: Config, user: string) {
    this.#config = config;
    this.#user = user;
  }

  /** @throws Skipped without a database of this version; errors of {@link TestTunnel.open} */
  async open(): Promise<TestTunnel> {
    const { database, nameHold, port } = this.#config;
    const store = await openStore(database, 'must-exist', () => {}).catch(() => {
      throw new Skipped('not checked, because "database" did not pass');
    });
    this.#store = store;
    const administration = new Administration({
      store,
      clock: systemClock,
      nameHold,
      by: { actor: `shell:${this.#user}`, accountId: null },
    });
    const tunnel = await TestTunnel.open(publicUrlOf(this.#config, port), administration, systemClock.now());
    this.#tunnel = tunnel;
    return tunnel;
  }

  async close(): Promise<void> {
    await this.#tunnel?.close();
    await this.#store?.close();
  }
}
