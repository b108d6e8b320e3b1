import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  createServer,
  sensitiveHeaders,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { Socket } from 'node:net';
import { FakeClock } from '../../testing/fake-clock.ts';
import { connectLocal } from '../../testing/fake-stream.ts';
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
import {
  LOCAL_CONNECT_TIMEOUT_MS,
  LOCAL_SESSION_IDLE_MS,
  LOCAL_SESSION_RESETS_MAX,
  LOCAL_SESSIONS_MAX,
  LOCAL_STREAM_WAIT_MS,
  LOCAL_STREAM_WINDOW_BYTES,
} from '../limits.ts';
import { LocalDialer } from './local-dialer.ts';
import { LocalFailure } from './local-error.ts';
import { type LocalConnection, type LocalHandler, localPort, type LocalTarget } from './local-service.ts';

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** An HTTP/2 service in this process. */
class Service {
  readonly server: Http2Server;
  readonly sessions: ServerHttp2Session[] = [];
  readonly sockets: Socket[] = [];
  readonly clock = new FakeClock();
  dialer!: LocalDialer;

  private constructor(server: Http2Server) {
    this.server = server;
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
    const server = isSecure
      ? createSecureServer({ ...options, cert: CERTIFICATE, key: CERTIFICATE_KEY })
      : createServer(options);
    const service = new Service(server);
    server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', () => {});
      onStream(stream, headers);
    });
    service.dialer = dialerTo(await listen(server), isSecure ? 'h2' : 'h2c', service.clock);
    return service;
  }

  async connect(): Promise<Visitor> {
    return new Visitor(await connectLocal(this.dialer));
  }

  /** Sends one request over a connection of its own. */
  async send(request: string): Promise<Visitor> {
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
  upstream: 'h2c' | 'h2' = 'h2c',
  clock = new FakeClock(),
  more: Partial<LocalTarget> = {},
): LocalDialer {
  return new LocalDialer({ ...localPort(port), ...more, upstream }, new Deadlines(clock));
}

/** The other end of a connection. */
class Visitor implements LocalHandler {
  readonly local: LocalConnection;
  text = '';
  end: 'open' | 'ended' | 'closed' = 'open';
  failure: Error | undefined;
  drains = 0;
  readonly #watchers = new Set<() => void>();

  constructor(local: LocalConnection) {
    this.local = local;
    local.attach(this);
  }

  send(text: string): boolean {
    return this.local.write(Buffer.from(text, 'latin1'));
  }

  until(condition: (visitor: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition(this)) return;
        this.#watchers.delete(check);
        resolve();
      };
      this.#watchers.add(check);
      check();
    });
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
    this.#changed();
  }

  onLocalDrain(): void {
    this.drains += 1;
    this.#changed();
  }

  onLocalEnd(): void {
    this.end = 'ended';
    this.#changed();
  }

  onLocalClose(failure?: Error): void {
    this.failure = failure;
    this.end = 'closed';
    this.#changed();
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

const GET = 'GET /a?b=1 HTTP/1.1\r\nHost: demo.test\r\n\r\n';
const CALL =
  'POST /pkg.Service/Call HTTP/1.1\r\nHost: demo.test\r\nTE: trailers\r\ncontent-type: application/grpc\r\n';
const STREAM = `${CALL}Transfer-Encoding: chunked\r\n\r\n`;
const GRPC = { ':status': 200, 'content-type': 'application/grpc' };

const whole = (stream: ServerHttp2Stream): Promise<string> => {
  let text = '';
  return new Promise((resolve) => {
    stream.on('data', (piece: Buffer) => (text += piece.toString()));
    stream.on('end', () => resolve(text));
  });
};

const waiting: OnStream = (stream) => {
  stream.respond({ ':status': 200 });
  stream.write('.');
};

async function answerWith(stream: ServerHttp2Stream, body: Promise<string>): Promise<void> {
  const text = await body;
  stream.respond({ ':status': 200 });
  stream.end(text);
}

function failsWith(code: string): (error: unknown) => boolean {
  return (error) => error instanceof LocalFailure && error.code === code;
}

describe('Http2Connection', () => {
  afterEach(closeServers);

  it('sends the request as HTTP/2, without the fields of a connection', async () => {
    const seen = Promise.withResolvers<IncomingHttpHeaders>();
    const service = await Service.start((stream, headers) => {
      seen.resolve(headers);
      stream.respond({ ':status': 200 }, { endStream: true });
    });
    const visitor = await service.send(
      'GET /a?b=1 HTTP/1.1\r\nHost: Demo.test:81\r\nX-Ab: \xe4\r\nCookie: a=1\r\nCookie: b=2\r\nUser-Agent: x\r\nUser-Agent: y\r\n' +
        'TE: deflate, trailers\r\nConnection: TE, x-hop\r\nX-Hop: 1\r\nKeep-Alive: 1\r\n__proto__: p\r\n\r\n',
    );
    const { [':authority']: authority, ...headers } = await seen.promise;
    assert.deepEqual(
      [authority, { ...headers }],
      [
        'Demo.test:81',
        {
          ':method': 'GET',
          ':scheme': 'http',
          ':path': '/a?b=1',
          'x-ab': '\xe4',
          cookie: 'a=1; b=2',
          'user-agent': 'x, y',
          te: 'trailers',
          ...Object.fromEntries([['__proto__', 'p']]),
          [sensitiveHeaders]: ['cookie'],
        },
      ],
    );
    assert.match(await visitor.has('\r\n\r\n'), /^HTTP\/1\.1 200 OK\r\n[^]*Content-Length: 0\r\n\r\n$/);
  });

  it('passes on a response with a length, with its repeated fields', async () => {
    const visitor = await ask((stream) => {
      stream.respond({ ':status': 404, 'content-length': 5, 'set-cookie': ['a=1', 'b=2'], 'x-a': '\xe4' });
      stream.end('hello');
    });
    const text = await visitor.has('hello');
    assert.match(
      text,
      /^HTTP\/1\.1 404 Not Found\r\ncontent-length: 5\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n/,
    );
    assert.match(text, /\r\nx-a: \xe4\r\n[^]*\r\n\r\nhello$/);
  });

  it('passes on trailers both ways', async () => {
    const visitor = await ask((stream) => {
      stream.on('trailers', (trailers: IncomingHttpHeaders) => {
        stream.respond(GRPC, { waitForTrailers: true });
        stream.on('wantTrailers', () =>
          stream.sendTrailers({
            'grpc-status': '0',
            'x-sum': String(trailers['x-sum']),
            authorization: 'no',
          }),
        );
        stream.end('hi');
      });
      stream.resume();
    }, `${STREAM}3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n`);
    const text = await visitor.has('0\r\ngrpc');
    assert.match(
      text,
      /\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\ngrpc-status: 0\r\nx-sum: 7\r\n\r\n$/,
    );
  });

  it('passes on a response that consists of trailers as a head without a body', async () => {
    const visitor = await ask(
      (it) => it.respond({ ...GRPC, 'grpc-status': '12', 'grpc-message': 'no such' }, { endStream: true }),
      `${CALL}Content-Length: 0\r\n\r\n`,
    );
    const text = await visitor.has('\r\n\r\n');
    assert.match(text, /\r\ngrpc-status: 12\r\ngrpc-message: no such\r\n[^]*Content-Length: 0\r\n\r\n$/);
  });

  it('carries both directions at the same time', async () => {
    const visitor = await ask((stream) => {
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.on('data', (piece: Buffer) => stream.write(`<${piece.toString()}>`));
      stream.on('end', () => stream.end());
    }, STREAM);
    await visitor.has('\r\n\r\n');
    visitor.send('1\r\na\r\n');
    await visitor.has('<a>');
    visitor.send('1\r\nb\r\n');
    await visitor.has('<b>');
    visitor.send('0\r\n\r\n');
    await visitor.has('0\r\ngrpc-status: 0\r\n\r\n');
  });

  it('serves requests one after the other, even if they arrive together', async () => {
    const service = await Service.start((stream, headers) => {
      stream.respond({ ':status': 200 });
      void whole(stream).then((body) => stream.end(`${headers[':path']}${body}`));
    });
    const visitor = await service.connect();
    visitor.send('POST /1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nab');
    visitor.send('cPOST /2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nd\r\n0\r\n\r\nGET /3 HT');
    visitor.send('TP/1.1\r\n\r\n');
    const text = await visitor.has('/3\r\n0\r\n\r\n');
    assert.deepEqual(text.match(/\/\d\w*(?=\r\n)/g), ['/1abc', '/2d', '/3']);
    assert.equal(service.sessions.length, 1);
  });

  for (const [name, request, status, head] of [
    ['HEAD', 'HEAD / HTTP/1.1\r\n\r\n', 200, /content-length: 5\r\n[^]*\r\n\r\n$/],
    ['204', GET, 204, /^HTTP\/1\.1 204 No Content\r\n(?![^]*(?:length|encoding))[^]*\r\n\r\n$/i],
    ['304', GET, 304, /^HTTP\/1\.1 304 (?![^]*encoding)[^]*\r\n\r\n$/i],
  ] as const)
    it(`passes on a response without a body: ${name}`, async () => {
      const visitor = await ask((stream) => {
        const length = name === 'HEAD' ? { 'content-length': 5 } : {};
        stream.respond({ ':status': status, ...length }, { endStream: true });
      }, request);
      await visitor.has('\r\n\r\n');
      visitor.send(request);
      await visitor.until(({ text }) => text.split('HTTP/1.1').length === 3);
      assert.match(visitor.text.slice(0, visitor.text.indexOf('HTTP/1.1', 1)), head);
    });

  it('passes on informational responses', async () => {
    const visitor = await ask((stream) => {
      stream.additionalHeaders({ ':status': 100 });
      stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
      void answerWith(stream, whole(stream));
    }, 'PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n');
    await visitor.has('</a.css>\r\n\r\n');
    visitor.send('x');
    const text = await visitor.has('0\r\n\r\n');
    assert.match(
      text,
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 103 Early Hints\r\nlink: [^]*\r\n\r\nHTTP\/1\.1 200 OK/,
    );
  });

  it('resets the stream when the visitor leaves', async () => {
    const code = Promise.withResolvers<number | undefined>();
    const service = await Service.start((stream) => {
      stream.respond(GRPC);
      stream.write('a');
      stream.on('close', () => code.resolve(stream.rstCode));
    });
    const visitor = await service.send(STREAM);
    await visitor.has('a');
    visitor.local.destroy();
    assert.equal(await code.promise, constants.NGHTTP2_CANCEL);
    assert.equal((await service.send(STREAM)).end, 'open');
    assert.equal(service.sessions.length, 1, 'the session goes on');
  });

  for (const [name, breakOff] of [
    ['resets the stream', (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
    ['closes the connection', (stream) => stream.session?.destroy()],
    [
      'ends the connection with an error',
      (stream) => stream.session?.destroy(new Error('x'), constants.NGHTTP2_INTERNAL_ERROR),
    ],
  ] as const satisfies [string, OnStream][]) {
    it(`gives no response at all if the service ${name} before it`, async () => {
      const visitor = await ask(breakOff, `${CALL}Content-Length: 0\r\n\r\n`);
      assert.deepEqual([await visitor.closed(), visitor.failure], ['', undefined]);
    });
  }

  // Frames by hand, because Node's server ends a stream before it resets it.
  const HEAD_200 = '00000101040000000188';
  const HALF = '00000400000000000168616c66';
  for (const [name, frames] of [
    ['resets the stream with NO_ERROR', '00000403000000000100000000'],
    ['resets the stream with INTERNAL_ERROR', '00000403000000000100000002'],
    ['resets the stream with CANCEL', '00000403000000000100000008'],
    ['sends GOAWAY and closes the connection', '0000080700000000000000000100000000'],
    ['closes the connection', ''],
  ] as const)
    it(`never completes a response if the service ${name}`, async () => {
      const port = await startTcp((socket) => {
        let text = '';
        let isAnswered = false;
        socket.write(Buffer.from('000000040000000000', 'hex'));
        socket.on('data', (piece) => {
          text += piece.toString('hex');
          const hasHeaders = /01[0-9a-f]{2}00000001/.test(text);
          if (isAnswered || !hasHeaders) return;
          isAnswered = true;
          socket.write(Buffer.from(HEAD_200 + HALF + frames, 'hex'));
          if (name.includes('closes')) socket.end();
        });
      });
      const visitor = new Visitor(await connectLocal(dialerTo(port)));
      visitor.send(GET);
      assert.match(await visitor.closed(), /\r\n\r\n4\r\nhalf\r\n$/);
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
    let written = 0;
    const stalled = Promise.withResolvers<void>();
    const service = await Service.start((stream) => {
      stream.respond({ ':status': 200 });
      const piece = Buffer.alloc(64 * 1024);
      const more = (): void => {
        while (written < 1024 * 1024) {
          written += piece.length;
          if (!stream.write(piece)) {
            stream.once('drain', more);
            if (written > LOCAL_STREAM_WINDOW_BYTES) stalled.resolve();
            return;
          }
        }
        stream.end();
      };
      more();
    });
    const visitor = await service.connect();
    visitor.local.pause();
    visitor.send(GET);
    await stalled.promise;
    assert.ok(visitor.text.length < LOCAL_STREAM_WINDOW_BYTES + 1024);
    visitor.local.resume();
    await visitor.until(({ text }) => text.endsWith('\r\n0\r\n\r\n'));
    assert.ok(visitor.text.length > 1024 * 1024);
  });

  it('accepts no more of a request than the service reads', async () => {
    const opened = Promise.withResolvers<ServerHttp2Stream>();
    const visitor = await ask((stream) => {
      stream.pause();
      opened.resolve(stream);
    }, 'POST / HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n');
    let sent = 0;
    for (; visitor.send('x'.repeat(10_000)) && sent < 100; sent += 1);
    assert.ok(sent < 50, `${sent}`);
    const stream = await opened.promise;
    stream.resume();
    await visitor.until(({ drains }) => drains > 0);
  });

  it('answers a response that HTTP/1.1 cannot carry with 502, and names the field', async () => {
    const visitor = await ask((stream) => {
      stream.respond({ ':status': 200, 'content-length': '01' });
      stream.end('x');
    });
    assert.match(
      await visitor.closed(),
      /^HTTP\/1\.1 502 Bad Gateway\r\n[^]*Culvert-Error: local-malformed\r\n/,
    );
    assert.ok(visitor.failure instanceof LocalFailure && visitor.failure.line === 'content-length: 01');
  });

  it('answers a WebSocket with 502', async () => {
    const service = await Service.start(() => assert.fail());
    const visitor = await service.send(
      'GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n',
    );
    assert.match(
      await visitor.closed(),
      /^HTTP\/1\.1 502 Bad Gateway\r\n[^]*Culvert-Error: local-no-websocket\r\n/,
    );
    assert.ok(failsWith('local-no-websocket')(visitor.failure));
  });

  it('closes immediately, or after the response, when the relay sends no further request', async () => {
    const opened = Promise.withResolvers<ServerHttp2Stream>();
    const service = await Service.start((stream) => opened.resolve(stream));
    const idle = await service.connect();
    idle.local.end();
    assert.equal(await idle.closed(), '');
    const visitor = await service.send(GET);
    const stream = await opened.promise;
    visitor.local.end();
    stream.respond({ ':status': 200 }, { endStream: true });
    assert.match(await visitor.closed(), /^HTTP\/1\.1 200 OK/);
  });
});

describe('LocalSessions', () => {
  afterEach(closeServers);

  for (const [what, maxConcurrentStreams, visits, sessions] of [
    ['serves requests together over one connection', undefined, 20, 1],
    ['opens another connection if the service allows no more requests on the first', 2, 5, 3],
  ] as const) {
    it(what, async () => {
      const settings = maxConcurrentStreams === undefined ? {} : { maxConcurrentStreams };
      const service = await Service.start(waiting, { settings });
      const visitors = await Promise.all(Array.from({ length: visits }, () => service.send(GET)));
      await Promise.all(visitors.map((visitor) => visitor.has('.')));
      assert.equal(service.sessions.length, sessions);
    });
  }

  it('rejects a request after 10 s if the service allows none', async () => {
    const service = await Service.start(waiting, { settings: { maxConcurrentStreams: 0 } });
    let opened = 0;
    const full = Promise.withResolvers<void>();
    service.server.on('session', () => {
      opened += 1;
      if (opened === 64) setTimeout(() => full.resolve(), 50);
    });
    const refused = assert.rejects(service.connect(), failsWith('local-busy'));
    await full.promise;
    service.clock.advance(2 * LOCAL_STREAM_WAIT_MS);
    await refused;
  });

  it('uses a new connection after a GOAWAY, while the old one serves its requests', async () => {
    const streams: ServerHttp2Stream[] = [];
    const service = await Service.start((stream) => {
      streams.push(stream);
      waiting(stream, {});
    });
    const first = await service.send(GET);
    await first.has('.');
    service.sessions[0]?.goaway();
    // The client has seen the GOAWAY when it has the byte behind it.
    streams[0]?.write('!');
    await first.has('!');
    const second = await service.send(GET);
    await second.has('.');
    streams[0]?.end();
    await first.has('0\r\n\r\n');
    assert.equal(service.sessions.length, 2);
  });

  it('uses a new connection after 200 visitors have left, while the old one serves its requests', async () => {
    const service = await Service.start(waiting);
    const first = await service.send(GET);
    await first.has('.');
    for (let left = 0; left < LOCAL_SESSION_RESETS_MAX; left += 1) {
      const visitor = await service.send(GET);
      await visitor.has('.');
      assert.equal(service.sessions.length, 1, `after ${left}`);
      visitor.local.destroy();
    }
    await (await service.send(GET)).has('.');
    assert.equal(service.sessions.length, 2);
    assert.equal(first.end, 'open');
    first.local.destroy();
    await once(service.sessions[0] as ServerHttp2Session, 'close');
  });

  it('serves further visitors, no matter how many connections others keep from closing', async () => {
    const service = await Service.start((stream) => {
      waiting(stream, {});
      stream.session?.goaway();
      stream.write('!');
    });
    for (let count = 0; count <= LOCAL_SESSIONS_MAX; count += 1) {
      // The client has seen the GOAWAY when it has the byte behind it.
      await (await service.send(GET)).has('!');
      assert.equal(service.sessions.length, count + 1);
    }
  });

  it('sends a refused request again, with its body', async () => {
    const bodies: string[] = [];
    let refusals = 0;
    const visitor = await ask((stream) => {
      if (refusals < 1) {
        refusals += 1;
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
        return;
      }
      const body = whole(stream);
      void answerWith(stream, body);
      void body.then((text) => bodies.push(text));
    }, `${STREAM}3\r\nabc\r\n`);
    visitor.send('2\r\nde\r\n0\r\n\r\n');
    await visitor.has('abcde');
    assert.deepEqual(bodies, ['abcde']);
  });

  it('gives up on a request that is refused again and again', async () => {
    let tries = 0;
    const service = await Service.start((stream) => {
      tries += 1;
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
    });
    assert.equal(await (await service.send(GET)).closed(), '');
    assert.equal(tries, 3);
  });

  for (const [method, tries] of [
    ['GET', 2],
    ['DELETE', 1],
  ] as const)
    it(`sends a ${method} ${tries === 1 ? 'only once' : 'again'} if a used connection is lost`, async () => {
      const seen: string[] = [];
      const service = await Service.start((stream, headers) => {
        seen.push(String(headers[':path']));
        if (seen.length === 2) return void service.sockets.at(-1)?.destroy();
        stream.respond({ ':status': 200 }, { endStream: true });
      });
      const visitor = await service.send(GET);
      await visitor.has('\r\n\r\n');
      const second = await service.send(`${method} /2 HTTP/1.1\r\n\r\n`);
      await second.until(({ text, end }) => text !== '' || end === 'closed');
      assert.deepEqual(
        seen.slice(1),
        Array.from({ length: tries }, () => '/2'),
      );
    });

  it('connects again for the next request on the same connection', async () => {
    const service = await Service.start((stream) => stream.respond({ ':status': 200 }, { endStream: true }));
    const visitor = await service.send(GET);
    await visitor.has('\r\n\r\n');
    const [session] = service.sessions;
    session?.destroy();
    visitor.text = '';
    visitor.send(GET);
    await visitor.has('\r\n\r\n');
    assert.equal(service.sessions.length, 2);
  });

  it('closes connections that are idle for long', async () => {
    const service = await Service.start((stream) => stream.respond({ ':status': 200 }, { endStream: true }));
    const visitor = await service.send(GET);
    await visitor.has('\r\n\r\n');
    visitor.local.destroy();
    const [session] = service.sessions;
    assert.ok(session);
    const closed = once(session, 'close');
    const timer = setInterval(() => service.clock.advance(LOCAL_SESSION_IDLE_MS), 5);
    await closed;
    clearInterval(timer);
  });

  it('speaks HTTP/2 over TLS', async () => {
    const service = await Service.start(
      (stream, headers) => stream.respond({ ':status': 200, x: headers[':scheme'] }, { endStream: true }),
      {},
      true,
    );
    assert.match(await (await service.send(GET)).has('\r\n\r\n'), /\r\nx: https\r\n/);
  });

  it('reports a service that refuses the connection, after the wait of its target', async () => {
    const clock = new FakeClock();
    await assert.rejects(connectLocal(dialerTo(await closedPort())), /ECONNREFUSED/);
    const refused = assert.rejects(
      connectLocal(dialerTo(await closedPort(), 'h2c', clock, { waitMs: 1000, host: '127.0.0.1' })),
      /ECONNREFUSED/,
    );
    const timer = setInterval(() => clock.advance(250), 10);
    await refused;
    clearInterval(timer);
  });

  const asking = { cert: CERTIFICATE, key: CERTIFICATE_KEY, requestCert: true, rejectUnauthorized: true };
  for (const [what, start, upstream, error] of [
    [
      'speaks HTTP/1.1',
      async () => (await startHttp((_request, response) => response.end('x'))).port,
      'h2c',
      failsWith('local-not-http2'),
    ],
    ['does not select HTTP/2', () => startTls((it) => it.resume()), 'h2', failsWith('local-not-http2')],
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
  ] as const) {
    it(`reports a service that ${what}`, async () => {
      await assert.rejects(connectLocal(dialerTo(await start(), upstream)), error);
    });
  }

  it('does not wait for a service that listens', async () => {
    const port = await startTcp((socket) => socket.once('data', () => socket.end('HTTP/1.1 400\r\n\r\n')));
    const target = { waitMs: 1000, host: '127.0.0.1' };
    await assert.rejects(
      connectLocal(dialerTo(port, 'h2', new FakeClock(), target)),
      /wrong version|packet/i,
    );
  });

  it('reports a service that sends no settings', async () => {
    const clock = new FakeClock();
    const connected = Promise.withResolvers<void>();
    const port = await startTcp((socket) => socket.once('data', () => connected.resolve()));
    const refused = assert.rejects(connectLocal(dialerTo(port, 'h2c', clock)), failsWith('local-not-http2'));
    await connected.promise;
    clock.advance(LOCAL_CONNECT_TIMEOUT_MS + 500);
    await refused;
  });

  it('reports nothing after it is cancelled', async () => {
    const service = await Service.start(waiting);
    service.dialer.connect({ connected: () => assert.fail(), refused: () => assert.fail() }).cancel();
    await (await service.send(GET)).has('.');
  });
});
