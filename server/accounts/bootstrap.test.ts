import assert from 'node:assert/strict';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { aStore, anAccount } from '../testing/fixtures.ts';
import { issueKey } from './accounts.ts';
import { generateKey, hashKey } from './api-key.ts';
import { ensureKey, RevokedKeyError } from './bootstrap.ts';

describe('ensureKey', () => {
  const clock = new FakeClock();
  let store: Store;

  beforeEach(async () => {
    ({ store } = await aStore());
  });

  it('makes a key for the account "default", on the Dev plan, when there is none', async () => {
    const key = (await ensureKey(store, clock, undefined)) ?? assert.fail('no key was made');
    const owner = await store.findKeyOwner(hashKey(key));
    assert.deepEqual([owner?.account.name, owner?.account.plan], ['default', 'dev']);
  });

  it('makes it only once', async () => {
    await ensureKey(store, clock, undefined);
    assert.equal(await ensureKey(store, clock, undefined), undefined);
  });

  it('makes none when somebody has one', async () => {
    const account = anAccount();
    await store.insertAccount(account);
    await issueKey(store, clock, account);
    assert.equal(await ensureKey(store, clock, undefined), undefined);
    assert.equal(await store.findAccount('default'), undefined);
  });

  it('stores a configured key, at every start the same', async () => {
    const key = generateKey();
    for (let start = 0; start < 2; start += 1) assert.equal(await ensureKey(store, clock, key), undefined);
    assert.equal((await store.findKeyOwner(hashKey(key)))?.account.name, 'default');
  });

  it('stores a configured key for relays that start at once', async () => {
    const key = generateKey();
    await Promise.all([ensureKey(store, clock, key), ensureKey(store, clock, key)]);
    assert.equal((await store.listKeys()).length, 1);
  });

  it('does not bring a revoked key back', async () => {
    const key = generateKey();
    await ensureKey(store, clock, key);
    const { keyId } = (await store.findKeyOwner(hashKey(key))) ?? assert.fail();
    await store.revokeKey(keyId, 0);
    await assert.rejects(ensureKey(store, clock, key), RevokedKeyError);
    assert.equal(await ensureKey(store, clock, undefined), undefined);
  });

  it('adds another configured key to the same account', async () => {
    const [first, second] = [generateKey(), generateKey()];
    await ensureKey(store, clock, first);
    await ensureKey(store, clock, second);
    const owners = await Promise.all([first, second].map((key) => store.findKeyOwner(hashKey(key))));
    assert.equal(owners[0]?.account.id, owners[1]?.account.id);
  });
});
