import assert from 'node:assert/strict';
import { ACCESS_BATCH } from '../limits.ts';
import { StoreError } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { aStore, anAccount, type TestStore } from '../testing/fixtures.ts';
import { AccessWatch } from './access-watch.ts';
import type { AccountRecord } from '../store/records.ts';
import { issueKey } from './accounts.ts';

describe('AccessWatch', () => {
  const account = anAccount({ name: 'acme', plan: 'dev' });
  const other = anAccount();
  let test: TestStore;
  let keysInUse: string[];
  let accountIds: string[];
  let revoked: string[];
  let updated: AccountRecord[];
  let ended: string[];
  let logged: string[];
  let watch: AccessWatch;

  beforeEach(async () => {
    test = await aStore(account, other);
    [keysInUse, accountIds] = [[], []];
    [revoked, updated, ended, logged] = [[], [], [], []];
    const keys = {
      keysInUse: () => keysInUse,
      revoke: (ids: ReadonlySet<string>) => void revoked.push(...ids),
    };
    const accounts = {
      accountIds: () => accountIds,
      updateAccount: (changed: AccountRecord) => void updated.push(changed),
      endAccount: (id: string) => void ended.push(id),
    };
    watch = new AccessWatch(test.store, keys, accounts, (event) => logged.push(event));
  });

  async function aKey(): Promise<string> {
    return (await issueKey(test.store, new FakeClock(), account)).record.id;
  }

  it('closes the sockets of revoked keys, and no others', async () => {
    const [gone, kept] = [await aKey(), await aKey()];
    keysInUse = [gone, kept];
    await watch.follow();
    assert.deepEqual([revoked, logged], [[], []]);
    await test.store.revokeKey(gone, 0);
    await watch.follow();
    assert.deepEqual([revoked, logged], [[gone], ['keys revoked']]);
  });

  it('tells tunnels when the plan of their account has changed', async () => {
    accountIds = [account.id];
    await test.store.setPlan('acme', 'team');
    await watch.follow();
    assert.deepEqual(updated, [{ ...account, plan: 'team' }]);
  });

  it('ends the tunnels and sockets of a removed account', async () => {
    const key = await aKey();
    [keysInUse, accountIds] = [[key], [account.id, other.id]];
    await test.store.removeAccount('acme');
    await watch.follow();
    assert.deepEqual([revoked, ended], [[key], [account.id]]);
    assert.deepEqual(updated, [other]);
  });

  it('asks the store in batches', async () => {
    const key = await aKey();
    const unknown = Array.from({ length: 2 * ACCESS_BATCH }, (_, index) => `unknown-${index}`);
    keysInUse = [...unknown, key];
    await watch.follow();
    assert.deepEqual(revoked, unknown);
  });

  it('takes nothing away while the store fails', async () => {
    [keysInUse, accountIds] = [['unknown'], ['unknown']];
    test.down = true;
    await assert.rejects(watch.follow(), StoreError);
    assert.deepEqual([revoked, ended], [[], []]);
  });
});
