/** All activity at a relay while it is replaced: visitors, long responses, calls of its API. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import { WebSocket, WebSocketServer } from 'ws';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { Authority } from '../support/certificates.ts';
import { eventually } from '../support/deadline.ts';
import { type Asked, describeFailure, Load, mixedRequests, tallyOf } from '../support/load.ts';
import { Culvert, RelayProgram } from '../support/programs.ts';
import { RawConnection } from '../support/raw-http.ts';
import { Scope } from '../support/scope.ts';
import { digest } from '../support/services/echo.ts';
import { startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

/* Visitors who stay longer than a replacement takes. Each resolves to its error, if any. */

/** Opens a connection of a visitor. */
type Open = () => Promise<RawConnection>;

type Visit = (open: Open, host: string) => Promise<string | undefined>;

const LASTING: Readonly<Record<string, Visit>> = {
  events: async (open, host) => {
    const { text } = await (await open()).request({ host, target: '/events' });
    const expected = Array.from({ length: PIECES }, (_, number) => `data: ${number}\n\n`).join('');
    return text === expected ? undefined : `events: ${text.length} of ${expected.length} bytes`;
  },

  download: async (open, host) => {
    const { body } = await (await open()).request({ host, target: '/download' });
    const isWhole =
      body.length === PIECES * DOWNLOAD_PIECE.length && body.subarray(-20_000).equals(DOWNLOAD_PIECE);
    return isWhole ? undefined : `download: ${body.length} bytes`;
  },

  upload: async (open, host) => {
    const connection = await open();
    const length = PIECES * DOWNLOAD_PIECE.length;
    const hash = createHash('sha256');
    await connection.write(`POST /upload HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${length}\r\n\r\n`);
    for (let piece = 0; piece < PIECES; piece += 1) {
      hash.update(DOWNLOAD_PIECE);
      await connection.write(DOWNLOAD_PIECE);
      await delay(PIECE_MS);
    }
    const { text } = await connection.response('POST');
    return text === responseText('POST', '/upload', length, hash.digest('hex'))
      ? undefined
      : `upload: ${text}`;
  },

  webSocket: async (open, host) => {
    const { socket } = await open();
    const peer = new WebSocket(`ws://${host}/`, { createConnection: () => socket });
    const closed = once(peer, 'close');
    let heard = 0;
    peer.on('message', (message: Buffer) => {
      if (message.toString() === `message ${heard}`) heard += 1;
    });
    await once(peer, 'open');
    for (let sent = 0; sent < PIECES; sent += 1) {
      peer.send(`message ${sent}`);
      await delay(PIECE_MS);
    }
    peer.close(1000);
    const [code] = (await closed) as [number];
    return code === 1000 && heard === PIECES
      ? undefined
      : `WebSocket: ${heard} messages, closed with ${code}`;
  },
};

/* A relay that is replaced repeatedly during all activity: visitors, long exchanges, and calls of its API. */

/**
 * Total requests a second: `culvert`'s tunnel gets most of them, and that of a client written from protocol.md
 * the rest.
 */
const PER_SECOND = 500;
const SPEC_PER_SECOND = 50;
const ANSWER_MS = 60_000;
/** One create per 800 ms is within the rate limit of four accounts. */
const CREATE_MS = 800;
const ACCOUNTS = 6;

interface Served {
  readonly tunnel: Tunnel;
  readonly site: Site;
  readonly load: Load;
}

export interface Outcome {
  readonly requests: number;
  /** ms of the slowest one */
  readonly longestMs: number;
  readonly faults: readonly string[];
  /** the error of a counter, in requests */
  readonly miscounted: number;
  readonly created: number;
  readonly missing: number;
  /** ms from the start of a program until it serves, for each replacement */
  readonly tookMs: readonly number[];
}

export class Scene {
  readonly #scope: Scope;
  readonly #relay: RelayProgram;
  readonly #tls: ConnectionOptions | undefined;
  /** owner of the visited tunnels */
  readonly #owner: TestAccount;
  /** these accounts create tunnels at the same time */
  readonly #accounts: readonly TestAccount[];
  readonly #served: Served[] = [];
  readonly #faults: string[] = [];
  readonly #created: { readonly id: string; readonly key: string }[] = [];
  readonly #tookMs: number[] = [];
  #over = false;

  private constructor(
    scope: Scope,
    relay: RelayProgram,
    tls: ConnectionOptions | undefined,
    owner: TestAccount,
    accounts: readonly TestAccount[],
  ) {
    this.#scope = scope;
    this.#relay = relay;
    this.#tls = tls;
    this.#owner = owner;
    this.#accounts = accounts;
  }

  static async start(scope: Scope, isSecure: boolean): Promise<Scene> {
    const authority = isSecure ? new Authority(scope) : undefined;
    const files = authority?.issue();
    const settings = files && { CULVERT_TLS_CERT: files.cert, CULVERT_TLS_KEY: files.key };
    const relay = await RelayProgram.start(scope, settings);
    const owner = await createAccount(relay, { plan: 'team' });
    const made = Array.from({ length: ACCOUNTS }, () => createAccount(relay, { plan: 'team' }));
    const tls = authority && { servername: 'localhost', ca: authority.pem };
    const scene = new Scene(scope, relay, tls, owner, await Promise.all(made));
    await scene.#serve(authority);
    return scene;
  }

  async #serve(authority: Authority | undefined): Promise<void> {
    const { key } = this.#owner;
    const site = await startSite(this.#scope);
    const environment = authority === undefined ? {} : { NODE_EXTRA_CA_CERTS: authority.path };
    const { tunnel } = await Culvert.start(this.#scope, this.#relay, key, site.port, [], environment);
    const isAlone = authority !== undefined;
    this.#visit(tunnel, site, isAlone ? PER_SECOND : PER_SECOND - SPEC_PER_SECOND);
    // That client does not support TLS.
    if (isAlone) return;
    const other = await startSite(this.#scope);
    const client = await SpecClient.start(this.#scope, this.#relay, key, { local_port: other.port });
    this.#visit(client.tunnel, other, SPEC_PER_SECOND);
  }

  #visit(tunnel: Tunnel, site: Site, perSecond: number): void {
    const request = mixedRequests(this.#host(tunnel));
    const load = new Load((scope) => this.#open(scope), perSecond, perSecond / 5, request);
    this.#served.push({ tunnel, site, load });
  }

  /**
   * Replaces the relay this many times, each time during all activity.
   *
   * @param say receives a description of each replacement
   */
  async replace(times: number, say: (line: string) => void = () => {}): Promise<Outcome> {
    const begin = performance.now();
    const creating = this.#create();
    await delay(1000);
    for (let turn = 1; turn <= times; turn += 1) {
      const lasting = this.#last(turn);
      await delay(500);
      const from = performance.now();
      const before = await this.#relay.replace();
      this.#tookMs.push(performance.now() - from);
      const exit = await before.exit(40_000);
      if (exit.code !== 0) this.#faults.push(`replacement ${turn}: the relay before ended with ${exit.code}`);
      await Promise.all(lasting);
      say(
        `replacement ${turn}: ${this.#served.map(({ load }) => load.asked.length).join(' and ')} requests so far`,
      );
    }
    this.#over = true;
    await creating;
    for (const { load } of this.#served) await load.stop();
    return await this.#outcome(begin);
  }

  #last(turn: number): Promise<void>[] {
    return this.#served.flatMap(({ tunnel }) =>
      Object.entries(LASTING).map(async ([name, visit]) => {
        const scope = new Scope();
        try {
          const fault = await visit(() => this.#open(scope), this.#host(tunnel));
          if (fault !== undefined) this.#faults.push(`replacement ${turn}: ${fault}`);
        } catch (error) {
          this.#faults.push(`replacement ${turn}: ${name}: ${String(error)}`);
        } finally {
          await scope.end();
        }
      }),
    );
  }

  /** Occasionally creates a tunnel, and extends it on the same connection. */
  async #create(): Promise<void> {
    for (let turn = 0; !this.#over && turn < 5 * ACCOUNTS; turn += 1) {
      const { key } = this.#accounts[turn % ACCOUNTS] ?? { key: '' };
      const scope = new Scope();
      try {
        const connection = await this.#open(scope);
        const { id } = await this.#ask(connection, 201, key, 'POST', '/v1/tunnels', '{"local_port":9}');
        this.#created.push({ id: String(id), key });
        await delay(CREATE_MS);
        const again = connection.socket.readyState === 'open' ? connection : await this.#open(scope);
        await this.#ask(again, 200, key, 'PUT', `/v1/tunnels/${String(id)}/extend`, '{"ttl":"1h"}');
      } catch (error) {
        this.#faults.push(`API: ${String(error)}`);
      } finally {
        await scope.end();
      }
    }
  }

  async #ask(
    connection: RawConnection,
    status: number,
    key: string,
    method: string,
    target: string,
    body?: string,
  ): Promise<Record<string, unknown>> {
    const host = `localhost:${this.#relay.port}`;
    const headers = [['Authorization', `Bearer ${key}`]] as const;
    const answer = await connection.request({
      host,
      method,
      target,
      headers,
      ...(body !== undefined && { body }),
    });
    if (answer.status !== status)
      throw new Error(`${method} ${target} answered ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as Record<string, unknown>;
  }

  async #outcome(begin: number): Promise<Outcome> {
    const asked: Asked[] = [];
    for (const { load } of this.#served) {
      const { failed } = tallyOf(load.asked, ({ method, target, body = '' }) =>
        responseText(method, target, body.length, createHash('sha256').update(body).digest('hex')),
      );
      this.#faults.push(...failed.map((each) => describeFailure(each, begin)));
      asked.push(...load.asked);
    }
    return {
      requests: asked.length,
      longestMs: Math.round(Math.max(...asked.map(({ ms }) => ms))),
      faults: this.#faults,
      miscounted: await this.#miscounted(),
      created: this.#created.length,
      missing: await this.#missing(),
      tookMs: this.#tookMs,
    };
  }

  /** A counter lags at most one second. */
  async #miscounted(): Promise<number> {
    const api = this.#api(this.#owner.key);
    let off = Infinity;
    await eventually(10_000, async () => {
      off = 0;
      for (const { tunnel, site } of this.#served) {
        off += Math.abs((await api.get(tunnel.id)).requests - site.requests);
      }
      if (off > 0) throw new Error(`counters are off by ${off}`);
    }).catch(() => {});
    return off;
  }

  async #missing(): Promise<number> {
    let missing = 0;
    for (const { id, key } of this.#created) {
      await this.#api(key)
        .get(id)
        .catch(() => (missing += 1));
    }
    return missing;
  }

  #api(key: string): Api {
    return new Api(this.#relay, key, this.#tls);
  }

  #host(tunnel: Tunnel): string {
    return `${tunnel.slug}.localhost:${this.#relay.port}`;
  }

  async #open(scope: Scope, timeoutMs = ANSWER_MS): Promise<RawConnection> {
    const { port } = this.#relay;
    if (this.#tls === undefined) return await RawConnection.open(scope, port, timeoutMs);
    return await RawConnection.openTls(scope, { port, ...this.#tls }, timeoutMs);
  }
}

/* A local service with long-lasting exchanges. */

/** Long exchanges consist of this many pieces with pauses in ms in between, and last longer than a replacement. */
const PIECES = 120;
const PIECE_MS = 25;
const DOWNLOAD_PIECE = Buffer.alloc(20_000, 'culvert ');

interface Site {
  readonly port: number;
  /** requests that have arrived */
  readonly requests: number;
}

/**
 * `/events` streams events, `/download` a file, and an upgrade echoes. All other requests are described, with the hash
 * of the body.
 */
async function startSite(scope: Scope): Promise<Site> {
  const count = { requests: 0 };
  const service = await startHttpService(scope, (request, response) => {
    count.requests += 1;
    respond(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({ noServer: true });
  service.server.on('upgrade', (request, socket, head) => {
    count.requests += 1;
    sockets.handleUpgrade(request, socket, head, (peer) => {
      peer.on('error', () => peer.terminate());
      peer.on('message', (message) => peer.send(message, { binary: false }));
    });
  });
  return {
    port: service.port,
    get requests() {
      return count.requests;
    },
  };
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/events') {
    response.setHeader('Content-Type', 'text/event-stream');
    return await inPieces(response, (piece) => `data: ${piece}\n\n`);
  }
  if (request.url === '/download') {
    response.setHeader('Content-Length', PIECES * DOWNLOAD_PIECE.length);
    return await inPieces(response, () => DOWNLOAD_PIECE);
  }
  const { sha256, length } = await digest(request);
  response.end(responseText(request.method, request.url, length, sha256));
}

async function inPieces(response: ServerResponse, piece: (number: number) => string | Buffer): Promise<void> {
  for (let number = 0; number < PIECES && !response.destroyed; number += 1) {
    response.write(piece(number));
    await delay(PIECE_MS);
  }
  response.end();
}

/** The service's description of a request. */
function responseText(method = 'GET', target = '/', length = 0, sha256 = ''): string {
  return `${method} ${target} ${length} ${sha256}`;
}
