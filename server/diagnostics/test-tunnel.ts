/**
 * A temporary tunnel for the diagnostics, through the public address: with an account and key for one run, and a
 * client in this process that follows protocol.md section 9.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { pipeline } from 'node:stream';
import { createWebSocketStream, WebSocket } from 'ws';
import { parseControlMessage } from '../../shared/control.ts';
import { API_ERRORS } from '../../shared/errors.ts';
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
  #control: WebSocket | undefined;
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
      await tunnel.#begin(made.key);
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

  /** Ends it, and removes everything that was created for it. */
  async close(): Promise<void> {
    this.#control?.terminate();
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#administration.removeAccount(this.#account);
  }

  async #begin(key: string): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const headers = { authorization: `Bearer ${key}` };
    const { port } = this.#server.address() as AddressInfo;
    const body = JSON.stringify({ local_port: port });
    const made = await ask({ to: this.#to, method: 'POST', path: '/v1/tunnels', headers, body });
    const { id, urls, code } = JSON.parse(made.text) as {
      id: string;
      urls: { subdomain: string };
      code?: string;
    };
    if (code === API_ERRORS.invalidKey.code) throw new OtherDatabaseError();
    if (made.status !== 201) throw new Error(`no tunnel can be created (${code}, status ${made.status})`);
    this.#host = new URL(urls.subdomain).host;
    this.#control = this.#socket(`/ws/control?tunnel_id=${id}`, headers);
    this.#control.on('message', (data: Buffer) => {
      const message = parseControlMessage(data.toString());
      if (message?.type === 'connection') this.#accept(message.id, port);
    });
    await once(this.#control, 'open');
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
