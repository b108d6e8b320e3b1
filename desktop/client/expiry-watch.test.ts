import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { parseDuration } from '../../shared/duration.ts';
import { checkAsyncScript } from '../../shared/testing/script.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { TUNNEL } from '../testing/fake-platform.ts';
import { ExpiryWatch } from './expiry-watch.ts';

const MINUTE = 60_000;

/** A watch over a tunnel of a relay that the test plays, and what it does. */
class Watched {
  readonly clock = new FakeClock();
  readonly expiry: ExpiryWatch;
  #tunnel: Tunnel;
  #isAway = false;
  #tries = 0;
  #did: string[] = [];

  /** @param aheadMs how far the relay's clock is ahead of this machine's */
  constructor(minutes: number, isKept: boolean, aheadMs = 0) {
    this.#tunnel = { ...TUNNEL, ttl: `${minutes}m`, expires_at: this.#at(minutes + aheadMs / MINUTE) };
    this.expiry = new ExpiryWatch(this.#tunnel, {
      clock: this.clock,
      isKept,
      api: {
        now: () => this.clock.now() + aheadMs,
        getTunnel: () => (this.#isAway ? Promise.reject(new Error('away')) : Promise.resolve(this.#tunnel)),
        extendTunnel: (_id, ttl) => this.#extend(ttl),
      },
      warn: (left) => this.#did.push(`warns of ${left / MINUTE} min`),
    });
    this.expiry.start();
  }

  #at(minutes: number): string {
    return new Date(minutes * MINUTE).toISOString();
  }

  /** As a relay does: adds to the end of the tunnel. */
  #extend(ttl = ''): Promise<Tunnel> {
    if (this.#isAway) this.#tries += 1;
    if (this.#isAway) return Promise.reject(new Error('away'));
    const until = Date.parse(this.#tunnel.expires_at) / MINUTE + (parseDuration(ttl) ?? 0) / 60;
    this.#did.push(`extends by ${ttl} at ${this.clock.now() / MINUTE}`);
    this.#tunnel = { ...this.#tunnel, expires_at: this.#at(until) };
    return Promise.resolve(this.#tunnel);
  }

  /** Takes a step of {@link SCRIPTS}. @returns what happened */
  async step(step: string): Promise<string> {
    const [what, minutes] = step.split(' ');
    if (what === 'pass')
      for (let minute = 0; minute < Number(minutes); minute += 1) {
        this.clock.advance(MINUTE);
        await turn();
      }
    else if (what === 'sleep') this.clock.sleep(Number(minutes) * MINUTE, false);
    else if (what === 'end') this.#tunnel = { ...this.#tunnel, expires_at: this.#at(Number(minutes)) };
    else if (step === 'wake twice') [1, 2].forEach(() => this.expiry.wake());
    else if (what === 'stop' || what === 'wake') this.expiry[what]();
    else if (what === 'away' || what === 'back') this.#isAway = what === 'away';
    else assert.fail(step);
    await turn();
    if (this.#did.some((one) => one.startsWith('extends'))) assert.equal(this.expiry.tunnel, this.#tunnel);
    if (this.#tries > 0) this.#did.push(`${this.#tries} tries`);
    this.#tries = 0;
    if (this.clock.waiting.length !== 1) this.#did.push(`${this.clock.waiting.length} timers`);
    return this.#did.splice(0).join(', ');
  }
}

type Row = readonly [title: string, minutes: number, script: string, aheadMinutes?: number];

const CHOSEN: readonly Row[] = [
  ['warns 10 and 2 minutes before the end', 60, 'pass 49; pass 11: warns of 10 min, warns of 2 min'],
  ['does not warn of a short lifetime right after the start', 5, 'pass 5: warns of 2 min'],
  [
    'warns of the new end after an extension, even after the last warning',
    20,
    'end 40; pass 29; pass 10: warns of 10 min, warns of 2 min; end 60; pass 20: warns of 10 min, warns of 2 min',
  ],
  [
    'warns while the relay is unreachable, but not after the end of the tunnel',
    15,
    'away; pass 6: warns of 10 min; stop: 0 timers; pass 10: 0 timers',
  ],
];

const KEPT: readonly Row[] = [
  [
    'is extended at half of its ttl, to an end one ttl away, for as long as it runs',
    60,
    'pass 29; pass 61: extends by 1800s at 30, extends by 1800s at 60, extends by 1800s at 90',
  ],
  ['is extended by the clock of a relay that is behind', 60, 'pass 31: extends by 1800s at 30', -120],
  ['is extended by the clock of a relay that is ahead', 60, 'pass 31: extends by 1800s at 30', 120],
  [
    'is not extended while others have moved its end further away',
    60,
    'end 240; pass 209; pass 1: extends by 1800s at 210',
  ],
  [
    'is tried again, with warnings 10 and 2 minutes before the end',
    60,
    'away; pass 49: 20 tries; pass 10: warns of 10 min, warns of 2 min, 10 tries; back; pass 1: extends by 3600s at 60; pass 20',
  ],
  [
    'causes a warning if it is short as soon as its extension fails',
    4,
    'away; pass 2: warns of 2 min, 1 tries; pass 1: 1 tries',
  ],
  [
    'is extended late but in time after the machine slept',
    60,
    'pass 10; sleep 45; pass 1: extends by 3360s at 56',
  ],
  [
    'is extended as soon as the tunnel is online after the machine slept',
    60,
    'pass 10; sleep 45; wake twice: extends by 3300s at 55; stop: 0 timers; wake: 0 timers',
  ],
];

/** Declares a test for each row. */
function each(rows: readonly Row[], isKept: boolean): void {
  for (const [title, minutes, script, aheadMinutes = 0] of rows)
    it(title, async () => {
      const watched = new Watched(minutes, isKept, aheadMinutes * MINUTE);
      await checkAsyncScript(script, (step) => watched.step(step));
      watched.expiry.stop();
      assert.deepEqual(watched.clock.waiting, []);
    });
}

describe('ExpiryWatch', () => each(CHOSEN, false));

describe('a tunnel without a chosen lifetime', () => {
  each(KEPT, true);

  it('does not cause calls without end of a relay that extends nothing', async () => {
    const clock = new FakeClock();
    let calls = 0;
    const tunnel = { ...TUNNEL, expires_at: new Date(2000).toISOString() };
    const liar = new ExpiryWatch(tunnel, {
      clock,
      isKept: true,
      warn() {},
      api: {
        now: () => clock.now(),
        getTunnel: () => Promise.resolve(tunnel),
        extendTunnel: () => {
          calls += 1;
          return Promise.resolve(tunnel);
        },
      },
    });
    liar.start();
    for (let minute = 0; minute < 5; minute += 1) {
      clock.advance(MINUTE);
      await turn();
    }
    assert.ok(calls > 0 && calls <= 10, `${calls} calls`);
    liar.stop();
    assert.deepEqual(clock.waiting, []);
  });
});
