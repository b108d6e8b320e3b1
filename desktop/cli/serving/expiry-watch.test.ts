import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { TUNNEL } from '../../testing/tunnel.ts';
import { ExpiryWatch } from './expiry-watch.ts';

const MINUTE = 60_000;

function watch(minutes: number) {
  const clock = new FakeClock();
  const begin = clock.now();
  const ending = (at: number): Tunnel => ({
    ...TUNNEL,
    expires_at: new Date(begin + at * MINUTE).toISOString(),
  });
  const warned: number[] = [];
  const state = { tunnel: ending(minutes), isAway: false };
  const expiry = new ExpiryWatch({
    clock,
    fetchTunnel: () => (state.isAway ? Promise.reject(new Error('away')) : Promise.resolve(state.tunnel)),
    warn: (_tunnel, left) => warned.push(left / MINUTE),
  });
  expiry.start(state.tunnel);
  async function pass(by: number): Promise<void> {
    for (let minute = 0; minute < by; minute += 1) {
      clock.advance(MINUTE);
      await turn();
    }
  }
  return { clock, expiry, state, ending, warned, pass };
}

describe('ExpiryWatch', () => {
  it('warns 10 and 2 minutes before the end', async () => {
    const { expiry, warned, pass } = watch(60);
    await pass(49);
    assert.deepEqual(warned, []);
    await pass(11);
    assert.deepEqual(warned, [10, 2]);
    expiry.stop();
  });

  it('does not warn at once of a short life', async () => {
    const { expiry, warned, pass } = watch(5);
    await pass(5);
    assert.deepEqual(warned, [2]);
    expiry.stop();
  });

  it('warns of the end that there is after an extension, also of one after the last warning', async () => {
    const { expiry, state, ending, warned, pass } = watch(20);
    state.tunnel = ending(40);
    await pass(29);
    assert.deepEqual(warned, []);
    await pass(10);
    assert.deepEqual(warned, [10, 2]);
    state.tunnel = ending(60);
    await pass(20);
    assert.deepEqual(warned, [10, 2, 10, 2]);
    expiry.stop();
  });

  it('warns while the relay is away, and not once the tunnel is over', async () => {
    const { clock, expiry, state, warned, pass } = watch(15);
    state.isAway = true;
    await pass(6);
    assert.deepEqual(warned, [10]);
    expiry.stop();
    await pass(10);
    assert.deepEqual(warned, [10]);
    assert.deepEqual(clock.waiting, []);
  });
});
