import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  createServer,
  sensitiveHeaders,
  type Http2Server,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { Socket } from 'node:net';
import * as consumers from 'node:stream/consumers';
import { FakeClock } from '../../testing/fake-clock.ts';
import { connectLocal, Watched } from '../../testing/fake-stream.ts';
import {
  atClose,
  CERTIFICATE,
  CERTIFICATE_KEY,
  closedPort,
  closeServers,
  listen,
  startHttp,
  startTcp,
  startTls,
} from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import { LocalDialer } from './local-dialer.ts';
import { LocalFailure } from './local-error.ts';
import {
  type LocalConnection,
  type LocalHandler,
  localPort,
  type LocalTarget,
  LOCAL_CONNECT_TIMEOUT_MS,
} from './local-service.ts';
import {
  LOCAL_SESSION_IDLE_MS,
  LOCAL_SESSION_RESETS_MAX,
  LOCAL_SESSIONS_MAX,
  LOCAL_STREAM_WAIT_MS,
  LOCAL_STREAM_WINDOW_BYTES,
} from './http2-sessions.ts';

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** An HTTP/2 service in this process. */
class Service {
  readonly sessions: ServerHttp2Session[] = [];
  readonly sockets: Socket[] = [];
  readonly clock = new FakeClock();
  readonly dialer: LocalDialer;

  private constructor(port: number, server: Http2Server, upstream: 'h2c' | 'h2') {
    this.dialer = dialerTo(port, upstream, this.clock);
    server.on('connection', (socket: Socket) => {
      this.sockets.push(socket);
      atClose(() => socket.destroy());
    });
    server.on('session', (session) => {
      this.sessions.push(session);
      session.on('error', () => {});
      atClose(() => session.destroy());
    });
  }

  static async start(onStream: OnStream, options: ServerOptions = {}, isSecure = false): Promise<Service> {
    const secure = { ...options, cert: CERTIFICATE, key: CERTIFICATE_KEY };
    const server = isSecure ? createSecureServer(secure) : createServer(options);
    server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', () => {});
      onStream(stream, headers);
    });
    return new Service(await listen(server), server, isSecure ? 'h2' : 'h2c');
  }

  async connect(): Promise<Visitor> {
    return new Visitor(await connectLocal(this.dialer));
  }

  /** Sends one request over a connection of its own. */
  async send(request = GET): Promise<Visitor> {
    const visitor = await this.connect();
    visitor.send(request);
    return visitor;
  }
}

/** The visitor of a service to which it sends a request. */
async function ask(onStream: OnStream, request = GET): Promise<Visitor> {
  return (await Service.start(onStream)).send(request);
}

function dialerTo(
  port: number,
  upstream: 'h2c' | 'h2',
  clock = new FakeClock(),
  more: Partial<LocalTarget> = {},
): LocalDialer {
  return new LocalDialer({ ...localPort(port), ...more, upstream }, new Deadlines(clock));
}

/** The other end of a connection. */
class Visitor extends Watched implements LocalHandler {
  readonly local: LocalConnection;
  text = '';
  end: 'open' | 'ended' | 'closed' = 'open';
  failure: Error | undefined;
  drains = 0;

  constructor(local: LocalConnection) {
    super();
    this.local = local;
    local.attach(this);
  }

  send(text: string): boolean {
    return this.local.write(Buffer.from(text, 'latin1'));
  }

  /** Waits for text. @returns everything received */
  async has(text: string): Promise<string> {
    await this.until(() => this.text.includes(text));
    return this.text;
  }

  /** @returns everything received when it closed */
  async closed(): Promise<string> {
    await this.until(() => this.end === 'closed');
    return this.text;
  }

  onLocalData(chunk: Buffer): void {
    this.text += chunk.toString('latin1');
    this.changed();
  }

  onLocalDrain(): void {
    this.drains += 1;
    this.changed();
  }

  onLocalEnd(): void {
    this.end = 'ended';
    this.changed();
  }

  onLocalClose(failure?: Error): void {
    this.failure = failure;
    this.end = 'closed';
    this.changed();
  }
}

const GET = 'GET /a?b=1 HTTP/1.1\r\nHost: demo.test\r\n\r\n';
const HEAD = GET.replace('GET', 'HEAD');
const STREAM =
  'POST /pkg.Service/Call HTTP/1.1\r\nHost: demo.test\r\nTE: trailers\r\ncontent-type: application/grpc\r\n' +
  'Transfer-Encoding: chunked\r\n\r\n';
const GRPC = { ':status': 200, 'content-type': 'application/grpc' };

const whole = (stream: ServerHttp2Stream): Promise<string> => consumers.text(stream.setEncoding('utf8'));

const waiting: OnStream = (stream) => {
  stream.respond({ ':status': 200 });
  stream.write('.');
};

/** Responds without a body. */
const responds =
  (headers: OutgoingHttpHeaders): OnStream =>
  (stream) =>
    stream.respond(headers, { endStream: true });

const empty = responds({ ':status': 200 });

const echo: OnStream = (stream, headers) => {
  stream.respond({ ':status': 200 });
  void whole(stream).then((body) => stream.end(`${headers[':path']}${body}`));
};

const malformed: OnStream = (stream) => {
  stream.respond({ ':status': 200, 'content-length': '01' });
  stream.end('x');
};

function failsWith(code: string): (error: unknown) => boolean {
  return (error) => error instanceof LocalFailure && error.code === code;
}

describe('Http2Connection', () => {
  afterEach(closeServers);

  for (const scheme of ['http', 'https'])
    it(`sends a request to ${scheme} as HTTP/2, without the fields of a connection`, async () => {
      const seen = Promise.withResolvers<IncomingHttpHeaders>();
      const onStream: OnStream = (_stream, headers) => seen.resolve(headers);
      const service = await Service.start(onStream, {}, scheme === 'https');
      await service.send(
        'GET /a?b=1 HTTP/1.1\r\nHost: Demo.test:81\r\nX-Ab: \xe4\r\nCookie: a=1\r\nCookie: b=2\r\nUser-Agent: x\r\n' +
          'User-Agent: y\r\nTE: deflate, trailers\r\nConnection: TE, x-hop\r\nX-Hop: 1\r\nKeep-Alive: 1\r\n__proto__: p\r\n\r\n',
      );
      const { [':authority']: authority, ...headers } = await seen.promise;
      assert.equal(authority, 'Demo.test:81');
      assert.deepEqual(headers, {
        ':method': 'GET',
        ':scheme': scheme,
        ':path': '/a?b=1',
        'x-ab': '\xe4',
        cookie: 'a=1; b=2',
        'user-agent': 'x, y',
        te: 'trailers',
        ...Object.fromEntries([['__proto__', 'p']]),
        [sensitiveHeaders]: ['cookie'],
      });
    });

  for (const [what, onStream, request, response] of [
    [
      'with a length and repeated fields',
      (stream) => {
        stream.respond({ ':status': 404, 'content-length': 5, 'set-cookie': ['a=1', 'b=2'], 'x-a': '\xe4' });
        stream.end('hello');
      },
      GET,
      /^HTTP\/1\.1 404 Not Found\r\ncontent-length: 5\r\nset-cookie: a=1\r\nset-cookie: b=2\r\nx-a: \xe4\r\n[^]*\r\n\r\nhello$/,
    ],
    [
      'that consists of trailers',
      responds({ ...GRPC, 'grpc-status': '12', 'grpc-message': 'no such' }),
      GET,
      /\r\ngrpc-status: 12\r\ngrpc-message: no such\r\n[^]*Content-Length: 0\r\n\r\n$/,
    ],
    ['without content', empty, GET, /^HTTP\/1\.1 200 OK\r\n[^]*Content-Length: 0\r\n\r\n$/],
    ['to HEAD', responds({ 'content-length': 5 }), HEAD, /content-length: 5\r\n[^]*\r\n\r\n$/],
    [
      'with 204',
      responds({ ':status': 204 }),
      GET,
      /^HTTP\/1\.1 204 No Content\r\n(?!.*(?:length|encoding)).*\r\n\r\n$/is,
    ],
    ['with 304', responds({ ':status': 304 }), GET, /^HTTP\/1\.1 304 (?!.*encoding).*\r\n\r\n$/is],
  ] as const satisfies [string, OnStream, string, RegExp][])
    it(`passes on a response ${what}, and the next one`, async () => {
      const visitor = await ask(onStream, request);
      for (let round = 0; round < 2; round += 1) {
        await visitor.until(({ text }) => response.test(text));
        visitor.text = '';
        visitor.send(request);
      }
    });

  it('carries both directions at the same time, and trailers', async () => {
    const visitor = await ask((stream) => {
      let sum: unknown;
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on('trailers', (trailers: IncomingHttpHeaders) => (sum = trailers['x-sum']));
      stream.on('wantTrailers', () =>
        stream.sendTrailers({ 'grpc-status': '0', 'x-sum': String(sum), authorization: 'no' }),
      );
      stream.on('data', (piece: Buffer) => stream.write(`<${piece.toString()}>`));
      stream.on('end', () => stream.end());
    }, STREAM);
    await visitor.has('\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (const letter of ['a', 'b']) {
      visitor.send(`1\r\n${letter}\r\n`);
      await visitor.has(`3\r\n<${letter}>\r\n`);
    }
    visitor.send('0\r\nX-Sum: 7\r\n\r\n');
    assert.match(await visitor.has('0\r\ngrpc'), /<b>\r\n0\r\ngrpc-status: 0\r\nx-sum: 7\r\n\r\n$/);
  });

  it('serves requests one after the other, even if they arrive together', async () => {
    const service = await Service.start(echo);
    const visitor = await service.send('POST /1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nab');
    visitor.send('cPOST /2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nd\r\n0\r\n\r\nGET /3 HT');
    visitor.send('TP/1.1\r\n\r\n');
    const received = await visitor.has('/3\r\n0\r\n\r\n');
    assert.deepEqual(received.match(/\/\d\w*(?=\r\n)/g), ['/1abc', '/2d', '/3']);
    assert.equal(service.sessions.length, 1);
  });

  it('passes on informational responses', async () => {
    const visitor = await ask((stream, headers) => {
      stream.additionalHeaders({ ':status': 100 });
      stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
      void whole(stream).then(() => empty(stream, headers));
    }, 'PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n');
    const early = await visitor.has('</a.css>\r\n\r\n');
    assert.match(early, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 103 Early Hints\r\nlink: [^]*\r\n\r\n$/);
    visitor.send('x');
    await visitor.has(`${early}HTTP/1.1 200 OK`);
  });

  it('resets the stream when the visitor leaves', async () => {
    const code = Promise.withResolvers<number | undefined>();
    const service = await Service.start((stream, headers) => {
      waiting(stream, headers);
      stream.on('close', () => code.resolve(stream.rstCode));
    });
    const visitor = await service.send(STREAM);
    await visitor.has('.');
    visitor.local.destroy();
    assert.equal(await code.promise, constants.NGHTTP2_CANCEL);
    await (await service.send(STREAM)).has('.');
    assert.equal(service.sessions.length, 1, 'the session goes on');
  });

  // Frames by hand, because Node's server ends a stream before it resets it.
  const HALF = '0000010104000000018800000400000000000168616c66';
  for (const [name, frames] of [
    ['resets the stream with NO_ERROR', '00000403000000000100000000'],
    ['resets the stream with INTERNAL_ERROR', '00000403000000000100000002'],
    ['resets the stream with CANCEL', '00000403000000000100000008'],
    ['sends GOAWAY and closes the connection', '0000080700000000000000000100000000'],
    ['sends GOAWAY with INTERNAL_ERROR and closes the connection', '0000080700000000000000000100000002'],
    ['closes the connection', ''],
  ] as const)
    for (const [when, begun, received] of [
      ['gives no response', '', /^$/],
      ['never completes a response', HALF, /^HTTP\/1\.1 200 [^]*\r\n\r\n4\r\nhalf\r\n$/],
    ] as const)
      it(`${when} if the service ${name}`, async () => {
        const port = await startTcp((socket) => {
          let seen = '';
          socket.write(Buffer.from('000000040000000000', 'hex'));
          socket.on('data', function answer(piece) {
            seen += piece.toString('hex');
            if (!/01[0-9a-f]{2}00000001/.test(seen)) return;
            socket.off('data', answer).resume();
            socket.write(Buffer.from(begun + frames, 'hex'));
            if (name.includes('closes')) socket.end();
          });
        });
        const visitor = new Visitor(await connectLocal(dialerTo(port, 'h2c')));
        visitor.send(GET);
        assert.match(await visitor.closed(), received);
        assert.equal(visitor.failure, undefined);
      });

  it('discards the rest of a request whose response is complete', async () => {
    const visitor = await ask((stream, headers) => {
      stream.respond({ ':status': 200, 'content-length': 1 });
      stream.end(String(headers[':path']).slice(1));
      if (headers[':method'] === 'POST') stream.close(constants.NGHTTP2_NO_ERROR);
    }, 'POST /1 HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n');
    await visitor.has('\r\n\r\n1');
    for (let sent = 0; sent < 30; sent += 1) {
      const { drains } = visitor;
      if (!visitor.send('x'.repeat(100_000))) await visitor.until(() => visitor.drains > drains);
    }
    visitor.send('GET /2 HTTP/1.1\r\n\r\n');
    await visitor.has('\r\n\r\n2');
  });

  it('reads no more of a response than its window while the visitor reads nothing', async () => {
    const stalled = Promise.withResolvers<void>();
    const service = await Service.start((stream) => {
      stream.respond({ ':status': 200 });
      let written = 0;
      const more = (): void => {
        while (written < 1024 * 1024) {
          written += 64 * 1024;
          if (stream.write(Buffer.alloc(64 * 1024))) continue;
          if (written > LOCAL_STREAM_WINDOW_BYTES) stalled.resolve();
          return void stream.once('drain', more);
        }
        stream.end();
      };
      more();
    });
    const visitor = await service.connect();
    visitor.local.pause();
    visitor.send(GET);
    await stalled.promise;
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(visitor.text.length < LOCAL_STREAM_WINDOW_BYTES + 1024);
    visitor.local.resume();
    await visitor.until(({ text }) => text.endsWith('\r\n0\r\n\r\n'));
    assert.ok(visitor.text.length > 1024 * 1024);
  });

  it('accepts no more of a request than the service reads', async () => {
    const opened = Promise.withResolvers<ServerHttp2Stream>();
    const visitor = await ask(
      (stream) => opened.resolve(stream.pause()),
      'POST / HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n',
    );
    let sent = 0;
    for (; visitor.send('x'.repeat(10_000)) && sent < 100; sent += 1);
    assert.ok(sent < 50, `${sent}`);
    (await opened.promise).resume();
    await visitor.until(({ drains }) => drains > 0);
  });

  const UPGRADE = 'GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  for (const [what, code, request, onStream, line] of [
    ['a malformed response', 'local-malformed', GET, malformed, 'content-length: 01'],
    ['a WebSocket', 'local-no-websocket', UPGRADE, () => assert.fail(), ''],
  ] as const)
    it(`answers ${what} with 502, and reports why`, async () => {
      const visitor = await ask(onStream, request);
      const received = await visitor.closed();
      assert.match(received, new RegExp(`^HTTP/1\\.1 502 Bad Gateway\r\n[^]*Culvert-Error: ${code}\r\n`));
      assert.ok(visitor.failure instanceof LocalFailure);
      assert.deepEqual([visitor.failure.code, visitor.failure.line], [code, line]);
    });

  it('closes immediately, or after the response, when the relay sends no further request', async () => {
    const opened = Promise.withResolvers<ServerHttp2Stream>();
    const service = await Service.start((stream) => opened.resolve(stream));
    const idle = await service.connect();
    idle.local.end();
    assert.equal(await idle.closed(), '');
    const visitor = await service.send();
    const stream = await opened.promise;
    visitor.local.end();
    empty(stream, {});
    assert.match(await visitor.closed(), /^HTTP\/1\.1 200 OK/);
  });
});

describe('LocalSessions', () => {
  afterEach(closeServers);

  for (const [what, settings, visits, sessions] of [
    ['serves requests together over one connection', {}, 20, 1],
    [
      'opens another connection if the service allows no more requests on the first',
      { maxConcurrentStreams: 2 },
      5,
      3,
    ],
  ] as const) {
    it(what, async () => {
      const service = await Service.start(waiting, { settings });
      const visitors = await Promise.all(Array.from({ length: visits }, () => service.send()));
      await Promise.all(visitors.map((visitor) => visitor.has('.')));
      assert.equal(service.sessions.length, sessions);
    });
  }

  it('rejects a request after 10 s if the service allows none', async () => {
    const service = await Service.start(waiting, { settings: { maxConcurrentStreams: 0 } });
    const refused = assert.rejects(service.connect(), failsWith('local-busy'));
    const { sessions } = service;
    while (sessions.length < LOCAL_SESSIONS_MAX || sessions.at(-1)?.pendingSettingsAck === true)
      await new Promise((resolve) => setImmediate(resolve));
    service.clock.advance(2 * LOCAL_STREAM_WAIT_MS);
    await refused;
  });

  it('uses a new connection after a GOAWAY, however many old ones still serve requests', async () => {
    const streams: ServerHttp2Stream[] = [];
    const service = await Service.start((stream, headers) => {
      streams.push(stream);
      waiting(stream, headers);
      stream.session?.goaway();
      stream.write('!');
    });
    const visitors: Visitor[] = [];
    while (visitors.length <= LOCAL_SESSIONS_MAX) {
      const visitor = await service.send();
      // The client has seen the GOAWAY when it has the byte behind it.
      await visitor.has('!');
      visitors.push(visitor);
      assert.equal(service.sessions.length, visitors.length);
    }
    for (const stream of streams) stream.end();
    for (const visitor of visitors) await visitor.has('0\r\n\r\n');
  });

  it('uses a new connection after 200 visitors have left, while the old one serves its requests', async () => {
    const service = await Service.start(waiting);
    const first = await service.send();
    await first.has('.');
    for (let left = 0; left < LOCAL_SESSION_RESETS_MAX; left += 1) {
      const visitor = await service.send();
      await visitor.has('.');
      assert.equal(service.sessions.length, 1, `after ${left}`);
      visitor.local.destroy();
    }
    await (await service.send()).has('.');
    assert.equal(service.sessions.length, 2);
    assert.equal(first.end, 'open');
    first.local.destroy();
    await once(service.sessions[0] as ServerHttp2Session, 'close');
  });

  for (const [times, tries, received] of [
    [1, 2, /\/Callabcde\r\n0\r\n\r\n$/],
    [3, 3, /^$/],
  ] as const)
    it(`sends a request again with its body, at most ${tries} times, if it is refused ${times} times`, async () => {
      let seen = 0;
      const visitor = await ask((stream, headers) => {
        seen += 1;
        if (seen <= times) stream.close(constants.NGHTTP2_REFUSED_STREAM);
        else echo(stream, headers);
      }, `${STREAM}3\r\nabc\r\n`);
      visitor.send('2\r\nde\r\n0\r\n\r\n');
      await visitor.until(({ text, end }) => text.endsWith('0\r\n\r\n') || end === 'closed');
      assert.match(visitor.text, received);
      assert.equal(seen, tries);
    });

  for (const [method, paths] of [
    ['GET', ['/a?b=1', '/2', '/2']],
    ['DELETE', ['/a?b=1', '/2']],
  ] as const)
    it(`sends a ${method} ${method === 'GET' ? 'again' : 'only once'} if a used connection is lost`, async () => {
      const seen: unknown[] = [];
      const service = await Service.start((stream, headers) => {
        seen.push(headers[':path']);
        if (seen.length === 2) return void service.sockets.at(-1)?.destroy();
        empty(stream, headers);
      });
      await (await service.send()).has('\r\n\r\n');
      const second = await service.send(`${method} /2 HTTP/1.1\r\n\r\n`);
      await second.until(({ text, end }) => text !== '' || end === 'closed');
      assert.deepEqual(seen, paths);
    });

  it('connects again for the next request on the same connection, and closes what is idle for long', async () => {
    const service = await Service.start(empty);
    const visitor = await service.send();
    await visitor.has('\r\n\r\n');
    service.sessions[0]?.destroy();
    visitor.text = '';
    visitor.send(GET);
    await visitor.has('\r\n\r\n');
    assert.equal(service.sessions.length, 2);
    visitor.local.destroy();
    const closed = once(service.sessions[1] as ServerHttp2Session, 'close');
    const timer = setInterval(() => service.clock.advance(LOCAL_SESSION_IDLE_MS), 5);
    await closed;
    clearInterval(timer);
  });

  const asking = { cert: CERTIFICATE, key: CERTIFICATE_KEY, requestCert: true, rejectUnauthorized: true };
  const notHttp2 = failsWith('local-not-http2');
  for (const [what, start, upstream, error] of [
    ['refuses the connection', closedPort, 'h2c', /ECONNREFUSED/],
    [
      'speaks HTTP/1.1',
      async () => (await startHttp((_request, response) => response.end('x'))).port,
      'h2c',
      notHttp2,
    ],
    ['does not select HTTP/2', () => startTls((it) => it.resume()), 'h2', notHttp2],
    [
      'requires a certificate',
      () => {
        const server = createSecureServer(asking).on('tlsClientError', () => {});
        // Node keeps the connection of a client that it has refused.
        server.on('connection', (socket: Socket) => atClose(() => socket.destroy()));
        return listen(server);
      },
      'h2',
      /certificate required/,
    ],
    [
      'speaks no TLS',
      () => startTcp((socket) => socket.once('data', () => socket.end('HTTP/1.1 400\r\n\r\n'))),
      'h2',
      /wrong version|packet/i,
    ],
  ] as const)
    it(`reports a service that ${what}, without waiting unless it refuses`, async () => {
      const port = await start();
      await assert.rejects(connectLocal(dialerTo(port, upstream)), error);
      const clock = new FakeClock();
      const patient = dialerTo(port, upstream, clock, { waitMs: 1000, host: '127.0.0.1' });
      const refused = assert.rejects(connectLocal(patient), error);
      const timer = setInterval(() => clock.advance(start === closedPort ? 250 : 0), 10);
      await refused;
      clearInterval(timer);
      assert.equal(clock.now() >= 1000, start === closedPort);
    });

  it('reports a service that sends no settings', async () => {
    const clock = new FakeClock();
    const connected = Promise.withResolvers<void>();
    const port = await startTcp((socket) => socket.once('data', () => connected.resolve()));
    const refused = assert.rejects(connectLocal(dialerTo(port, 'h2c', clock)), notHttp2);
    await connected.promise;
    clock.advance(LOCAL_CONNECT_TIMEOUT_MS + 500);
    await refused;
  });

  it('reports nothing after it is cancelled', async () => {
    const service = await Service.start(waiting);
    service.dialer.connect({ connected: () => assert.fail(), refused: () => assert.fail() }).cancel();
    await (await service.send()).has('.');
  });
});
