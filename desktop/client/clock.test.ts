import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { TIMER_STEP_MAX_MS } from '../../shared/timer.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { Deadlines, type Expiring, ProcessHold, systemClock, DEADLINE_TICK_MS } from './clock.ts';

describe('the clock of the client', () => {
  it('supports waits longer than a system timer', () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      let fired = 0;
      systemClock.setTimeout(() => (fired += 1), TIMER_STEP_MAX_MS + 1);
      mock.timers.tick(TIMER_STEP_MAX_MS);
      assert.equal(fired, 0);
      mock.timers.tick(1);
      assert.equal(fired, 1);
    } finally {
      mock.timers.reset();
    }
  });
});

const TICK = DEADLINE_TICK_MS;

function setUp() {
  const clock = new FakeClock();
  const expired: [string, number][] = [];
  const thing = (name: string): Expiring => ({ expire: () => expired.push([name, clock.now()]) });
  return { clock, deadlines: new Deadlines(clock), expired, thing };
}

describe('Deadlines', () => {
  it('expire on time, at most one tick late', () => {
    const { clock, deadlines, expired, thing } = setUp();
    deadlines.add(thing('four'), 4 * TICK);
    clock.advance(TICK / 2);
    deadlines.add(thing('two'), 2 * TICK);
    clock.advance(10 * TICK);
    assert.deepEqual(expired, [
      ['two', 3 * TICK],
      ['four', 4 * TICK],
    ]);
  });

  it('forget deleted things, and keep the latest limit of each', () => {
    const { clock, deadlines, expired, thing } = setUp();
    const [kept, gone] = [thing('kept'), thing('gone')];
    deadlines.add(kept, TICK);
    deadlines.add(gone, TICK);
    deadlines.add(kept, 3 * TICK);
    deadlines.delete(gone);
    clock.advance(10 * TICK);
    assert.deepEqual(expired, [['kept', 4 * TICK]]);
  });

  it('share one timer, and use none when empty', () => {
    const { clock, deadlines, thing } = setUp();
    for (let count = 0; count < 100; count += 1) deadlines.add(thing(String(count)), TICK);
    assert.deepEqual(clock.waiting, [TICK]);
    clock.advance(2 * TICK);
    assert.deepEqual([clock.waiting, deadlines.size], [[], 0]);
  });

  it('accept additions while something expires', () => {
    const { clock, deadlines, expired, thing } = setUp();
    deadlines.add({ expire: () => deadlines.add(thing('next'), TICK) }, TICK);
    clock.advance(2 * TICK);
    assert.deepEqual(expired, [['next', 2 * TICK]]);
    assert.deepEqual(clock.waiting, []);
  });
});

const holding = (name: string): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === name).length;

describe('ProcessHold', () => {
  it('releases the timers that a call creates, now or later, and no others', async () => {
    const hold = new ProcessHold();
    // The runner starts its own timer once this function has returned.
    await turn();
    const before = holding('Timeout');
    const other = systemClock.setTimeout(() => {}, 60_000);
    const timers = await hold.run(async () => {
      const first = systemClock.setTimeout(() => {}, 60_000);
      await Promise.resolve();
      return [first, systemClock.setTimeout(() => {}, 60_000)];
    });
    assert.equal(holding('Timeout'), before + 3);
    hold.release();
    assert.equal(holding('Timeout'), before + 1);
    timers.push(hold.run(() => systemClock.setTimeout(() => {}, 60_000)));
    assert.equal(holding('Timeout'), before + 1);
    timers.push(hold.run(() => ProcessHold.outside(() => systemClock.setTimeout(() => {}, 60_000))));
    assert.equal(holding('Timeout'), before + 2);
    for (const timer of [other, ...timers]) timer.cancel();
  });

  it('releases sockets', async () => {
    const server = createServer((socket) => socket.unref());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    server.unref();
    const before = holding('TCPSocketWrap');
    const hold = new ProcessHold();
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    hold.addSocket(socket);
    await once(socket, 'connect');
    assert.equal(holding('TCPSocketWrap'), before + 1);
    hold.release();
    assert.equal(holding('TCPSocketWrap'), before);
    socket.destroy();
    server.close();
  });
});
