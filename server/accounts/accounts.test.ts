import assert from 'node:assert/strict';
import { PLANS } from '../../shared/tunnel.ts';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount, aStore } from '../testing/fixtures.ts';
import { PLAN_RULES, ttlLimitsOf, issueKey, ensureKey, RevokedKeyError } from './accounts.ts';
import { generateKey, hashKey } from './api-keys.ts';

const DAY = 24 * 3600;
const ALL = { kind: 'all' } as const;

describe('plans', () => {
  it('allow more the higher they are', () => {
    const ascending = PLANS.map((plan) => PLAN_RULES[plan]);
    for (const limit of ['maxTunnels', 'maxConnections', 'maxTtl'] as const) {
      const values = ascending.map((rules) => rules[limit] ?? Infinity);
      assert.deepEqual(
        values,
        values.toSorted((a, b) => a - b),
      );
    }
  });

  const AGENT = { kind: 'agent', prefix: 'ai' } as const;
  for (const [what, plan, scope, [defaultTtl, maxTtl], limits] of [
    ['the smaller of the longest ttl of plan and relay', 'free', ALL, [3600, 7 * DAY], [3600, DAY]],
    ["the relay's if that is smaller", 'free', ALL, [3600, 7200], [3600, 7200]],
    ['the same if both are', 'dev', ALL, [3600, 7 * DAY], [3600, 7 * DAY]],
    ['no default ttl above the longest', 'free', ALL, [2 * DAY, 7 * DAY], [DAY, DAY]],
    ['an hour for an agent, by default too', 'dev', AGENT, [4 * 3600, 7 * DAY], [3600, 3600]],
    ['less for an agent if the relay allows less', 'dev', AGENT, [60, 600], [60, 600]],
  ] as const)
    it(`allow ${what}`, () => {
      const [usual, longest] = limits;
      assert.deepEqual(ttlLimitsOf(plan, { defaultTtl, maxTtl }, scope), {
        defaultTtl: usual,
        maxTtl: longest,
      });
    });
});

function nowhere(): never {
  throw new Error('the disk is full');
}

describe('ensureKey', () => {
  const clock = new FakeClock();
  let store: Store;
  /** the keys handed to the operator */
  let handed: string[];
  const handOut = (key: string): void => void handed.push(key);

  beforeEach(async () => {
    ({ store } = await aStore());
    handed = [];
  });

  it('creates a key for the account "default", on the Dev plan, once, as an action of the relay', async () => {
    for (let start = 0; start < 2; start += 1) await ensureKey(store, clock, undefined, handOut);
    assert.equal(handed.length, 1);
    const owner = await store.findKeyOwner(hashKey(handed[0] ?? ''));
    assert.deepEqual([owner?.account.name, owner?.account.plan], ['default', 'dev']);
    const acts = (await store.listAudit(9)).map(({ actor, action }) => `${actor} ${action}`);
    assert.deepEqual(new Set(acts), new Set(['relay account.create', 'relay key.create']));
  });

  it('does not restore a key that was removed with its account', async () => {
    const key = generateKey();
    await ensureKey(store, clock, key, handOut);
    await store.removeAccount('default', 0);
    await assert.rejects(ensureKey(store, clock, key, handOut), RevokedKeyError);
    assert.equal(await store.findKeyOwner(hashKey(key)), undefined);
  });

  it('creates another one at the next start if it could not be handed to the operator', async () => {
    await assert.rejects(ensureKey(store, clock, undefined, nowhere), /the disk is full/);
    assert.equal(await store.hasKeys(), false);
    await ensureKey(store, clock, undefined, handOut);
    assert.equal(handed.length, 1);
  });

  it('creates none if there is already a key', async () => {
    const account = anAccount();
    await store.insertAccounts([account]);
    await issueKey(store, clock, account);
    await ensureKey(store, clock, undefined, handOut);
    assert.deepEqual(handed, []);
    assert.equal(await store.findAccount('default'), undefined);
  });

  it('stores configured keys for one account, with the same result at every start and on several relays', async () => {
    const [key, other] = [generateKey(), generateKey()];
    await Promise.all([ensureKey(store, clock, key, handOut), ensureKey(store, clock, key, handOut)]);
    for (const again of [key, other]) await ensureKey(store, clock, again, handOut);
    const owners = await Promise.all([key, other].map((one) => store.findKeyOwner(hashKey(one))));
    assert.deepEqual(
      owners.map((owner) => owner?.account.name),
      ['default', 'default'],
    );
    assert.deepEqual([handed, (await store.listKeys(0)).length], [[], 2]);
  });

  it('does not restore a revoked key', async () => {
    const key = generateKey();
    await ensureKey(store, clock, key, handOut);
    const { keyId } = (await store.findKeyOwner(hashKey(key))) ?? assert.fail();
    await store.revokeKey(keyId, 0);
    await assert.rejects(ensureKey(store, clock, key, handOut), RevokedKeyError);
    await ensureKey(store, clock, undefined, handOut);
    assert.deepEqual(handed, []);
  });
});
