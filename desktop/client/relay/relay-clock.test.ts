import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { RelayClock } from './relay-clock.ts';

const MINUTE = 60_000;
const NOON = Date.parse('2026-07-10T12:00:00.000Z');

describe('RelayClock', () => {
  it("is this machine's clock until the relay has shown its own", () => {
    const clock = new FakeClock();
    const relay = new RelayClock(clock);
    for (const date of [undefined, '', 'yesterday']) relay.set(date);
    clock.advance(MINUTE);
    assert.deepEqual([relay.now(), relay.aheadMs], [MINUTE, 0]);
  });

  for (const [what, change] of [
    ['time passes', (clock: FakeClock) => clock.advance(MINUTE)],
    ['the machine sleeps', (clock: FakeClock) => clock.sleep(MINUTE, false)],
    ['the machine sleeps and one of its clocks stops', (clock: FakeClock) => clock.sleep(MINUTE, true)],
    [
      'the clock of the machine is set back',
      (clock: FakeClock) => {
        clock.sleep(-MINUTE, true);
        clock.advance(MINUTE);
      },
    ],
  ] as const) {
    it(`goes on while ${what}`, () => {
      const clock = new FakeClock();
      const relay = new RelayClock(clock);
      relay.set('Fri, 10 Jul 2026 12:00:00 GMT');
      assert.equal(relay.aheadMs, NOON - clock.now());
      change(clock);
      assert.equal(relay.now(), NOON + MINUTE);
    });
  }
});
