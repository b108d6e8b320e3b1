import assert from 'node:assert/strict';
import { FakeClock } from '../testing/fake-clock.ts';
import {
  CHANGE_LEAP_MS,
  CHANGE_POLL_MS,
  ChangeNotifier,
  NewsSeal,
  readNews,
  type RelayNews,
} from './notifications.ts';

const SECRET = 's'.repeat(32);
const TUNNEL = '0b9d7c52-5a4e-4d3c-9d0a-3f1f6b1f2a77';

describe('NewsSeal', () => {
  const sender = new NewsSeal('one', SECRET);
  const receiver = new NewsSeal('two', SECRET);
  const news = { kind: 'ended', id: TUNNEL, reason: 'closed' } as const;

  it('lets only relays with the same secret read each other', () => {
    const sealed = sender.seal(news);
    assert.deepEqual(readNews(sealed, receiver), news);
    assert.deepEqual(readNews(sealed, sender), news);
    assert.equal(readNews(sealed, new NewsSeal('two', 't'.repeat(32))), undefined);
    for (const word of [TUNNEL, 'closed']) assert.ok(!sealed.includes(word));
  });

  it('is one word after two others, and never the same twice', () => {
    assert.match(sender.seal(news), /^sealed one [\w-]+$/);
    assert.notEqual(sender.seal(news), sender.seal(news));
  });

  it('breaks with any change, even of the sender', () => {
    const sealed = sender.seal(news);
    for (let at = 'sealed '.length; at < sealed.length - 1; at += 1) {
      const changed = sealed.slice(0, at) + (sealed[at] === 'a' ? 'b' : 'a') + sealed.slice(at + 1);
      assert.equal(readNews(changed, receiver), undefined, `at ${at}`);
    }
    for (const other of ['sealed', 'sealed one', 'sealed one x', `${sealed} more`, sealed.slice(0, -8)])
      assert.equal(readNews(other, receiver), undefined, other);
  });

  it('is required for messages that only a relay may send', () => {
    const all: readonly RelayNews[] = [
      news,
      { kind: 'leaving', incarnation: 'one' },
      { kind: 'extended', id: TUNNEL, expiresAt: 5 },
      { kind: 'created', slug: 'web', domain: '' },
      { kind: 'problem', tunnelId: TUNNEL, problem: { code: 'local-malformed', detail: 'SSH-2.0 x' } },
      { kind: 'missed' },
    ];
    for (const each of all) {
      assert.equal(readNews(JSON.stringify(each), receiver), undefined);
      assert.equal(readNews(Object.values(each).join(' '), receiver), undefined);
      assert.deepEqual(readNews(sender.seal(each), receiver), each);
    }
  });

  it('is not on messages of Redis itself', () => {
    const texts = [
      `replaced ${TUNNEL} 7`,
      `online ${TUNNEL} one`,
      `offline ${TUNNEL}`,
      `relay 7 one 10.0.0.1:8081~${'0'.repeat(64)}`,
    ];
    for (const each of texts) assert.equal(readNews(each, receiver)?.kind, each.split(' ')[0]);
    assert.equal(readNews('unheard of', receiver), undefined);
  });
});

/** Records when it was read. */
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

describe('ChangeNotifier', () => {
  it('checks every 500 ms by itself, so that the state is known without a check', () => {
    const looks: number[] = [];
    const clock = new WatchedClock((at) => looks.push(at));
    const pulse = new ChangeNotifier(clock, { leapt: () => assert.fail('there was no pause'), steady() {} });
    const begin = clock.monotonic();
    pulse.start();
    looks.length = 0;
    clock.advance(1500);
    assert.deepEqual(
      looks.map((at) => at - begin),
      [500, 1000, 1500],
    );
    assert.equal(CHANGE_POLL_MS, 500);
    pulse.stop();
  });

  it('is not steady after a pause of 3 s, until its consequences are clear', async () => {
    const clock = new FakeClock();
    const leaps: number[] = [];
    let steady = 0;
    const foundOut = Promise.withResolvers<void>();
    const pulse = new ChangeNotifier(clock, {
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
    clock.advance(CHANGE_LEAP_MS - 1);
    assert.equal(pulse.isSteady, true);
    clock.advance(CHANGE_LEAP_MS);
    assert.equal(pulse.isSteady, false);
    clock.advance(10);
    assert.equal(pulse.isSteady, false);
    foundOut.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([pulse.isSteady, leaps, steady], [true, [CHANGE_LEAP_MS], 1]);
  });
});
