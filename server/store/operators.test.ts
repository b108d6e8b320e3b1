import assert from 'node:assert/strict';
import { AUDIT_MAX, CLOSED_TUNNELS_KEPT_MS } from '../limits.ts';
import { aKeyRecord, anAccount, aTunnel } from '../testing/fixtures.ts';
import { openTestStore } from '../testing/test-store.ts';
import type { AuditRecord } from './records.ts';
import { ConflictError } from './store-errors.ts';
import type { Store } from './store.ts';

describe('what operators do, in the store', () => {
  const acme = anAccount({ name: 'acme', subdomain: 'acme' });
  const other = anAccount({ name: 'other' });
  let store: Store;

  beforeEach(async () => {
    store = await openTestStore(() => {});
    for (const account of [acme, other]) await store.insertAccount(account);
  });

  afterEach(() => store.close());

  it('many accounts are made with their keys, or none', async () => {
    const team = [anAccount({ name: 'one' }), anAccount({ name: 'two' })];
    const keys = team.map(({ id }) => aKeyRecord({ accountId: id }));
    await store.insertAccounts(team, keys);
    assert.equal((await store.listKeys(0)).length, 2);
    const late = [anAccount({ name: 'three' }), anAccount({ name: 'two' })];
    const lateKeys = late.map(({ id }) => aKeyRecord({ accountId: id }));
    await assert.rejects(
      store.insertAccounts(late, lateKeys),
      (error) => error instanceof ConflictError && error.field === 'name',
    );
    assert.equal(await store.findAccount('three'), undefined);
    assert.equal((await store.listKeys(0)).length, 2);
  });

  it('a suspension is kept with its reason, and told to relays', async () => {
    const before = await store.accessRevision(0);
    assert.equal((await store.setSuspension('acme', 'phishing'))?.suspended, 'phishing');
    assert.notEqual(await store.accessRevision(0), before);
    assert.equal((await store.findAccounts([acme.id]))[0]?.suspended, 'phishing');
    assert.equal((await store.setSuspension('acme', null))?.suspended, null);
    assert.equal(await store.setSuspension('nobody', null), undefined);
  });

  describe('a subdomain', () => {
    it('is changed, taken away, and told to relays', async () => {
      const before = await store.accessRevision(0);
      assert.equal((await store.setSubdomain('acme', 'new', 5))?.subdomain, 'new');
      assert.notEqual(await store.accessRevision(0), before);
      assert.equal((await store.setSubdomain('acme', null, 5))?.subdomain, null);
      assert.equal((await store.setSubdomain('other', 'acme', 5))?.subdomain, 'acme');
      assert.equal(await store.setSubdomain('nobody', 'x1', 5), undefined);
    });

    it('is refused while another account or a live tunnel has it, and nothing is changed', async () => {
      await store.insertTunnel(aTunnel(other.id, { slug: 'web' }));
      for (const taken of ['acme', 'web'])
        await assert.rejects(
          store.setSubdomain('other', taken, 1000),
          (error) => error instanceof ConflictError && error.field === 'subdomain',
        );
      assert.equal((await store.findAccount('other'))?.subdomain, null);
      assert.equal((await store.setSubdomain('acme', 'acme', 1000))?.subdomain, 'acme');
    });
  });

  describe('the close of a tunnel', () => {
    it('removes it, holds its name, and is done once', async () => {
      const tunnel = aTunnel(acme.id, { slug: 'web' });
      await store.insertTunnel(tunnel);
      const closed = { id: tunnel.id, slug: 'web', accountId: acme.id, heldUntil: 2000 };
      assert.equal(await store.orderClose(closed, 1000), true);
      assert.equal(await store.orderClose(closed, 1000), false);
      assert.equal(await store.nameHolder('web', 1500), acme.id);
      assert.deepEqual((await store.tunnelOrders()).closed, [tunnel.id]);
    });

    it('is told to relays for an hour', async () => {
      const tunnels = [aTunnel(acme.id), aTunnel(acme.id)];
      for (const tunnel of tunnels) await store.insertTunnel(tunnel);
      const [first, second] = tunnels.map((tunnel) => ({ ...tunnel, heldUntil: 0 }));
      await store.orderClose(first ?? assert.fail(), 1000);
      await store.orderClose(second ?? assert.fail(), 1001 + CLOSED_TUNNELS_KEPT_MS);
      assert.deepEqual((await store.tunnelOrders()).closed, [second?.id]);
    });
  });

  describe('who did what', () => {
    it('is listed oldest first, the newest of as many as are asked for', async () => {
      for (const at of [3, 1, 2]) await store.insertAudit(anAct(at));
      const times = (await store.listAudit(2)).map(({ at }) => at);
      assert.deepEqual(times, [2, 3]);
      assert.deepEqual({ ...(await store.listAudit(1))[0] }, anAct(3));
    });

    it('is kept for the newest 10,000 acts', async () => {
      const acts = Array.from({ length: AUDIT_MAX + 5 }, (_, index) => anAct(index + 1));
      // Some at a time: one by one it is 10,000 round trips.
      for (let at = 0; at < AUDIT_MAX; at += 100)
        await Promise.all(acts.slice(at, at + 100).map((act) => store.insertAudit(act)));
      for (const act of acts.slice(AUDIT_MAX)) await store.insertAudit(act);
      const kept = await store.listAudit(AUDIT_MAX + 5);
      assert.deepEqual([kept.length, kept[0]?.at], [AUDIT_MAX, 6]);
    }).timeout(120_000);
  });
});

function anAct(at: number): AuditRecord {
  return { id: `act-${at}`, at, actor: 'shell:ann', action: 'x', subject: 'y', detail: '', accountId: null };
}
