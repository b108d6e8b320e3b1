import assert from 'node:assert/strict';
import type { KeyRecord } from './records.ts';
import { allTunnels, anAccount, aTunnel } from '../testing/fixtures.ts';
import { openTestStore } from '../testing/test-store.ts';
import { ConflictError, type Store } from './store.ts';

describe('KyselyStore, administered', () => {
  const acme = anAccount({ name: 'acme', plan: 'dev', createdAt: 10 });
  const older = anAccount({ name: 'older', createdAt: 5 });
  let store: Store;

  beforeEach(async () => {
    store = await openTestStore(() => {});
    for (const account of [acme, older]) await store.insertAccount(account);
  });

  afterEach(() => store.close());

  function aKey(id: string, accountId = acme.id, createdAt = 0): KeyRecord {
    return { id, accountId, hash: `hash-${id}`, hint: `cvt_${id}`, createdAt };
  }

  /** How often running relays are told something while `action` runs. */
  async function changesOf(act: () => Promise<unknown>): Promise<number> {
    const before = await store.accessRevision();
    await act();
    return (await store.accessRevision()) - before;
  }

  it('lists accounts, oldest first', async () => {
    assert.deepEqual(await store.listAccounts(), [older, acme]);
    assert.deepEqual(await store.findAccounts([acme.id, 'unknown']), [acme]);
  });

  it('sets a plan, and tells relays', async () => {
    assert.equal(
      await changesOf(async () => {
        assert.deepEqual(await store.setPlan('acme', 'team'), { ...acme, plan: 'team' });
      }),
      1,
    );
    assert.equal((await store.findAccount('acme'))?.plan, 'team');
    assert.equal(await changesOf(() => store.setPlan('nobody', 'team')), 0);
    assert.equal(await store.setPlan('nobody', 'team'), undefined);
  });

  it('lists valid keys, oldest first, of one account or all', async () => {
    await store.insertKey(aKey('b', acme.id, 2));
    await store.insertKey(aKey('a', older.id, 1));
    const a = { id: 'a', account: 'older', hint: 'cvt_a', createdAt: 1 };
    const b = { id: 'b', account: 'acme', hint: 'cvt_b', createdAt: 2 };
    assert.deepEqual(await store.listKeys(), [a, b]);
    assert.deepEqual(await store.listKeys('acme'), [b]);
    assert.deepEqual(await store.listKeys('nobody'), []);
  });

  it('revokes a key once and for all, and tells relays', async () => {
    await store.insertKey(aKey('a'));
    await store.insertKey(aKey('b'));
    assert.equal(
      await changesOf(async () => {
        assert.equal((await store.revokeKey('a', 50))?.hint, 'cvt_a');
      }),
      1,
    );
    assert.equal(await store.findKeyOwner('hash-a'), undefined);
    assert.equal((await store.findKeyOwner('hash-b'))?.keyId, 'b');
    assert.deepEqual(await store.findValidKeys(['a', 'b', 'c']), ['b']);
    assert.deepEqual(
      (await store.listKeys()).map(({ id }) => id),
      ['b'],
    );
    for (const id of ['a', 'unknown']) assert.equal(await store.revokeKey(id, 60), undefined);
    await assert.rejects(store.insertKey({ ...aKey('a'), id: 'again' }), ConflictError);
  });

  it('remembers that there were keys after all are revoked', async () => {
    await store.insertKey(aKey('a'));
    await store.revokeKey('a', 0);
    assert.equal(await store.hasKeys(), true);
  });

  it('tells relays nothing when something is only added', async () => {
    assert.equal(await changesOf(() => store.insertKey(aKey('a'))), 0);
    assert.equal(await changesOf(() => store.insertAccount(anAccount())), 0);
  });

  it('removes an account with all that belongs to it, and tells relays', async () => {
    await store.insertKey(aKey('a'));
    await store.insertKey(aKey('b', older.id));
    const [own, foreign] = [aTunnel(acme.id), aTunnel(older.id)];
    for (const tunnel of [own, foreign]) await store.insertTunnel(tunnel);
    await store.releaseTunnels([{ id: 'x', slug: 'held', accountId: acme.id, heldUntil: 100 }], 0);
    assert.equal(await changesOf(async () => assert.deepEqual(await store.removeAccount('acme'), acme)), 1);
    assert.deepEqual(await store.listAccounts(), [older]);
    assert.deepEqual(await store.findValidKeys(['a', 'b']), ['b']);
    assert.deepEqual(
      (await allTunnels(store)).map(({ tunnel }) => tunnel.id),
      [foreign.id],
    );
    assert.equal(await store.nameHolder('held', 0), undefined);
    assert.equal(await store.removeAccount('acme'), undefined);
  });

  describe('names of ended tunnels', () => {
    const released = { id: 'x', slug: 'web', accountId: acme.id, heldUntil: 100 };

    it('are held until their time is over', async () => {
      await store.releaseTunnels([released, { ...released, slug: 'free', heldUntil: 50 }], 50);
      assert.equal(await store.nameHolder('web', 99), acme.id);
      assert.equal(await store.nameHolder('web', 100), undefined);
      assert.equal(await store.nameHolder('free', 50), undefined);
    });

    it('are held for the account that had them last', async () => {
      await store.releaseTunnels([released], 0);
      await store.releaseTunnels([{ ...released, accountId: older.id, heldUntil: 90 }], 0);
      assert.equal(await store.nameHolder('web', 89), older.id);
      assert.equal(await store.nameHolder('web', 90), undefined);
    });

    it('are forgotten afterwards', async () => {
      await store.releaseTunnels([released], 0);
      await store.releaseTunnels([{ ...released, slug: 'later', heldUntil: 200 }], 100);
      assert.equal(await store.nameHolder('web', 0), undefined);
    });
  });
});
