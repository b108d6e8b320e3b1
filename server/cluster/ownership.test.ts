import assert from 'node:assert/strict';
import type { HeldControl } from '../clients/ownership.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { Membership } from './members.ts';
import { ALL_CHANNEL, NewsSeal, readNews } from './notifications.ts';
import {
  LEAP_CHECK_MS,
  LEAP_RETRY_MS,
  OWNERSHIP_BATCH,
  OWNERSHIP_KEEP_MS,
  OWNERSHIP_REPEAT_MS,
  OwnershipRenewal,
  RedisOwnership,
} from './ownership.ts';
import { RedisError } from './redis-client.ts';
import { ASSERT, CLAIM, FIND, LEASE, RELAYS, RELEASE, type Script } from './scripts.ts';

/** Waits until everything that is in progress in memory is done. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('RedisOwnership', () => {
  let replies: Map<Script, unknown>;
  let calls: (readonly (string | number)[])[];
  let ownership: RedisOwnership;
  let replaced: string[];
  const seal = new NewsSeal('me', 's'.repeat(32));

  beforeEach(async () => {
    calls = [];
    replaced = [];
    replies = new Map<Script, unknown>([
      [LEASE, 2],
      [RELAYS, []],
      [CLAIM, '5'],
      [ASSERT, []],
      [RELEASE, null],
    ]);
    const redis = {
      run: (script: Script, ...args: readonly (string | number)[]) => {
        calls.push([script.name, ...args]);
        const reply = replies.get(script);
        return reply === undefined ? Promise.reject(new RedisError()) : Promise.resolve(reply);
      },
    };
    const membership = new Membership(
      redis,
      { incarnation: 'me', host: 'h', port: 1 },
      's'.repeat(32),
      () => {},
    );
    await membership.renew();
    ownership = new RedisOwnership({
      redis: { ...redis, publish: (channel, text) => void calls.push(['publish', channel, text]) },
      membership,
      pulse: { isSteady: true },
      secret: 's'.repeat(32),
      seal,
      clock: new FakeClock(),
    });
    calls = [];
  });

  function held(tunnelId: string): HeldControl {
    return { tunnelId, keyId: 'key', replaced: () => replaced.push(tunnelId) };
  }

  it('finds a control socket on another relay, or none, or reports that no relay can be asked', async () => {
    replies.set(FIND, 'other');
    assert.deepEqual(await ownership.find('t'), { kind: 'there', relay: 'other' });
    assert.deepEqual(calls, [['culvertFind', 't', 'me']]);
    replies.set(FIND, 1200);
    assert.deepEqual(await ownership.find('t'), { kind: 'away', ms: 1200 });
    replies.delete(FIND);
    assert.deepEqual(await ownership.find('t'), { kind: 'apart' });
  });

  it('drops a control socket if another relay has a newer one, and no other', async () => {
    void ownership.claim(held('one'));
    await settled();
    ownership.replaced('one', 4);
    ownership.replaced('two', 9);
    assert.deepEqual(replaced, []);
    ownership.replaced('one', 6);
    assert.deepEqual(replaced, ['one']);
  });

  it('knows which of two is newer even if it learns of the other before it has its own number', async () => {
    void ownership.claim(held('older'));
    ownership.replaced('older', 6);
    void ownership.claim(held('newer'));
    ownership.replaced('newer', 4);
    await settled();
    assert.deepEqual(replaced, ['older']);
  });

  it('publishes everything again in batches, and drops control sockets that other relays have taken over', async () => {
    for (let tunnel = 0; tunnel <= OWNERSHIP_BATCH; tunnel += 1) void ownership.claim(held(`t${tunnel}`));
    await settled();
    calls = [];
    replies.set(ASSERT, ['t1']);
    await ownership.tellAll();
    assert.equal(calls.length, 2);
    assert.deepEqual(replaced, ['t1']);
  });

  it('makes Redis keep entries for 15 min, three times the interval between publications', async () => {
    void ownership.claim(held('one'));
    await settled();
    await ownership.tellAll();
    ownership.release(held('one'));
    const [claimed, asserted] = calls;
    assert.deepEqual([claimed?.at(-1), asserted?.[3]], [15 * 60_000, 15 * 60_000]);
    assert.equal(OWNERSHIP_KEEP_MS, 3 * OWNERSHIP_REPEAT_MS);
  });

  it('publishes that a client has left, once, and not for one that was replaced here', async () => {
    const [first, second] = [held('one'), held('one')];
    void ownership.claim(first);
    void ownership.claim(second);
    await settled();
    calls = [];
    ownership.release(first);
    assert.deepEqual(calls, []);
    ownership.release(second);
    ownership.release(second);
    assert.equal(calls.length, 1);
  });

  it('passes a problem of a tunnel to the other relays, sealed', () => {
    const tunnelId = '0b9d7c52-5a4e-4d3c-9d0a-3f1f6b1f2a77';
    const problem = { code: 'local-malformed', detail: 'SSH-2.0 x' } as const;
    ownership.tellProblem(tunnelId, problem);
    const [, channel, sealed] = calls[0] ?? [];
    const news = readNews(String(sealed), seal);
    assert.deepEqual([channel, news], [ALL_CHANNEL, { kind: 'problem', tunnelId, problem }]);
  });
});

describe('OwnershipRenewal', () => {
  let clock: FakeClock;
  let redis: { isUp: boolean };
  /** results of the next renewals: whether other relays considered this one dead, or that Redis fails */
  let found: (boolean | 'fails')[];
  /** actions and their times, in ms since the start */
  let done: string[];
  let renewal: OwnershipRenewal;

  beforeEach(() => {
    clock = new FakeClock();
    const start = clock.monotonic();
    redis = { isUp: true };
    found = [];
    done = [];
    const note = (what: string) => done.push(`${what} ${clock.monotonic() - start}`);
    const membership = {
      async renew() {
        note('renew');
        const next = found.shift() ?? false;
        if (next === 'fails') throw new RedisError();
        return await Promise.resolve(next);
      },
    };
    const ownership = {
      async tellAll() {
        note('tell');
        await Promise.resolve();
      },
    };
    renewal = new OwnershipRenewal({ redis, membership, ownership, clock, onDown: () => note('down') });
    renewal.start();
  });

  afterEach(() => renewal.stop());

  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(Math.min(100, left));
      await settled();
    }
  }

  it('checks every 500 ms, publishes everything at first, and renews its lease every 3 s', async () => {
    await pass(7000);
    assert.deepEqual(done, ['renew 500', 'tell 500', 'renew 3500', 'renew 6500']);
  });

  it('publishes everything again every 5 min', async () => {
    await pass(501_000);
    const tells = done.filter((what) => what.startsWith('tell'));
    assert.deepEqual(tells, ['tell 500', 'tell 300500']);
  });

  it('publishes everything again if other relays may have considered it dead', async () => {
    found = [false, true];
    await pass(4000);
    assert.deepEqual(done, ['renew 500', 'tell 500', 'renew 3500', 'tell 3500']);
  });

  it('tries again 500 ms after Redis has failed', async () => {
    found = ['fails', 'fails'];
    await pass(1500);
    assert.deepEqual(done, ['renew 500', 'renew 1000', 'renew 1500', 'tell 1500']);
  });

  it('reports repeatedly that Redis is down', async () => {
    redis.isUp = false;
    await pass(1000);
    assert.deepEqual(done, ['down 500', 'down 1000']);
  });

  it('tries for 5 s, every 100 ms, to find out what has moved during a pause', async () => {
    renewal.stop();
    found = Array.from({ length: 1000 }, () => 'fails');
    let isOver = false;
    void renewal.checkLeap().then(() => (isOver = true));
    await settled();
    await pass(LEAP_CHECK_MS - LEAP_RETRY_MS);
    assert.equal(isOver, false);
    await pass(LEAP_RETRY_MS);
    assert.equal(isOver, true);
    assert.deepEqual([done.length, done[1]], [LEAP_CHECK_MS / LEAP_RETRY_MS + 1, 'renew 100']);
    found = ['fails', false];
    done = [];
    const checked = renewal.checkLeap();
    await settled();
    await pass(LEAP_RETRY_MS);
    await checked;
    assert.deepEqual(done, ['renew 5000', 'renew 5100', 'tell 5100']);
  });

  it('stops on request', async () => {
    renewal.stop();
    await pass(10_000);
    assert.deepEqual([done, clock.pending], [[], 0]);
  });
});
