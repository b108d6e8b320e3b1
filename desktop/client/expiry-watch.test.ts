import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { parseDuration } from '../../shared/duration.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { TUNNEL } from '../testing/fake-platform.ts';
import { ExpiryWatch } from './expiry-watch.ts';

const MINUTE = 60_000;
const running: ExpiryWatch[] = [];

/** @param aheadMs how far the relay's clock is ahead of this machine's */
function watch(minutes: number, { isKept = false, aheadMs = 0 } = {}) {
  const clock = new FakeClock();
  const begin = clock.now() + aheadMs;
  const ending = (at: number): Tunnel => ({
    ...TUNNEL,
    ttl: `${minutes}m`,
    expires_at: new Date(begin + at * MINUTE).toISOString(),
  });
  const warned: number[] = [];
  const extensions: string[] = [];
  const state = { tunnel: ending(minutes), isAway: false, calls: 0 };
  const expiry = new ExpiryWatch(state.tunnel, {
    clock,
    isKept,
    api: {
      now: () => clock.now() + aheadMs,
      getTunnel: () => (state.isAway ? Promise.reject(new Error('away')) : Promise.resolve(state.tunnel)),
      extendTunnel: extend,
    },
    warn: (_tunnel, left) => warned.push(left / MINUTE),
  });
  expiry.start();
  running.push(expiry);
  /** As a relay does: adds to the end of the tunnel. */
  function extend(_id: string, ttl = ''): Promise<Tunnel> {
    state.calls += 1;
    if (state.isAway) return Promise.reject(new Error('away'));
    const { expires_at } = state.tunnel;
    const until = Date.parse(expires_at) + (parseDuration(ttl) ?? 0) * 1000;
    extensions.push(`${ttl} at ${clock.now() / MINUTE}`);
    state.tunnel = { ...state.tunnel, expires_at: new Date(until).toISOString() };
    return Promise.resolve(state.tunnel);
  }
  async function pass(by: number): Promise<void> {
    for (let minute = 0; minute < by; minute += 1) {
      clock.advance(MINUTE);
      await turn();
    }
  }
  return { clock, expiry, state, ending, warned, extensions, pass };
}

describe('ExpiryWatch', () => {
  afterEach(() => running.splice(0).forEach((expiry) => expiry.stop()));

  it('warns 10 and 2 minutes before the end', async () => {
    const { warned, pass } = watch(60);
    await pass(49);
    assert.deepEqual(warned, []);
    await pass(11);
    assert.deepEqual(warned, [10, 2]);
  });

  it('does not warn of a short lifetime right after the start', async () => {
    const { warned, pass } = watch(5);
    await pass(5);
    assert.deepEqual(warned, [2]);
  });

  it('warns of the new end after an extension, even after the last warning', async () => {
    const { state, ending, warned, pass } = watch(20);
    state.tunnel = ending(40);
    await pass(29);
    assert.deepEqual(warned, []);
    await pass(10);
    assert.deepEqual(warned, [10, 2]);
    state.tunnel = ending(60);
    await pass(20);
    assert.deepEqual(warned, [10, 2, 10, 2]);
  });

  it('warns while the relay is unreachable, but not after the end of the tunnel', async () => {
    const { clock, expiry, state, warned, pass } = watch(15);
    state.isAway = true;
    await pass(6);
    assert.deepEqual(warned, [10]);
    expiry.stop();
    await pass(10);
    assert.deepEqual(warned, [10]);
    assert.deepEqual(clock.waiting, []);
  });

  describe('of a tunnel without a chosen lifetime', () => {
    it('extends it at half of its ttl, to an end one ttl away, for as long as it runs', async () => {
      const { clock, expiry, state, warned, extensions, pass } = watch(60, { isKept: true });
      await pass(29);
      assert.deepEqual(extensions, []);
      await pass(61);
      assert.deepEqual(extensions, ['1800s at 30', '1800s at 60', '1800s at 90']);
      assert.equal(Date.parse(state.tunnel.expires_at) - clock.now(), 60 * MINUTE);
      assert.equal(expiry.tunnel, state.tunnel);
      assert.deepEqual(warned, []);
    });

    it('goes by the clock of the relay', async () => {
      for (const aheadMs of [-120 * MINUTE, 120 * MINUTE]) {
        const { extensions, pass } = watch(60, { isKept: true, aheadMs });
        await pass(31);
        assert.deepEqual(extensions, ['1800s at 30']);
      }
    });

    it('does not extend one whose end others have moved further away', async () => {
      const { state, ending, extensions, pass } = watch(60, { isKept: true });
      state.tunnel = ending(240);
      await pass(209);
      assert.deepEqual(extensions, []);
      await pass(1);
      assert.deepEqual(extensions, ['1800s at 210']);
    });

    it('tries again, and warns 10 and 2 minutes before the end', async () => {
      const { state, warned, extensions, pass } = watch(60, { isKept: true });
      state.isAway = true;
      await pass(49);
      assert.deepEqual(warned, []);
      assert.ok(state.calls > 15, `${state.calls} tries`);
      await pass(10);
      assert.deepEqual(warned, [10, 2]);
      state.isAway = false;
      await pass(1);
      assert.equal(extensions.length, 1);
      await pass(20);
      assert.deepEqual(warned, [10, 2]);
    });

    it('warns of a short one as soon as its extension fails', async () => {
      const { state, warned, pass } = watch(4, { isKept: true });
      state.isAway = true;
      await pass(2);
      assert.deepEqual(warned, [2]);
      await pass(1);
      assert.deepEqual(warned, [2]);
    });

    it('extends it late but in time after the machine slept', async () => {
      const { clock, extensions, pass } = watch(60, { isKept: true });
      await pass(10);
      clock.sleep(45 * MINUTE, false);
      await pass(1);
      assert.deepEqual(extensions, ['3360s at 56']);
    });

    it('extends it as soon as the tunnel is online after the machine slept', async () => {
      const { clock, expiry, extensions, pass } = watch(60, { isKept: true });
      await pass(10);
      clock.sleep(45 * MINUTE, false);
      expiry.wake();
      expiry.wake();
      await turn();
      assert.deepEqual(extensions, ['3300s at 55']);
      assert.equal(clock.waiting.length, 1);
      expiry.stop();
      expiry.wake();
      assert.deepEqual(clock.waiting, []);
    });

    it('does not call a relay without end that extends nothing', async () => {
      const { clock, expiry, state, pass } = watch(1 / 30, { isKept: true });
      expiry.stop();
      assert.deepEqual(clock.waiting, []);
      const liar = new ExpiryWatch(state.tunnel, {
        clock,
        isKept: true,
        api: {
          now: () => clock.now(),
          getTunnel: () => Promise.resolve(state.tunnel),
          extendTunnel: () => {
            state.calls += 1;
            return Promise.resolve(state.tunnel);
          },
        },
      });
      liar.start();
      await pass(5);
      assert.ok(state.calls <= 10, `${state.calls} calls`);
      liar.stop();
      assert.deepEqual(clock.waiting, []);
    });
  });
});
