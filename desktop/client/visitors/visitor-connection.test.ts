import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { IDLE_ATTEMPT } from '../../testing/attempts.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { closedPort, closeServers, startTcp } from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import type { DataHandler } from '../data/data-dialer.ts';
import { type FilterMaker, StreamFilter } from '../data/stream-filter.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { localPort } from '../local/local-service.ts';
import { textOf } from '../messages.ts';
import { Connections } from './connections.ts';

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

  it('responds with the error page when the service has stopped in the meantime', async () => {
    const deadlines = new Deadlines(new FakeClock());
    const problems: string[] = [];
    const connections = new Connections({
      data: { open: () => IDLE_ATTEMPT },
      local: new LocalDialer(localPort(await closedPort()), deadlines),
      deadlines,
      onProblem: ({ code }) => problems.push(code),
    });
    const stream = new FakeStream();
    connections.acceptStream(stream, Buffer.from(GET.slice(0, 10)));
    stream.receive(GET.slice(10));
    await stream.until(({ ended }) => ended !== undefined);
    assert.match(stream.sent, /^HTTP\/1\.1 502 /);
    connections.cut();
    assert.deepEqual([problems, connections.size, deadlines.size], [['local-refused'], 0, 0]);
  });

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
