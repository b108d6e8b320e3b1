/** Relays behind a proxy, which suites use like one: three behind nginx, and one behind a proxy that speaks HTTP/2. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { Authority } from '../support/certificates.ts';
import type { Child, Exit } from '../support/child.ts';
import { RelayCluster } from '../support/cluster.ts';
import { type NativeServer, runNginx } from '../support/native-server.ts';
import {
  type Environment,
  type Relay,
  type RelayProcess,
  RelayProgram,
  standIn,
} from '../support/programs.ts';
import type { Scope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';

const RELAYS = 3;

/**
 * The previous start. Suites that start a dozen relays concurrently would otherwise start three dozen programs at the
 * same time.
 */
let starting: Promise<unknown> = Promise.resolve();

/**
 * Starts three relays behind a balancer, after those that were requested before. Every action applies to all of them.
 *
 * @param startBalancer starts the balancer on a port, in front of other ports
 * @param settings environment of each relay
 */
export async function startBalanced(
  startBalancer: (scope: Scope, port: number, relayPorts: readonly number[]) => Promise<unknown>,
  scope: Scope,
  settings: Environment = {},
): Promise<Relay> {
  const start = async (): Promise<Relay> => {
    const port = await closedPort();
    const scheme = settings['CULVERT_TLS_CERT'] === undefined ? 'http' : 'https';
    const url = { CULVERT_PUBLIC_URL: `${scheme}://localhost:${port}` };
    const cluster = await RelayCluster.start(scope, RELAYS, { ...url, ...settings });
    await startBalancer(
      scope,
      port,
      cluster.relays.map((relay) => relay.port),
    );
    return together(port, cluster);
  };
  const started = starting.then(start, start);
  starting = started;
  return await started;
}

/** nginx in front of several relays, round robin, forwarding bytes at the TCP level. */
export async function startStreamBalancer(
  scope: Scope,
  port: number,
  relayPorts: readonly number[],
): Promise<NativeServer> {
  // A relay that accepts no connection is skipped. All of them may be away for a while.
  const servers = relayPorts.map((relay) => `server 127.0.0.1:${relay} max_fails=0;`).join(' ');
  return await runNginx(
    scope,
    port,
    '',
    `upstream relays { ${servers} }
     server {
       listen 127.0.0.1:${port} backlog=4096;
       proxy_pass relays; proxy_half_close on; proxy_timeout 3600s; tcp_nodelay on;
     }`,
  );
}

/** The relays of a cluster as one. Its address and its database are those of the first; output is joined. */
function together(port: number, cluster: RelayCluster): Relay {
  const { relays } = cluster;
  const first = cluster.relay(0);
  const children = (): readonly Child[] => relays.map(({ child }) => child);
  const child: RelayProcess = {
    get lines() {
      return children().flatMap(({ lines }) => lines);
    },
    get stderr() {
      return children()
        .map(({ stderr }) => stderr)
        .join('');
    },
    get hasExited() {
      return children().every(({ hasExited }) => hasExited);
    },
    get pid() {
      return first.child.pid;
    },
    kill: (signal) => children().forEach((each) => each.kill(signal)),
    exit: async (ms) => worst(await Promise.all(children().map((each) => each.exit(ms)))),
  };
  return standIn(() => first, {
    port,
    url: first.url.replace(/\d+$/, String(port)),
    child,
    // The balancer keeps running.
    stop: async (signal, ms) => worst(await Promise.all(relays.map((each) => each.stop(signal, ms)))),
    restart: async () => void (await Promise.all(relays.map((each) => each.restart()))),
  });
}

/** The first exit that is not a success, or success. */
function worst(exits: readonly Exit[]): Exit {
  return exits.find(({ code }) => code !== 0) ?? { code: 0, signal: null };
}

/*
 * A relay whose visitors arrive over HTTP/2: suites connect to a proxy with HTTP/1.1 and without TLS, and it makes each
 * request on an HTTP/2 connection to the relay. Upgrades pass as bytes, because the relay has none over HTTP/2.
 */

/** Fields of a connection, which HTTP/2 does not have (RFC 9113 section 8.2.2). */
const OF_CONNECTION = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Starts a relay with TLS, and the proxy in front of it. A relay whose settings have a certificate is one whose tests
 * speak TLS themselves, and gets no proxy.
 */
export async function startBehindHttp2(scope: Scope, settings: Environment = {}): Promise<Relay> {
  if (settings['CULVERT_TLS_CERT'] !== undefined) return await RelayProgram.start(scope, settings);
  const port = await closedPort();
  const authority = new Authority(scope);
  const { cert, key } = authority.issue('localhost', '*.localhost');
  const relay = await RelayProgram.start(scope, {
    CULVERT_PUBLIC_URL: `http://localhost:${port}`,
    ...settings,
    CULVERT_TLS_CERT: cert,
    CULVERT_TLS_KEY: key,
  });
  await new Http2Front(relay).listen(scope, port);
  return standIn(() => relay, { port, url: `http://localhost:${port}` });
}

class Http2Front {
  readonly #relay: Relay;
  /** for each connection of a visitor, a connection to the relay for each host */
  readonly #sessions = new WeakMap<Socket, Map<string, ClientHttp2Session>>();

  constructor(relay: Relay) {
    this.#relay = relay;
  }

  async listen(scope: Scope, port: number): Promise<void> {
    const server = createServer({ requireHostHeader: false, maxHeaderSize: 64 * 1024, requestTimeout: 0 });
    server.on('request', (request, response) => this.#pass(request, response));
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
      this.#pass(request, response),
    );
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#passUpgrade(request, socket, head),
    );
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    scope.defer(() => {
      server.close();
      server.closeAllConnections();
    });
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const { host = '' } = request.headers;
    const stream = this.#session(request.socket, host).request(fieldsOf(request, host), {
      endStream: request.headers['content-length'] === undefined && !isChunked(request),
    });
    stream.on('headers', ({ ':status': status }) => {
      if (status === 100) response.writeContinue();
    });
    stream.on('response', (headers, _flags, raw?: readonly string[]) => {
      response.writeHead(headers[':status'] ?? 502, plain(raw ?? []));
      if (stream.endAfterHeaders) response.end();
      else response.flushHeaders();
    });
    stream.on('trailers', (_headers, _flags, raw?: readonly string[]) => {
      response.addTrailers(pairs(raw ?? []));
    });
    stream.on('data', (bytes: Buffer) => {
      if (response.write(bytes)) return;
      stream.pause();
      response.once('drain', () => stream.resume());
    });
    let hasEnded = false;
    stream.on('end', () => (hasEnded = true));
    stream.on('error', () => {});
    stream.on('close', () => {
      if (hasEnded && stream.rstCode === constants.NGHTTP2_NO_ERROR && response.headersSent) response.end();
      else request.socket.resetAndDestroy();
    });
    response.on('close', () => {
      if (!response.writableFinished) stream.close(constants.NGHTTP2_CANCEL);
    });
    request.on('error', () => {});
    passBody(request, stream);
  }

  #session(socket: Socket, host: string): ClientHttp2Session {
    const known = this.#sessions.get(socket) ?? new Map<string, ClientHttp2Session>();
    this.#sessions.set(socket, known);
    const before = known.get(host);
    if (before !== undefined && !before.closed && !before.destroyed) return before;
    const session = connect('https://localhost', {
      createConnection: () => connectTls({ ...this.#target(host), ALPNProtocols: ['h2'] }),
    });
    session.on('error', () => {});
    socket.once('close', () => session.close());
    known.set(host, session);
    return session;
  }

  #passUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const relay = connectTls({ ...this.#target(request.headers.host ?? ''), ALPNProtocols: ['http/1.1'] });
    const lines = pairs(request.rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
    relay.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
    relay.write(head);
    for (const [from, to] of [
      [relay, socket],
      [socket, relay],
    ] as const) {
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
  }

  /** The certificate's names do not matter: no test here is about them. */
  #target(host: string): ConnectionOptions {
    const name = host.replace(/\.?(?::\d+)?$/, '').replace(/^\[(.*)\]$/, '$1');
    const servername = isIP(name) !== 0 || name === '' ? {} : { servername: name };
    return { host: '127.0.0.1', port: this.#relay.port, rejectUnauthorized: false, ...servername };
  }
}

function passBody(request: IncomingMessage, stream: ClientHttp2Stream): void {
  if (stream.writableEnded) return void request.resume();
  request.on('data', (bytes: Buffer) => {
    if (stream.destroyed || stream.write(bytes)) return;
    request.pause();
    stream.once('drain', () => request.resume());
  });
  request.on('end', () => {
    if (!stream.destroyed) stream.end();
  });
}

function isChunked({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined;
}

function fieldsOf(
  { method, url, rawHeaders }: IncomingMessage,
  host: string,
): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = {
    ':method': method ?? '',
    ':scheme': 'https',
    ':path': url ?? '',
    ':authority': host,
  };
  for (const [name, value] of pairs(rawHeaders)) {
    const lower = name.toLowerCase();
    if (OF_CONNECTION.has(lower) || (lower === 'te' && value !== 'trailers')) continue;
    const before = fields[lower];
    fields[lower] = before === undefined ? value : [before, value].flat();
  }
  return fields;
}

/** Names and values in turn, without those of HTTP/2. */
function plain(raw: readonly string[]): string[] {
  return pairs(raw)
    .filter(([name]) => !name.startsWith(':'))
    .flat();
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : [])) as [
    string,
    string,
  ][];
}
