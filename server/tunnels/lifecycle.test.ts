import assert from 'node:assert/strict';
import { anAccount, aTunnel } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { Expiry, Lifecycle } from './lifecycle.ts';
import { LiveTunnel } from './live-tunnel.ts';
import { TunnelRegistry } from './registry.ts';

const DAY = 86_400_000;
const ignore = (): void => {};

describe('Expiry', () => {
  const account = anAccount();
  let clock: FakeClock;
  let expired: LiveTunnel[];
  let expiry: Expiry;

  beforeEach(() => {
    clock = new FakeClock();
    expired = [];
    expiry = new Expiry(clock, (tunnel) => expired.push(tunnel));
  });

  function watched(life: number, idle = false): LiveTunnel {
    const times = { createdAt: clock.now(), expiresAt: clock.now() + life, ttl: life / 1000 };
    const tunnel = new LiveTunnel(
      { tunnel: aTunnel(account.id, { ...times, idle }), account },
      clock,
      () => {},
    );
    expiry.watch(tunnel);
    return tunnel;
  }

  /** What happens to a tunnel with these ms to live, and after how many ms it ends. */
  for (const [title, life, act, after] of [
    ['ends a tunnel at its deadline, once', 1000, () => {}, 1000],
    ['waits longer than a Node timer can', 400 * DAY, () => {}, 400 * DAY],
    [
      'ends a tunnel that was prolonged at its later deadline, with a single timer',
      1000,
      (tunnel) => tunnel.prolong(tunnel.expiresAt + 500),
      1500,
    ],
    ['ends nothing because the wall clock was set', 1000, () => clock.jump(DAY), 1000],
    ['revives nothing because the wall clock was set back', 1000, () => clock.jump(-DAY), 1000],
  ] as readonly [string, number, (tunnel: LiveTunnel) => void, number][])
    it(title, () => {
      const tunnel = watched(life);
      act(tunnel);
      assert.equal(clock.pending, 1);
      clock.advance(after - 1);
      assert.deepEqual(expired, []);
      clock.advance(1);
      assert.deepEqual([expired, clock.pending], [[tunnel], 0]);
    });

  it('never ends an idle tunnel with traffic, and keeps one timer for it', () => {
    const tunnel = watched(1000, true);
    for (let i = 0; i < 100; i += 1) {
      clock.advance(900);
      tunnel.countIn(1);
      assert.equal(clock.pending, 1);
    }
    assert.deepEqual(expired, []);
    clock.advance(1000);
    assert.deepEqual(expired, [tunnel]);
  });

  it('forgets closed tunnels', () => {
    expiry.forget(watched(1000));
    watched(1000);
    expiry.stop();
    clock.advance(2000);
    assert.deepEqual([expired, clock.pending], [[], 0]);
  });
});

describe('Lifecycle', () => {
  const account = anAccount();
  let clock: FakeClock;
  let calls: unknown[];
  let lifecycle: Lifecycle;

  beforeEach(() => {
    clock = new FakeClock();
    calls = [];
    lifecycle = new Lifecycle({
      registry: new TunnelRegistry(new Set()),
      sync: { forget: ignore, noteGone: ignore } as never,
      clock,
      log: (message, fields) => calls.push([message, fields?.['bytes_in'], fields?.['bytes_out']]),
      nameHold: 0,
      onTraffic: ignore,
      onExpired: ignore,
      onAccess: ignore,
      onTakenFromAgent: () => calls.push('taken from an agent'),
      onEnd: (_tunnel, reason) => calls.push(reason),
    });
  });

  it('ends a tunnel once, with its traffic in the log, and leaves no timer', () => {
    const tunnel = lifecycle.begin({ tunnel: aTunnel(account.id), account });
    tunnel.countIn(1);
    tunnel.countOut(2);
    assert.deepEqual([lifecycle.end(tunnel, 'closed'), lifecycle.end(tunnel, 'closed')], [true, false]);
    assert.deepEqual(calls, [['tunnel closed', 1, 2], 'closed']);
    assert.equal(clock.pending, 0);
  });

  it('reports when a person takes over the tunnel of an agent', () => {
    const tunnel = lifecycle.begin({ tunnel: aTunnel(account.id, { byAgent: true }), account });
    for (const [index, byAgent] of [true, false, false].entries())
      lifecycle.setTerms(tunnel, { ...aTunnel(account.id), byAgent }, 100 + index);
    assert.deepEqual(calls, ['taken from an agent']);
  });
});
