import assert from 'node:assert/strict';
import { PULSE_LEAP_MS, PULSE_MS } from '../limits.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { Pulse } from './pulse.ts';

/** Tells when it was looked at. */
class WatchedClock extends FakeClock {
  readonly #seen: (at: number) => void;

  constructor(seen: (at: number) => void) {
    super();
    this.#seen = seen;
  }

  override monotonic(): number {
    const now = super.monotonic();
    this.#seen(now);
    return now;
  }
}

describe('Pulse', () => {
  it('looks every 500 ms by itself, so that it knows without being asked', () => {
    const looks: number[] = [];
    const clock = new WatchedClock((at) => looks.push(at));
    const pulse = new Pulse(clock, { leapt: () => assert.fail('there was no pause'), steady() {} });
    const begin = clock.monotonic();
    pulse.start();
    looks.length = 0;
    clock.advance(1500);
    assert.deepEqual(
      looks.map((at) => at - begin),
      [500, 1000, 1500],
    );
    assert.equal(PULSE_MS, 500);
    pulse.stop();
  });

  it('is not steady after standing still for 3 s, until it is clear what that means', async () => {
    const clock = new FakeClock();
    const leaps: number[] = [];
    let steady = 0;
    const foundOut = Promise.withResolvers<void>();
    const pulse = new Pulse(clock, {
      leapt(ms) {
        leaps.push(ms);
        return foundOut.promise;
      },
      steady: () => (steady += 1),
    });
    pulse.start();
    clock.advance(60_000);
    assert.equal(pulse.isSteady, true);
    pulse.stop();
    clock.advance(PULSE_LEAP_MS - 1);
    assert.equal(pulse.isSteady, true);
    clock.advance(PULSE_LEAP_MS);
    assert.equal(pulse.isSteady, false);
    clock.advance(10);
    assert.equal(pulse.isSteady, false);
    foundOut.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([pulse.isSteady, leaps, steady], [true, [PULSE_LEAP_MS], 1]);
  });
});
