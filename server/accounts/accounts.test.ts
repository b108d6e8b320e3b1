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

  it('limit the longest ttl together with the relay: the smaller value applies', () => {
    assert.equal(ttlLimitsOf('free', { defaultTtl: 3600, maxTtl: 7 * DAY }, ALL).maxTtl, DAY);
    assert.equal(ttlLimitsOf('free', { defaultTtl: 3600, maxTtl: 7200 }, ALL).maxTtl, 7200);
    assert.equal(ttlLimitsOf('dev', { defaultTtl: 3600, maxTtl: 7 * DAY }, ALL).maxTtl, 7 * DAY);
  });

  it('limit an agent to an hour, by default too', () => {
    const relay = { defaultTtl: 4 * 3600, maxTtl: 7 * DAY };
    const limits = ttlLimitsOf('dev', relay, { kind: 'agent', prefix: 'ai' });
    assert.deepEqual(limits, { defaultTtl: 3600, maxTtl: 3600 });
    assert.equal(
      ttlLimitsOf('dev', { defaultTtl: 60, maxTtl: 600 }, { kind: 'agent', prefix: 'ai' }).maxTtl,
      600,
    );
  });

  it('have no default ttl above the longest', () => {
    assert.deepEqual(ttlLimitsOf('free', { defaultTtl: 2 * DAY, maxTtl: 7 * DAY }, ALL), {
      defaultTtl: DAY,
      maxTtl: DAY,
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

  it('creates a key for the account "default", on the Dev plan, if there is none', async () => {
    await ensureKey(store, clock, undefined, handOut);
    const owner = await store.findKeyOwner(hashKey(handed[0] ?? assert.fail('no key was made')));
    assert.deepEqual([owner?.account.name, owner?.account.plan], ['default', 'dev']);
  });

  it('records its creations as actions of the relay', async () => {
    await ensureKey(store, clock, undefined, handOut);
    const acts = await store.listAudit(9);
    assert.deepEqual(
      new Set(acts.map(({ actor, action }) => `${actor} ${action}`)),
      new Set(['relay account.create', 'relay key.create']),
    );
  });

  it('does not restore a key that was removed with its account', async () => {
    const key = generateKey();
    await ensureKey(store, clock, key, handOut);
    await store.removeAccount('default', 0);
    await assert.rejects(ensureKey(store, clock, key, handOut), RevokedKeyError);
    assert.equal(await store.findKeyOwner(hashKey(key)), undefined);
  });

  it('creates it only once', async () => {
    await ensureKey(store, clock, undefined, handOut);
    await ensureKey(store, clock, undefined, handOut);
    assert.equal(handed.length, 1);
  });

  it('creates another one at the next start if it could not be handed to the operator', async () => {
    await assert.rejects(ensureKey(store, clock, undefined, nowhere), /the disk is full/);
    assert.equal(await store.hasKeys(), false);
    await ensureKey(store, clock, undefined, handOut);
    assert.equal(handed.length, 1);
  });

  it('creates none if there is already a key', async () => {
    const account = anAccount();
    await store.insertAccount(account);
    await issueKey(store, clock, account);
    await ensureKey(store, clock, undefined, handOut);
    assert.deepEqual(handed, []);
    assert.equal(await store.findAccount('default'), undefined);
  });

  it('stores a configured key, with the same result at every start', async () => {
    const key = generateKey();
    for (let start = 0; start < 2; start += 1) await ensureKey(store, clock, key, handOut);
    assert.deepEqual(handed, []);
    assert.equal((await store.findKeyOwner(hashKey(key)))?.account.name, 'default');
  });

  it('stores a configured key when several relays start together', async () => {
    const key = generateKey();
    await Promise.all([ensureKey(store, clock, key, handOut), ensureKey(store, clock, key, handOut)]);
    assert.equal((await store.listKeys(0)).length, 1);
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

  it('adds another configured key to the same account', async () => {
    const [first, second] = [generateKey(), generateKey()];
    await ensureKey(store, clock, first, handOut);
    await ensureKey(store, clock, second, handOut);
    const owners = await Promise.all([first, second].map((key) => store.findKeyOwner(hashKey(key))));
    assert.equal(owners[0]?.account.id, owners[1]?.account.id);
  });
});
