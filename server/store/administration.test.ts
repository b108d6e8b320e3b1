import assert from 'node:assert/strict';
import {
  aKeyRecord,
  anAccount,
  aTunnel,
  nameHolders,
  ofEach,
  ofTunnels,
  useStore,
} from '../testing/fixtures.ts';
import type { KeyRecord } from './records.ts';
import { ConflictError } from './store-errors.ts';

describe('administration of the store', () => {
  const acme = anAccount({ name: 'acme', plan: 'dev', createdAt: 10 });
  const older = anAccount({ name: 'older', createdAt: 5 });
  const store = useStore(acme, older);

  function aKey(id: string, accountId = acme.id, createdAt = 0): KeyRecord {
    return aKeyRecord({ id, accountId, hash: `hash-${id}`, hint: `cvt_${id}`, createdAt });
  }

  /** How often running relays are told something while `action` runs. */
  async function changesOf(act: () => Promise<unknown>): Promise<number> {
    const before = Number.parseInt(await store.accessRevision(0), 10);
    await act();
    return Number.parseInt(await store.accessRevision(0), 10) - before;
  }

  it('lists accounts, oldest first', async () => {
    assert.deepEqual(await store.listAccounts(), [older, acme]);
    assert.deepEqual(await store.findAccounts([acme.id, 'unknown']), [acme]);
  });

  it('sets a plan, and notifies relays', async () => {
    const set = async () => assert.deepEqual(await store.setPlan('acme', 'team'), { ...acme, plan: 'team' });
    assert.equal(await changesOf(set), 1);
    assert.equal((await store.findAccount('acme'))?.plan, 'team');
    assert.equal(await changesOf(() => store.setPlan('nobody', 'team')), 0);
    assert.equal(await store.setPlan('nobody', 'team'), undefined);
  });

  it('lists valid keys, oldest first, of one account or all', async () => {
    await store.insertKey(aKey('b', acme.id, 2));
    await store.insertKey(aKey('a', older.id, 1));
    const plain = { label: '', expiresAt: null, lastUsedAt: null, scope: { kind: 'all' } };
    const a = { id: 'a', account: 'older', hint: 'cvt_a', createdAt: 1, ...plain };
    const b = { id: 'b', account: 'acme', hint: 'cvt_b', createdAt: 2, ...plain };
    assert.deepEqual(await store.listKeys(0), [a, b]);
    assert.deepEqual(await store.listKeys(0, 'acme'), [b]);
    assert.deepEqual(await store.listKeys(0, 'nobody'), []);
  });

  it('stores scope, expiry and last use of a key', async () => {
    const scope = { kind: 'tunnel', name: 'web' } as const;
    const given = { label: "Ann's laptop", expiresAt: 500, scope };
    await store.insertKey({ ...aKey('a'), ...given });
    await store.insertKey({ ...aKey('b'), scope: { kind: 'admin' } });
    await store.markKeysUsed(['a', 'unknown'], 300);
    await store.markKeysUsed([], 400);
    const [a, b] = await store.listKeys(499);
    assert.deepEqual([a?.label, a?.expiresAt, a?.lastUsedAt, a?.scope], ["Ann's laptop", 500, 300, scope]);
    assert.deepEqual([b?.lastUsedAt, b?.scope], [null, { kind: 'admin' }]);
    const owner = await store.findKeyOwner('hash-a');
    assert.deepEqual([owner?.expiresAt, owner?.scope], [500, scope]);
  });

  it('omits expired keys, and notifies relays when they expire', async () => {
    await store.insertKey({ ...aKey('a'), expiresAt: 500 });
    await store.insertKey({ ...aKey('b'), expiresAt: 700 });
    await store.insertKey(aKey('c'));
    const times = [499, 500, 501, 699, 700];
    const revisions = await Promise.all(times.map((now) => store.accessRevision(now)));
    assert.equal(new Set(revisions).size, 3, revisions.join(' '));
    assert.deepEqual([revisions[1], revisions[3]], [revisions[2], revisions[2]]);
    assert.deepEqual(await store.findEndedKeys(['a', 'b', 'c'], 499), []);
    assert.deepEqual(await store.findEndedKeys(['a', 'b', 'c'], 500), [{ id: 'a', end: 'expired' }]);
    assert.deepEqual(ofEach(await store.listKeys(700), 'id'), ['c']);
    assert.equal(await store.revokeKey('a', 500), undefined);
  });

  it('revokes a key permanently, and notifies relays, but not of additions', async () => {
    assert.equal(await changesOf(() => store.insertKey(aKey('a'))), 0);
    assert.equal(await changesOf(() => store.insertAccounts([anAccount()])), 0);
    await store.insertKey(aKey('b'));
    const revoke = async () => assert.equal((await store.revokeKey('a', 50))?.hint, 'cvt_a');
    assert.equal(await changesOf(revoke), 1);
    assert.equal(await store.findKeyOwner('hash-a'), undefined);
    assert.equal((await store.findKeyOwner('hash-b'))?.keyId, 'b');
    assert.deepEqual(await store.findEndedKeys(['a', 'b', 'c'], 0), [
      { id: 'a', end: 'revoked' },
      { id: 'c', end: 'removed' },
    ]);
    assert.deepEqual(ofEach(await store.listKeys(0), 'id'), ['b']);
    for (const id of ['a', 'unknown']) assert.equal(await store.revokeKey(id, 60), undefined);
    await assert.rejects(store.insertKey({ ...aKey('a'), id: 'again' }), ConflictError);
    await store.revokeKey('b', 70);
    assert.equal(await store.hasKeys(), true, 'that there were keys is remembered');
  });

  it('removes an account with everything it owns, and notifies relays', async () => {
    await store.insertKey(aKey('a'));
    await store.insertKey(aKey('b', older.id));
    const [own, foreign] = [aTunnel(acme.id), aTunnel(older.id)];
    for (const tunnel of [own, foreign]) await store.insertTunnel(tunnel);
    await store.releaseTunnels([{ id: 'x', slug: 'held', accountId: acme.id, heldUntil: 100 }], 0);
    const remove = async () => assert.deepEqual(await store.removeAccount('acme', 0), acme);
    assert.equal(await changesOf(remove), 1);
    assert.deepEqual(await store.listAccounts(), [older]);
    assert.deepEqual(await store.findEndedKeys(['a', 'b'], 0), [{ id: 'a', end: 'removed' }]);
    assert.deepEqual(await ofTunnels(store, 'id'), [foreign.id]);
    assert.deepEqual(await nameHolders(store, [['held', 0]]), [undefined]);
    assert.equal(await store.removeAccount('acme', 0), undefined);
  });

  describe('names of ended tunnels', () => {
    const released = { id: 'x', slug: 'web', accountId: acme.id, heldUntil: 100 };

    it('are reserved until their time is over, and forgotten afterwards', async () => {
      await store.releaseTunnels([released, { ...released, slug: 'free', heldUntil: 50 }], 50);
      const holders = (...asked: [slug: string, now: number][]) => nameHolders(store, asked);
      assert.deepEqual(await holders(['web', 99], ['web', 100], ['free', 50]), [
        acme.id,
        undefined,
        undefined,
      ]);
      await store.releaseTunnels([{ ...released, slug: 'later', heldUntil: 200 }], 100);
      assert.deepEqual(await holders(['web', 0]), [undefined]);
    });

    it('are reserved for the account that used them last', async () => {
      await store.releaseTunnels([released], 0);
      await store.releaseTunnels([{ ...released, accountId: older.id, heldUntil: 90 }], 0);
      assert.deepEqual(await nameHolders(store, [['web', 89]]), [older.id]);
      assert.deepEqual(await nameHolders(store, [['web', 90]]), [undefined]);
    });
  });
});
