import assert from 'node:assert/strict';
import { CHALLENGE_LOOKUPS_MAX } from '../limits.ts';
import type { ChallengeRecord } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { openTestStore } from '../testing/test-store.ts';
import { PresentedChallenges } from './presented.ts';

describe('PresentedChallenges', () => {
  const clock = new FakeClock();
  const challenge: ChallengeRecord = {
    type: 'http-01',
    host: 'a.test',
    token: 't',
    keyAuthorization: 't.x',
    expiresAt: clock.now() + 1000,
  };
  let store: Store;

  beforeEach(async () => {
    store = await openTestStore(() => {});
  });

  it('are found by every relay until they are withdrawn', async () => {
    const [here, there] = [1, 2].map(() => new PresentedChallenges(store, clock, false)) as [
      PresentedChallenges,
      PresentedChallenges,
    ];
    await here.solver('http-01').present(challenge);
    for (const relay of [here, there]) assert.deepEqual(await relay.find('http-01', 'a.test'), [challenge]);
    assert.deepEqual(await there.find('tls-alpn-01', 'a.test'), []);
    assert.deepEqual(await there.all('http-01'), [challenge]);
    assert.deepEqual(await there.all('dns-01'), []);
    await here.solver('http-01').withdraw(challenge);
    for (const relay of [here, there]) assert.deepEqual(await relay.find('http-01', 'a.test'), []);
  });

  it('are found by the relay that replaces the one that has presented them', async () => {
    const before = new PresentedChallenges(store, clock, true);
    await before.solver('http-01').present(challenge);
    const after = new PresentedChallenges(store, clock, false);
    assert.deepEqual(await after.find('http-01', 'a.test'), [challenge]);
    await before.solver('http-01').withdraw(challenge);
    assert.deepEqual(await after.find('http-01', 'a.test'), []);
  });

  it('need no store where a relay is alone', async () => {
    const failing = {
      ...store,
      putChallenge: fail,
      removeChallenge: fail,
      findChallenges: fail,
      listChallenges: fail,
    };
    const alone = new PresentedChallenges(failing, clock, true);
    await alone.solver('dns-01').present({ ...challenge, type: 'dns-01' });
    assert.equal((await alone.find('dns-01', 'a.test')).length, 1);
    assert.deepEqual(await alone.find('dns-01', 'b.test'), []);
    assert.equal((await alone.all('dns-01')).length, 1);
    await alone.solver('dns-01').withdraw({ ...challenge, type: 'dns-01' });
    assert.deepEqual(await alone.all('dns-01'), []);
  });

  it('are looked up by few at a time, and not found while the store fails', async () => {
    let asked = 0;
    const find = (): Promise<never> => {
      asked += 1;
      return fail();
    };
    const relay = new PresentedChallenges({ ...store, findChallenges: find }, clock, false);
    const many = Array.from({ length: CHALLENGE_LOOKUPS_MAX + 5 }, () => relay.find('http-01', 'a.test'));
    assert.deepEqual((await Promise.all(many)).flat(), []);
    assert.equal(asked, CHALLENGE_LOOKUPS_MAX);
  });
});

function fail(): Promise<never> {
  return Promise.reject(new StoreError(new Error('away')));
}
