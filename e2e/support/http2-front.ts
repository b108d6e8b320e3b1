/**
 * A relay whose visitors arrive over HTTP/2: suites connect to a proxy with HTTP/1.1 and without TLS, and it makes each
 * request on an HTTP/2 connection to the relay. Upgrades pass as bytes, because the relay has none over HTTP/2.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { Authority } from './certificates.ts';
import { type Environment, type Relay, RelayProgram } from './programs.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

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
  const front = new Http2Front(() => relay.port);
  await front.listen(scope, port);
  return new FrontedRelay(relay, port);
}

class FrontedRelay implements Relay {
  readonly #relay: RelayProgram;
  readonly port: number;

  constructor(relay: RelayProgram, port: number) {
    this.#relay = relay;
    this.port = port;
  }

  get url(): string {
    return `http://localhost:${this.port}`;
  }

  get bootstrapKey(): string {
    return this.#relay.bootstrapKey;
  }

  get dataDirectory(): string {
    return this.#relay.dataDirectory;
  }

  get databaseSettings(): Environment {
    return this.#relay.databaseSettings;
  }

  get child(): RelayProgram['child'] {
    return this.#relay.child;
  }

  async stop(...args: Parameters<Relay['stop']>): ReturnType<Relay['stop']> {
    return await this.#relay.stop(...args);
  }

  async restart(): Promise<void> {
    await this.#relay.restart();
  }

  async administer(...args: string[]): Promise<Record<string, unknown>> {
    return await this.#relay.administer(...args);
  }
}

class Http2Front {
  readonly #relayPort: () => number;
  /** for each connection of a visitor, a connection to the relay for each host */
  readonly #sessions = new WeakMap<Socket, Map<string, ClientHttp2Session>>();

  constructor(relayPort: () => number) {
    this.#relayPort = relayPort;
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
    return { host: '127.0.0.1', port: this.#relayPort(), rejectUnauthorized: false, ...servername };
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
