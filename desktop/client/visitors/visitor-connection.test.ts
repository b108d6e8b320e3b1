import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { createServer } from 'node:tls';
import { FakeClock } from '../../testing/fake-clock.ts';
import { IDLE_ATTEMPT, connectLocal, FakeStream } from '../../testing/fake-stream.ts';
import {
  CERTIFICATE,
  CERTIFICATE_KEY,
  closedPort,
  closeServers,
  listen,
  startTcp,
} from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import type { DataHandler } from '../data/data-dialer.ts';
import { type FilterMaker, StreamFilter } from '../data/stream-filter.ts';
import { DEADLINE_TICK_MS, LOCAL_BLOCKED_LOOK_MS, LOCAL_BLOCKED_MS, LOCAL_LINGER_MS } from '../limits.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { LocalExchange } from '../local/local-reuse.ts';
import { localPort, type LocalConnection } from '../local/local-service.ts';
import { textOf } from '../messages.ts';
import { Connections } from './connections.ts';
import { Bridge } from './visitor-connection.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n';

const answer = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/**
 * Visitors of a service that responds with the number of the connection and the data received on it so far.
 *
 * @param act called with each request; returns `false` if the service should not respond
 */
async function setUp(
  act: (socket: Socket, connection: number, text: string) => boolean = () => true,
  filters: readonly FilterMaker[] = [],
) {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const handlers: DataHandler[] = [];
  const accepted: Socket[] = [];
  const port = await startTcp((socket) => {
    const number = accepted.push(socket);
    socket.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1');
      if (act(socket, number, text)) socket.write(answer(`${number} ${text.split(' ')[0]}`));
    });
  });
  const connections = new Connections({
    data: {
      open: (_id, handler) => {
        handlers.push(handler);
        return IDLE_ATTEMPT;
      },
    },
    filters,
    local: new LocalDialer(localPort(port), deadlines),
    deadlines,
    onProblem: ({ text }) => assert.fail(textOf(text)),
  });
  /** Serves a visitor's request until the response has arrived; the test closes the stream. */
  async function visit(request: string): Promise<FakeStream> {
    const stream = new FakeStream();
    connections.acceptStream(stream, Buffer.from(request));
    await stream.until(({ sent, ended }) => sent !== '' || ended !== undefined);
    return stream;
  }
  return { connections, accepted, visit, clock, handlers };
}

const bodyOf = (stream: FakeStream): string | undefined => stream.sent.split('\r\n\r\n')[1];

describe('VisitorConnection', () => {
  afterEach(closeServers);

  it('reuses the local connection of the previous visitor', async () => {
    const { visit, connections } = await setUp();
    for (let round = 0; round < 3; round += 1) {
      const stream = await visit(GET);
      assert.equal(bodyOf(stream), '1 GET');
      stream.closeByRelay(1000);
      assert.deepEqual([connections.size, connections.idle], [0, 1]);
    }
    connections.cut();
    assert.equal(connections.idle, 0);
  });

  it('reports to filters how long the visitor waited, and each local connection', async () => {
    const told: string[] = [];
    class Watching extends StreamFilter {
      constructor(...[inner, waitedMs]: Parameters<FilterMaker>) {
        super(inner);
        told.push(`open after ${waitedMs} ms`);
      }
      override connected(): void {
        told.push('connected');
      }
    }
    const { visit, connections, clock, handlers } = await setUp(undefined, [
      (inner, waitedMs) => new Watching(inner, waitedMs),
    ]);
    clock.advance(1);
    connections.accept('announced');
    clock.advance(40);
    const stream = new FakeStream();
    handlers[0]?.opened(stream);
    stream.receive(GET);
    await stream.until(({ sent }) => sent !== '');
    assert.deepEqual(told.splice(0), ['open after 40 ms', 'connected']);
    stream.closeByRelay(1000);
    (await visit(GET)).closeByRelay(1000);
    assert.deepEqual(told, ['open after 0 ms', 'connected']);
    connections.cut();
  });

  it('does not dial in advance while an idle connection exists', async () => {
    const { visit, connections, accepted } = await setUp();
    (await visit(GET)).closeByRelay(1000);
    connections.accept('next');
    assert.equal(bodyOf(await visit(GET)), '1 GET');
    assert.equal(accepted.length, 1);
    connections.cut();
  });

  it('does not share the connection of a visitor being served', async () => {
    const { visit } = await setUp();
    const first = await visit(GET);
    const second = await visit(GET);
    assert.deepEqual([bodyOf(first), bodyOf(second)], ['1 GET', '2 GET']);
  });

  for (const [name, request] of Object.entries({
    'a POST': `${POST}body`,
    'a request with a login': 'GET / HTTP/1.1\r\nHost: a\r\nAuthorization: NTLM x\r\n\r\n',
    'two requests at once': GET + GET,
  })) {
    it(`gives ${name} a new connection, and leaves the used one alone`, async () => {
      const { visit, connections } = await setUp();
      (await visit(GET)).closeByRelay(1000);
      const other = await visit(request);
      assert.match(bodyOf(other) ?? '', /^2 /);
      assert.equal(connections.idle, 1);
      other.closeByRelay(1000);
      assert.equal(connections.idle, 1);
      connections.cut();
    });
  }

  it('keeps no connection of a visitor with a second request', async () => {
    const { visit, connections } = await setUp();
    const stream = await visit(GET);
    stream.receive(GET);
    await stream.until(({ sent }) => sent.split('HTTP/1.1').length === 3);
    stream.closeByRelay(1000);
    assert.equal(connections.idle, 0);
    connections.cut();
  });

  for (const [name, leave] of Object.entries({
    ends: (socket: Socket): void => void socket.end(),
    resets: (socket: Socket): void => void socket.resetAndDestroy(),
  })) {
    it(`uses another connection when the service ${name} the used one instead of responding`, async () => {
      let requests = 0;
      const { visit, accepted } = await setUp((socket) => {
        requests += 1;
        if (requests === 2) leave(socket);
        return requests !== 2;
      });
      (await visit(GET)).closeByRelay(1000);
      const stream = await visit(GET);
      assert.equal(bodyOf(stream), '2 GET');
      assert.deepEqual([requests, accepted.length], [3, 2]);
    });
  }

  it('does not retry once a byte of a response has arrived', async () => {
    let requests = 0;
    const { visit, accepted } = await setUp((socket) => {
      requests += 1;
      if (requests === 2) socket.write('HTTP/1.1 2', () => setImmediate(() => socket.resetAndDestroy()));
      return requests !== 2;
    });
    (await visit(GET)).closeByRelay(1000);
    const stream = await visit(GET);
    await stream.until(({ ended }) => ended !== undefined);
    assert.deepEqual([stream.sent, stream.ended, accepted.length], ['HTTP/1.1 2', 1011, 1]);
  });

  it('holds data that follows a request until the used connection has responded', async () => {
    const seen: string[] = [];
    let requests = 0;
    const { visit, connections } = await setUp((socket, number, text) => {
      requests += 1;
      seen.push(`${number} ${text}`);
      if (requests === 2) socket.end();
      return requests !== 2;
    });
    (await visit(GET)).closeByRelay(1000);
    const stream = new FakeStream();
    connections.acceptStream(stream, Buffer.from(GET));
    stream.receive(`${POST}body`);
    assert.ok(stream.paused);
    await stream.until(({ sent }) => sent !== '' && !stream.paused);
    connections.cut();
    // The unsafe part was sent only over the new connection.
    assert.deepEqual(
      seen.filter((entry) => entry.includes('POST')).map((entry) => entry[0]),
      ['2'],
    );
  });

  for (const [what, pieces, shown, problem] of [
    [
      'has stopped in the meantime',
      [GET.slice(0, 10), GET.slice(10)],
      /^HTTP\/1\.1 502 /,
      /^local-refused [^,]*$/,
    ],
    [
      'has refused TLS after the handshake',
      [GET],
      /^HTTP\/1\.1 502 .*\r\nCulvert-Error: local-refused\r\n.*TLS handshake/s,
      /^local-refused [^,]* refused the TLS handshake \(certificate required\)/,
    ],
  ] as const) {
    it(`tells the visitor and the owner that the service ${what}`, async () => {
      const options = { cert: CERTIFICATE, key: CERTIFICATE_KEY, requestCert: true };
      const isTls = what.includes('TLS');
      const port = isTls
        ? await listen(createServer(options).on('tlsClientError', () => {}))
        : await closedPort();
      const deadlines = new Deadlines(new FakeClock());
      const problems: string[] = [];
      const connections = new Connections({
        data: { open: () => IDLE_ATTEMPT },
        local: new LocalDialer({ ...localPort(port), https: isTls }, deadlines),
        deadlines,
        onProblem: ({ code, text }) => problems.push(`${code} ${textOf(text)}`),
      });
      const stream = new FakeStream();
      const [first, ...others] = pieces;
      connections.acceptStream(stream, Buffer.from(first));
      for (const piece of others) stream.receive(piece);
      await stream.until(({ ended }) => ended !== undefined);
      assert.match(stream.sent, shown);
      assert.match(problems.join(), problem);
      connections.cut();
      assert.deepEqual([connections.size, deadlines.size], [0, 0]);
    });
  }

  for (const code of [1000, 1001, 1006]) {
    it(`closes the local connection when the visitor leaves before the response with ${code}`, async () => {
      const { connections, accepted, visit } = await setUp(
        (_socket, _number, text) => !text.includes('/slow'),
      );
      (await visit(GET)).closeByRelay(1000);
      const stream = new FakeStream();
      connections.acceptStream(stream, Buffer.from(GET.replace('/', '/slow')));
      stream.closeByRelay(code);
      assert.deepEqual([connections.size, connections.idle], [0, 0]);
      await new Promise((resolve) => accepted[0]?.once('close', resolve).resume().end());
    });
  }
});

const GET_LINE = Buffer.from(GET);
const ANSWER = answer('ok');

/**
 * A bridge between a stream and a local service, both controlled by the test.
 *
 * @param request what the bridge sends first, and whose exchange it follows
 */
async function setUpBridge(request?: Buffer) {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const stream = new FakeStream();
  const services = new EventEmitter();
  const accepted = once(services, 'accepted') as Promise<[Socket]>;
  const port = await startTcp((socket) => services.emit('accepted', socket));
  const local = await connectLocal(new LocalDialer(localPort(port), deadlines));
  const [service] = await accepted;
  const released: LocalConnection[] = [];
  const silences: Buffer[] = [];
  const inspected: string[] = [];
  const exchange = request && LocalExchange.of(request);
  const ended = new Promise<void>((resolve) => {
    const owner = {
      ended: resolve,
      released: (free: LocalConnection) => released.push(free),
      localFailed: () => assert.fail(),
      unansweredBy: (unanswered: Buffer) => {
        silences.push(unanswered);
        resolve();
      },
      inspect: (piece: Buffer, sent: Buffer | undefined) =>
        inspected.push(piece.toString() + (sent?.toString() ?? '')) < 2,
    };
    new Bridge(stream, local, exchange, deadlines, owner).start(request);
  });
  return { clock, deadlines, stream, local, service, ended, released, silences, inspected };
}

/** Reads until that many bytes have arrived. */
async function read(socket: Socket, length: number): Promise<string> {
  let got = '';
  while (got.length < length) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    got += chunk.toString('latin1');
  }
  return got;
}

describe('Bridge', () => {
  afterEach(closeServers);

  it('passes bytes both ways', async () => {
    const { stream, service } = await setUpBridge();
    stream.receive('GET / HTTP/1.1\r\n\r\n');
    assert.equal(await read(service, 18), 'GET / HTTP/1.1\r\n\r\n');
    service.write('HTTP/1.1 204 No Content\r\n\r\n');
    await stream.until(({ sent }) => sent === 'HTTP/1.1 204 No Content\r\n\r\n');
  });

  it('closes with 1000 when the service ends, after everything it sent', async () => {
    const { stream, service, ended, local } = await setUpBridge();
    service.end('x'.repeat(300_000));
    await stream.until(({ ended: code }) => code !== undefined);
    assert.equal(stream.ended, 1000);
    assert.equal(stream.sent.length, 300_000);
    service.resume();
    await ended;
    assert.equal(local.isOpen, false);
  });

  it('closes with 1011 when the service resets', async () => {
    const { stream, service, ended } = await setUpBridge();
    service.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf');
    await stream.until(({ sent }) => sent.endsWith('half'));
    service.resetAndDestroy();
    await ended;
    assert.equal(stream.ended, 1011);
  });

  it('ends the local connection when the relay closes cleanly', async () => {
    const { stream, service, ended, deadlines } = await setUpBridge();
    stream.receive('bye');
    stream.closeByRelay(1000);
    assert.equal(await read(service, 3), 'bye');
    await once(service, 'end');
    service.end();
    await ended;
    assert.equal(deadlines.size, 0);
  });

  it('disconnects a service that does not end within 1 s', async () => {
    const { stream, service, ended, clock, deadlines } = await setUpBridge();
    stream.closeByRelay(1000);
    service.resume();
    await once(service, 'end');
    clock.advance(LOCAL_LINGER_MS - 1);
    assert.equal(deadlines.size, 1);
    clock.advance(1000 - LOCAL_LINGER_MS + 1);
    await ended;
  });

  for (const code of [1001, 1006, 1011, 4001]) {
    it(`cuts the local connection immediately when the stream breaks with ${code}`, async () => {
      const { stream, ended, local } = await setUpBridge();
      stream.closeByRelay(code);
      assert.equal(local.isOpen, false);
      await ended;
    });
  }

  it('stops reading from the service while the relay reads nothing', async () => {
    const { stream, service, local } = await setUpBridge();
    stream.room = false;
    service.write('one');
    await stream.until(({ sent }) => sent === 'one');
    assert.equal(local.isQuiet, false);
    stream.drain();
    service.write('two');
    await stream.until(({ sent }) => sent === 'onetwo');
  });

  it('stops reading from the relay while the service reads nothing', async () => {
    const { stream, service } = await setUpBridge();
    const piece = Buffer.alloc(256 * 1024);
    let sent = 0;
    while (!stream.paused) {
      stream.receive(piece);
      sent += piece.length;
    }
    assert.ok(sent < 32 * 1024 * 1024);
    service.resume();
    await stream.until(({ paused }) => !paused);
  });

  it('checks for its visitor after 10 s without room at the service, and every 500 ms from then on', async () => {
    const { stream, service, clock, deadlines } = await setUpBridge();
    while (!stream.paused) stream.receive(Buffer.alloc(256 * 1024));
    clock.advance(LOCAL_BLOCKED_MS - 1);
    assert.equal(stream.looks, 0);
    clock.advance(1 + DEADLINE_TICK_MS);
    assert.equal(stream.looks, 1);
    clock.advance(2 * LOCAL_BLOCKED_LOOK_MS);
    assert.equal(stream.looks, 3);
    service.resume();
    await stream.until(({ paused }) => !paused);
    assert.equal(deadlines.size, 0);
  });

  it('ends the connection to a service without room when its visitor has left', async () => {
    for (const code of [1000, 1006]) {
      const { stream, ended, clock } = await setUpBridge();
      while (!stream.paused) stream.receive(Buffer.alloc(256 * 1024));
      stream.lookForEnd = () => stream.closeByRelay(code);
      clock.advance(LOCAL_BLOCKED_MS + DEADLINE_TICK_MS);
      if (code === 1000) clock.advance(1000);
      await ended;
    }
  });

  it('tells the relay if the service has closed before the bridge starts', async () => {
    const deadlines = new Deadlines(new FakeClock());
    const stream = new FakeStream();
    const port = await startTcp((socket) => socket.resume());
    const local = await connectLocal(new LocalDialer(localPort(port), deadlines));
    local.destroy();
    let ends = 0;
    const owner = {
      ended: () => (ends += 1),
      released: () => assert.fail(),
      localFailed: () => assert.fail(),
      unansweredBy: () => assert.fail(),
      inspect: () => assert.fail(),
    };
    new Bridge(stream, local, undefined, deadlines, owner).start();
    assert.equal(stream.ended, 1011);
    assert.equal(ends, 1);
  });

  type World = Awaited<ReturnType<typeof setUpBridge>>;

  /** The service answers the first request. */
  async function exchange({ stream, service }: World): Promise<void> {
    service.write(ANSWER);
    await stream.until(({ sent }) => sent === ANSWER);
  }

  const endings: Record<string, (it: World) => unknown> = {
    'after one complete exchange': exchange,
    'when a second request came': async (it) => {
      await exchange(it);
      it.stream.receive(GET);
    },
    'if the response is incomplete': async ({ stream, service }) => {
      service.write(ANSWER.slice(0, -1));
      await stream.until(({ sent }) => sent.length > 0);
    },
    'if the service has ended it': async ({ stream, service }) => {
      service.end(ANSWER);
      await stream.until(({ ended }) => ended === 1000);
    },
  };
  for (const [when, act, code] of [
    ...Object.entries(endings).map((ending) => [...ending, 1000] as const),
    ['when the visitor left', exchange, 1001],
    ['when the relay was lost', exchange, 1006],
  ] as const) {
    const isFree = when.startsWith('after');
    it(`${isFree ? 'releases' : 'does not release'} the local connection ${when}`, async () => {
      const it = await setUpBridge(GET_LINE);
      assert.equal(await read(it.service, GET.length), GET);
      await act(it);
      it.stream.closeByRelay(code);
      if (isFree) assert.ok(it.local.isOpen);
      else {
        it.service.end().resume();
        await it.ended;
      }
      assert.deepEqual(it.released, isFree ? [it.local] : []);
    });
  }

  for (const [name, close] of Object.entries({
    ends: (service: Socket): void => void service.end(),
    resets: (service: Socket): void => void service.resetAndDestroy(),
  })) {
    it(`returns the data socket to its owner when the service ${name} without a response`, async () => {
      const { stream, service, ended, silences } = await setUpBridge(GET_LINE);
      close(service);
      await ended;
      assert.deepEqual([stream.ended, silences], [undefined, [GET_LINE]]);
    });

    it(`keeps the data socket when the service ${name} after another request`, async () => {
      const it = await setUpBridge(GET_LINE);
      await exchange(it);
      it.stream.receive(GET);
      close(it.service);
      it.service.resume();
      await it.ended;
      assert.deepEqual(it.silences, []);
      assert.notEqual(it.stream.ended, undefined);
    });
  }

  for (const [what, pieces, shown] of [
    [
      'responses with a 4xx status, and further pieces for as long as the owner asks',
      ['HTTP/1.1 200 OK\r\n\r\n', 'HTTP/1.1 403 Forbidden\r\n\r\n', 'one', 'two'],
      ['HTTP/1.1 403 Forbidden\r\n\r\n', 'one'],
    ],
    [
      'a response without a head, with the request',
      ['Unauthorized', 'Unauthorized again'],
      [`Unauthorized${GET}`, 'Unauthorized again'],
    ],
  ] as const) {
    it(`shows its owner ${what}`, async () => {
      const { stream, service, inspected } = await setUpBridge(GET_LINE);
      for (const piece of pieces) {
        const sent = stream.sent + piece;
        service.write(piece);
        await stream.until((now) => now.sent === sent);
      }
      assert.deepEqual(inspected, shown);
    });
  }
});
