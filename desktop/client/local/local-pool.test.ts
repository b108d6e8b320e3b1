import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { BULK_READ_BYTES, BULK_TURN_MS, loopScheduler } from '../../../shared/scheduler/fair-reads.ts';
import { connectLocal } from '../../testing/attempts.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { closeServers, startTcp } from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import { DEADLINE_TICK_MS, LOCAL_IDLE_MAX, LOCAL_IDLE_MS } from '../limits.ts';
import { LocalDialer } from './local-dialer.ts';
import { type LocalConnection, localPort } from './local-service.ts';
import { LocalPool, reuse } from './local-pool.ts';

/** A pool with `count` connections to a service that the test plays. */
async function setUp(count: number) {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const pool = new LocalPool(deadlines);
  const services: Socket[] = [];
  const port = await startTcp((socket) => services.push(socket.resume()));
  const locals: LocalConnection[] = [];
  while (locals.length < count) {
    const local = await connectLocal(new LocalDialer(localPort(port), deadlines));
    locals.push(local);
    pool.put(local);
  }
  return { clock, deadlines, pool, services, locals };
}

/** Uses up the time that a turn of the event loop has for large data. */
function useUpTurn(): void {
  const end = performance.now() + BULK_TURN_MS;
  while (performance.now() < end);
}

/** Lets the event loop run until the condition holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('LocalPool', () => {
  afterEach(closeServers);

  it('hands out the connection used last, and each only once', async () => {
    const { pool, locals, deadlines } = await setUp(2);
    assert.deepEqual([pool.take(), pool.take(), pool.take()], [locals[1], locals[0], undefined]);
    assert.equal(deadlines.size, 0);
  });

  it('closes connections that stay unused', async () => {
    const { clock, pool, services, locals } = await setUp(1);
    clock.advance(LOCAL_IDLE_MS + DEADLINE_TICK_MS);
    assert.equal(pool.size, 0);
    assert.equal(locals[0]?.isOpen, false);
    await until(() => services[0]?.readableEnded === true);
  });

  const reasons: Record<string, (service: Socket) => void> = {
    'sends something': (service) => service.write('x'),
    'ends it': (service) => service.end(),
    'resets it': (service) => service.resetAndDestroy(),
  };
  for (const [name, act] of Object.entries(reasons)) {
    it(`drops an idle connection when the service ${name}`, async () => {
      const { pool, services, locals, deadlines } = await setUp(1);
      await until(() => services.length === 1);
      for (const service of services) act(service);
      await until(() => pool.size === 0);
      assert.deepEqual([locals[0]?.isOpen, deadlines.size], [false, 0]);
    });
  }

  it('does not hand out a connection with data that waits for its turn', async () => {
    const { pool, services, locals } = await setUp(1);
    await until(() => services.length === 1);
    services[0]?.write(Buffer.alloc(BULK_READ_BYTES));
    const others = {};
    await until(() => {
      // One for the rest of this turn, and one that is first in the next.
      loopScheduler.run(others, useUpTurn);
      loopScheduler.run(others, useUpTurn);
      return locals[0]?.isQuiet === false || pool.size === 0;
    });
    assert.equal(pool.size, 1);
    assert.equal(pool.take(), undefined);
    assert.deepEqual([pool.size, locals[0]?.isOpen], [0, false]);
  });

  it('does not keep a connection that is closed, paused or above the limit', async () => {
    const { pool, locals } = await setUp(LOCAL_IDLE_MAX + 1);
    assert.equal(pool.size, LOCAL_IDLE_MAX);
    assert.equal(locals.at(-1)?.isOpen, false);
    const local = pool.take();
    local?.pause();
    if (local !== undefined) pool.put(local);
    const closed = pool.take();
    closed?.destroy();
    if (closed !== undefined) pool.put(closed);
    assert.equal(pool.size, LOCAL_IDLE_MAX - 2);
    assert.equal(local?.isOpen, false);
  });

  it('closes all connections', async () => {
    const { pool, locals, deadlines } = await setUp(3);
    pool.clear();
    assert.deepEqual([pool.size, deadlines.size], [0, 0]);
    assert.ok(locals.every(({ isOpen }) => !isOpen));
  });
});

/** Sends a request over a used connection. `act` is the service's reaction. */
async function attempt(act: (service: Socket) => void): Promise<string> {
  const { pool, services } = await setUp(1);
  const local = pool.take();
  assert.ok(local);
  await until(() => services.length === 1);
  const [service] = services;
  assert.ok(service);
  const outcome = new Promise<string>((resolve, reject) => {
    const events: string[] = [];
    const tell = (event: string): void => {
      events.push(event);
      if (events.length > 1) reject(new Error(events.join()));
      setImmediate(resolve, event);
    };
    reuse(local, Buffer.from('request'), {
      answered: (_local, first) => tell(`answered ${first.toString()}`),
      unanswered: () => tell('unanswered'),
    });
  });
  assert.equal(String((await once(service, 'data'))[0]), 'request');
  act(service);
  return await outcome;
}

describe('reuse', () => {
  afterEach(closeServers);

  it('reports the first bytes of a response', async () => {
    assert.equal(await attempt((service) => service.write('HTTP/1.1 2')), 'answered HTTP/1.1 2');
  });

  const endings: Record<string, (service: Socket) => void> = {
    'ends the connection': (service) => service.end(),
    'resets the connection': (service) => service.resetAndDestroy(),
    'says that the connection was idle too long': (service) =>
      service.write('HTTP/1.1 408 Request Timeout\r\n'),
  };
  for (const [name, act] of Object.entries(endings)) {
    it(`reports that there is no response when the service ${name}`, async () => {
      assert.equal(await attempt(act), 'unanswered');
    });
  }

  it('reports nothing after it is cancelled', async () => {
    const { pool, services } = await setUp(1);
    const local = pool.take();
    assert.ok(local);
    const handler = { answered: () => assert.fail(), unanswered: () => assert.fail() };
    reuse(local, Buffer.from('request'), handler).cancel();
    await until(() => services[0]?.readableEnded === true);
    assert.equal(local.isOpen, false);
  });
});
