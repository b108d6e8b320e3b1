import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { IDLE_ATTEMPT } from '../../testing/attempts.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { closedPort, closeServers, startTcp } from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import type { DataSource } from '../data/data-dialer.ts';
import { CONNECTIONS_MAX, CONTROL_BUSY_FOR_MS } from '../limits.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { localPort } from '../local/local-service.ts';
import { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import { type ConnectionProblem, Connections } from './connections.ts';

function setUp(port: number, open: DataSource['open']) {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const problems: ConnectionProblem[] = [];
  const waiting: (() => void)[] = [];
  const connections = new Connections({
    data: { open },
    local: new LocalDialer(localPort(port), deadlines),
    deadlines,
    onProblem(problem) {
      problems.push(problem);
      waiting.shift()?.();
    },
  });
  const problem = () => new Promise<void>((resolve) => waiting.push(resolve));
  return { clock, connections, problems, problem };
}

/** Opens this data socket for every visitor. */
function opens(stream: FakeStream): DataSource['open'] {
  return (_id, handler) => {
    setImmediate(() => handler.opened(stream));
    return IDLE_ATTEMPT;
  };
}

describe('Connections', () => {
  afterEach(closeServers);

  it('pipes a visitor to the local service, and forgets the connection at its end', async () => {
    const port = await startTcp((socket) =>
      socket.on('data', (chunk) => socket.end(`got ${chunk.toString()}`)),
    );
    const stream = new FakeStream();
    const { connections, problems } = setUp(port, opens(stream));
    connections.accept('1');
    assert.equal(connections.size, 1);
    await stream.until(({ paused }) => !paused);
    stream.receive('hello');
    await stream.until(({ ended }) => ended !== undefined);
    assert.equal(stream.sent, 'got hello');
    assert.equal(stream.ended, 1000);
    assert.deepEqual(problems, []);
  });

  it('is busy with a visitor, and for a minute afterwards', async () => {
    const stream = new FakeStream();
    const { clock, connections } = setUp(await closedPort(), opens(stream));
    assert.equal(connections.isBusy, false);
    connections.accept('1');
    assert.equal(connections.isBusy, true);
    await stream.until(({ paused }) => !paused);
    stream.receive('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await stream.until(({ ended }) => ended !== undefined);
    clock.advance(CONTROL_BUSY_FOR_MS - 1);
    assert.deepEqual([connections.size, connections.isBusy], [0, true]);
    clock.advance(1);
    assert.equal(connections.isBusy, false);
  });

  it('responds instead of a service that refuses, and reports it', async () => {
    const port = await closedPort();
    const stream = new FakeStream();
    const { connections, problems } = setUp(port, opens(stream));
    connections.accept('1');
    await stream.until(({ paused }) => !paused);
    stream.receive('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await stream.until(({ ended }) => ended !== undefined);
    assert.match(stream.sent, /^HTTP\/1\.1 502 /);
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['local-refused'],
    );
    assert.equal(connections.size, 0);
  });

  const failures: [string, RelayRefusal | RelayUnreachable, string][] = [
    ['a visitor that has left', new RelayRefusal(404, 'connection not found'), 'visitor-gone'],
    ['a relay that refuses', new RelayRefusal(503, 'service unavailable'), 'data-refused'],
    ['a relay that is away', new RelayUnreachable('it did not respond in time'), 'data-failed'],
  ];
  for (const [name, error, code] of failures) {
    it(`does not dial the local service after ${name}`, async () => {
      const closed = { accepted: 0, ended: 0 };
      const port = await startTcp((socket) => {
        closed.accepted += 1;
        socket.resume();
        socket.once('close', () => (closed.ended += 1));
      });
      const { connections, problems, problem } = setUp(port, (_id, handler) => {
        setImmediate(() => handler.failed(error));
        return IDLE_ATTEMPT;
      });
      connections.accept('1');
      await problem();
      assert.deepEqual(
        problems.map((entry) => entry.code),
        [code],
      );
      await Promise.resolve();
      assert.equal(connections.size, 0);
    });
  }

  it('rejects visitors beyond the limit', () => {
    const { connections, problems } = setUp(1, () => IDLE_ATTEMPT);
    for (let count = 0; count < CONNECTIONS_MAX; count++) connections.accept(String(count));
    assert.deepEqual(problems, []);
    connections.accept('one more');
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['too-many-connections'],
    );
    connections.cut();
  });

  it('cuts everything, including connections being opened', async () => {
    let cancelled = 0;
    const port = await startTcp((socket) => socket.resume());
    const { connections, problems } = setUp(port, () => ({ cancel: () => (cancelled += 1) }));
    connections.accept('1');
    connections.accept('2');
    connections.cut();
    assert.deepEqual([cancelled, connections.size], [2, 0]);
    assert.deepEqual(problems, []);
  });

  it('responds instead of a service that closes without a response, and reports it', async () => {
    const port = await startTcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const stream = new FakeStream();
    const { connections, problems } = setUp(port, opens(stream));
    connections.acceptStream(stream, Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
    await stream.until(({ ended }) => ended !== undefined);
    assert.match(stream.sent, /^HTTP\/1\.1 502 [^]*Culvert-Error: local-reset/);
    assert.deepEqual(
      [problems.map(({ code }) => code), stream.ended, connections.size],
      [['local-reset'], 1000, 0],
    );
  });

  it('reports once that a visitor has been waiting for 30 s, and lets the visitor wait', async () => {
    const asked = Promise.withResolvers<Socket>();
    const port = await startTcp((socket) => socket.once('data', () => asked.resolve(socket)));
    const stream = new FakeStream();
    const { clock, connections, problems } = setUp(port, opens(stream));
    connections.acceptStream(stream, Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
    const service = await asked.promise;
    clock.advance(25_000);
    assert.deepEqual(problems, []);
    clock.advance(120_000);
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['local-slow'],
    );
    service.end('HTTP/1.1 200 OK\r\n\r\nlate');
    await stream.until(({ ended }) => ended === 1000);
    assert.match(stream.sent, /late$/);
  });

  for (const [keepsHost, name, answer, settings] of [
    [true, 'says that', 'HTTP/1.1 403 Forbidden\r\n\r\nBlocked request. This host ("a") is', ['Vite']],
    [true, 'says that (without a head)', 'Unauthorized', ['Next.js']],
    [false, 'does not look whether', 'HTTP/1.1 403 Forbidden\r\n\r\nBlocked request. This host ("a") is', []],
  ] as const) {
    it(`${name} the service refuses the host name`, async () => {
      const port = await startTcp((socket) => socket.once('data', () => socket.end(answer)));
      const stream = new FakeStream();
      const deadlines = new Deadlines(new FakeClock());
      const problems: ConnectionProblem[] = [];
      const connections = new Connections({
        data: { open: opens(stream) },
        local: new LocalDialer(localPort(port), deadlines),
        deadlines,
        keepsHost,
        onProblem: (problem) => void problems.push(problem),
      });
      connections.acceptStream(stream, Buffer.from('GET /_next/hmr HTTP/1.1\r\nHost: a\r\n\r\n'));
      await stream.until(({ ended }) => ended !== undefined);
      assert.deepEqual(
        problems.map(({ code }) => code),
        settings.map(() => 'host-blocked'),
      );
      for (const setting of settings) assert.match(JSON.stringify(problems), new RegExp(setting));
    });
  }
});
