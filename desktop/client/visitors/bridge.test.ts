import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { connectLocal } from '../../testing/attempts.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { closeServers, startTcp } from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import { DEADLINE_TICK_MS, LOCAL_BLOCKED_LOOK_MS, LOCAL_BLOCKED_MS, LOCAL_LINGER_MS } from '../limits.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { type LocalConnection, localPort } from '../local/local-service.ts';
import { LocalExchange } from '../local/local-exchange.ts';
import { Bridge } from './bridge.ts';

const GET = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/**
 * A bridge between a stream and a local service, both controlled by the test.
 *
 * @param request what the bridge sends first, and whose exchange it follows
 */
async function setUp(request?: Buffer) {
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
    const { stream, service } = await setUp();
    stream.receive('GET / HTTP/1.1\r\n\r\n');
    assert.equal(await read(service, 18), 'GET / HTTP/1.1\r\n\r\n');
    service.write('HTTP/1.1 204 No Content\r\n\r\n');
    await stream.until(({ sent }) => sent === 'HTTP/1.1 204 No Content\r\n\r\n');
  });

  it('closes with 1000 when the service ends, after everything it sent', async () => {
    const { stream, service, ended, local } = await setUp();
    service.end('x'.repeat(300_000));
    await stream.until(({ ended: code }) => code !== undefined);
    assert.equal(stream.ended, 1000);
    assert.equal(stream.sent.length, 300_000);
    service.resume();
    await ended;
    assert.equal(local.isOpen, false);
  });

  it('closes with 1011 when the service resets', async () => {
    const { stream, service, ended } = await setUp();
    service.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf');
    await stream.until(({ sent }) => sent.endsWith('half'));
    service.resetAndDestroy();
    await ended;
    assert.equal(stream.ended, 1011);
  });

  it('ends the local connection when the relay closes cleanly', async () => {
    const { stream, service, ended, deadlines } = await setUp();
    stream.receive('bye');
    stream.closeByRelay(1000);
    assert.equal(await read(service, 3), 'bye');
    await once(service, 'end');
    service.end();
    await ended;
    assert.equal(deadlines.size, 0);
  });

  it('disconnects a service that does not end within 1 s', async () => {
    const { stream, service, ended, clock, deadlines } = await setUp();
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
      const { stream, ended, local } = await setUp();
      stream.closeByRelay(code);
      assert.equal(local.isOpen, false);
      await ended;
    });
  }

  it('stops reading from the service while the relay reads nothing', async () => {
    const { stream, service, local } = await setUp();
    stream.room = false;
    service.write('one');
    await stream.until(({ sent }) => sent === 'one');
    assert.equal(local.isQuiet, false);
    stream.drain();
    service.write('two');
    await stream.until(({ sent }) => sent === 'onetwo');
  });

  it('stops reading from the relay while the service reads nothing', async () => {
    const { stream, service } = await setUp();
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
    const { stream, service, clock, deadlines } = await setUp();
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
      const { stream, ended, clock } = await setUp();
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

  it('releases the local connection after one complete exchange', async () => {
    const { stream, service, local, released } = await setUp(GET);
    assert.equal(await read(service, GET.length), GET.toString());
    service.write(ANSWER);
    await stream.until(({ sent }) => sent === ANSWER);
    stream.closeByRelay(1000);
    assert.deepEqual(released, [local]);
    assert.ok(local.isOpen);
  });

  const kept: Record<string, (stream: FakeStream) => void> = {
    'a second request came': (stream) => {
      stream.receive(GET);
      stream.closeByRelay(1000);
    },
    'the visitor left': (stream) => stream.closeByRelay(1001),
    'the relay was lost': (stream) => stream.closeByRelay(1006),
  };
  for (const [name, end] of Object.entries(kept)) {
    it(`does not release it when ${name}`, async () => {
      const { stream, service, released, ended } = await setUp(GET);
      service.write(ANSWER);
      await stream.until(({ sent }) => sent === ANSWER);
      end(stream);
      service.end().resume();
      await ended;
      assert.deepEqual(released, []);
    });
  }

  it('does not release it if the response is incomplete', async () => {
    const { stream, service, released, ended } = await setUp(GET);
    service.write(ANSWER.slice(0, -1));
    await stream.until(({ sent }) => sent.length > 0);
    stream.closeByRelay(1000);
    service.end().resume();
    await ended;
    assert.deepEqual(released, []);
  });

  it('does not release it if the service has ended it', async () => {
    const { stream, service, released, ended } = await setUp(GET);
    service.end(ANSWER);
    await stream.until(({ ended: code }) => code === 1000);
    stream.closeByRelay(1000);
    service.resume();
    await ended;
    assert.deepEqual(released, []);
  });

  for (const [name, close] of Object.entries({
    ends: (service: Socket): void => void service.end(),
    resets: (service: Socket): void => void service.resetAndDestroy(),
  })) {
    it(`returns the data socket to its owner when the service ${name} without a response`, async () => {
      const { stream, service, ended, silences } = await setUp(GET);
      close(service);
      await ended;
      assert.deepEqual([stream.ended, silences], [undefined, [GET]]);
    });

    it(`keeps the data socket when the service ${name} after another request`, async () => {
      const { stream, service, ended, silences } = await setUp(GET);
      service.write(ANSWER);
      await stream.until(({ sent }) => sent === ANSWER);
      stream.receive(GET);
      close(service);
      service.resume();
      await ended;
      assert.deepEqual(silences, []);
      assert.notEqual(stream.ended, undefined);
    });
  }

  it('shows its owner responses with a 4xx status, and further pieces for as long as the owner asks', async () => {
    const { stream, service, inspected } = await setUp(GET);
    for (const piece of ['HTTP/1.1 200 OK\r\n\r\n', 'HTTP/1.1 403 Forbidden\r\n\r\n', 'one', 'two']) {
      const sent = stream.sent + piece;
      service.write(piece);
      await stream.until((now) => now.sent === sent);
    }
    assert.deepEqual(inspected, ['HTTP/1.1 403 Forbidden\r\n\r\n', 'one']);
  });

  it('shows its owner a response without a head, with the request', async () => {
    const { stream, service, inspected } = await setUp(GET);
    for (const piece of ['Unauthorized', 'Unauthorized again']) {
      const sent = stream.sent + piece;
      service.write(piece);
      await stream.until((now) => now.sent === sent);
    }
    assert.deepEqual(inspected, [`Unauthorized${GET.toString()}`, 'Unauthorized again']);
  });
});
