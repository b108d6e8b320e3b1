import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { FakeClock } from '../testing/fake-clock.ts';
import { FakeStream } from '../testing/fake-stream.ts';
import { closeServers, startTcp } from '../testing/servers.ts';
import { bridge } from './bridge.ts';
import { LocalDialer } from './local-dialer.ts';

/** A bridge between a stream the test holds and a local service the test is. */
async function setUp() {
  const clock = new FakeClock();
  const stream = new FakeStream();
  const services = new EventEmitter();
  const accepted = once(services, 'accepted') as Promise<[Socket]>;
  const port = await startTcp((socket) => services.emit('accepted', socket));
  const local = await new LocalDialer(port).connect(new AbortController().signal);
  const [service] = await accepted;
  const ended = new Promise<void>((resolve) => bridge(stream, local, clock, resolve));
  return { clock, stream, local, service, ended };
}

/** Reads until that many bytes have come. */
async function read(socket: Socket, length: number): Promise<string> {
  let got = '';
  while (got.length < length) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    got += chunk.toString('latin1');
  }
  return got;
}

describe('bridge', () => {
  afterEach(closeServers);

  it('passes bytes both ways', async () => {
    const { stream, service } = await setUp();
    stream.receive('GET / HTTP/1.1\r\n\r\n');
    assert.equal(await read(service, 18), 'GET / HTTP/1.1\r\n\r\n');
    service.write('HTTP/1.1 204 No Content\r\n\r\n');
    await stream.until(({ sent }) => sent === 'HTTP/1.1 204 No Content\r\n\r\n');
  });

  it('closes with 1000 when the service ends, behind everything it sent', async () => {
    const { stream, service, ended, local } = await setUp();
    service.end('x'.repeat(300_000));
    await stream.until(({ ended: code }) => code !== undefined);
    assert.equal(stream.ended, 1000);
    assert.equal(stream.sent.length, 300_000);
    service.resume();
    await ended;
    assert.equal(local.destroyed, true);
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
    const { stream, service, ended, clock } = await setUp();
    stream.receive('bye');
    stream.closeByRelay(1000);
    assert.equal(await read(service, 3), 'bye');
    await once(service, 'end');
    service.end();
    await ended;
    assert.deepEqual(clock.waiting, []);
  });

  it('leaves a service that does not end within 1 s', async () => {
    const { stream, service, ended, clock, local } = await setUp();
    stream.closeByRelay(1000);
    service.resume();
    await once(service, 'end');
    clock.advance(999);
    assert.equal(local.destroyed, false);
    clock.advance(1);
    await ended;
  });

  for (const code of [1001, 1006, 1011, 4001]) {
    it(`cuts the local connection at once when the stream breaks with ${code}`, async () => {
      const { stream, ended, local } = await setUp();
      stream.closeByRelay(code);
      assert.equal(local.destroyed, true);
      await ended;
    });
  }

  it('stops reading the service while the relay takes nothing', async () => {
    const { stream, service, local } = await setUp();
    stream.room = false;
    service.write('one');
    await stream.until(({ sent }) => sent === 'one');
    assert.equal(local.isPaused(), true);
    stream.drain();
    service.write('two');
    await stream.until(({ sent }) => sent === 'onetwo');
  });

  it('stops reading the relay while the service takes nothing', async () => {
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

  it('tells the relay when the service was gone before the bridge stood', async () => {
    const stream = new FakeStream();
    const port = await startTcp((socket) => socket.resume());
    const local = await new LocalDialer(port).connect(new AbortController().signal);
    local.destroy();
    let ends = 0;
    bridge(stream, local, new FakeClock(), () => (ends += 1));
    assert.equal(stream.ended, 1011);
    assert.equal(ends, 1);
  });
});
