import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  aDomain,
  aKeyRecord,
  anAccess,
  anAccount,
  anInvitation,
  aTunnel,
  hasNoRoom,
  isTaken,
  nameHolders,
  useStore,
} from '../testing/fixtures.ts';
import { AUDIT_ACTS_PER_DAY, AUDIT_KEPT_MS } from './queries/audit-queries.ts';
import { CLOSED_TUNNELS_KEPT_MS } from './queries/tunnel-changes.ts';
import { AUDIT_MAX, type AuditRecord, batches, type StoredAccess } from './records.ts';
import { ConflictError, FullError, StoreError } from './store-errors.ts';

describe('the store for operators', () => {
  const acme = anAccount({ name: 'acme', subdomain: 'acme' });
  const other = anAccount({ name: 'other' });
  const store = useStore(acme, other);

  async function insertMany(acts: readonly AuditRecord[]): Promise<void> {
    // One by one it is 10,000 round trips.
    for (const batch of batches(acts, 1000)) await store.act('setPlan', ['acme', 'dev'], batch);
  }

  it('creates many accounts with their keys, or none', async () => {
    const team = [anAccount({ name: 'one' }), anAccount({ name: 'two' })];
    const keys = team.map(({ id }) => aKeyRecord({ accountId: id }));
    await store.insertAccounts(team, keys);
    assert.equal((await store.listKeys(0)).length, 2);
    const late = [anAccount({ name: 'three' }), anAccount({ name: 'two' })];
    const lateKeys = late.map(({ id }) => aKeyRecord({ accountId: id }));
    await assert.rejects(store.insertAccounts(late, lateKeys), isTaken('name'));
    assert.equal(await store.findAccount('three'), undefined);
    assert.equal((await store.listKeys(0)).length, 2);
  });

  it('stores the public URL of the relay that started last', async () => {
    assert.equal(await store.publicOrigin(), undefined);
    await store.setPublicOrigin('http://localhost:8080');
    await store.setPublicOrigin('https://relay.example.com');
    assert.equal(await store.publicOrigin(), 'https://relay.example.com');
  });

  it('stores a suspension with its reason, and notifies relays', async () => {
    const before = await store.accessRevision(0);
    assert.equal((await store.setSuspension('acme', 'phishing'))?.suspended, 'phishing');
    assert.notEqual(await store.accessRevision(0), before);
    assert.equal((await store.findAccounts([acme.id]))[0]?.suspended, 'phishing');
    assert.equal((await store.setSuspension('acme', null))?.suspended, null);
    assert.equal(await store.setSuspension('nobody', null), undefined);
  });

  describe('a subdomain', () => {
    it('is changed or removed, and relays are notified', async () => {
      const before = await store.accessRevision(0);
      assert.equal((await store.setSubdomain('acme', 'new', 5))?.subdomain, 'new');
      assert.notEqual(await store.accessRevision(0), before);
      assert.equal((await store.setSubdomain('acme', null, 5))?.subdomain, null);
      assert.equal((await store.setSubdomain('other', 'acme', 5))?.subdomain, 'acme');
      assert.equal(await store.setSubdomain('nobody', 'x1', 5), undefined);
    });

    it('is refused while another account or a live tunnel has it, and nothing is changed', async () => {
      await store.insertTunnel(aTunnel(other.id, { slug: 'web' }));
      for (const name of ['acme', 'web'])
        await assert.rejects(store.setSubdomain('other', name, 1000), isTaken('subdomain'));
      assert.equal((await store.findAccount('other'))?.subdomain, null);
      assert.equal((await store.setSubdomain('acme', 'acme', 1000))?.subdomain, 'acme');
    });
  });

  describe('the close of a tunnel', () => {
    it('removes it, reserves its name, and happens once', async () => {
      const tunnel = aTunnel(acme.id, { slug: 'web' });
      await store.insertTunnel(tunnel);
      const closed = { id: tunnel.id, slug: 'web', accountId: acme.id, heldUntil: 2000 };
      assert.equal(await store.orderClose(closed, 1000), true);
      assert.equal(await store.orderClose(closed, 1000), false);
      assert.deepEqual(await nameHolders(store, [['web', 1500]]), [acme.id]);
      assert.deepEqual((await store.tunnelOrders()).closed, [tunnel.id]);
    });

    it('is announced to relays for an hour', async () => {
      const tunnels = [aTunnel(acme.id), aTunnel(acme.id)];
      for (const tunnel of tunnels) await store.insertTunnel(tunnel);
      const [first, second] = tunnels.map((tunnel) => ({ ...tunnel, heldUntil: 0 }));
      await store.orderClose(first ?? assert.fail(), 1000);
      await store.orderClose(second ?? assert.fail(), 1001 + CLOSED_TUNNELS_KEPT_MS);
      assert.deepEqual((await store.tunnelOrders()).closed, [second?.id]);
    });
  });

  describe('the audit log', () => {
    const [now, day] = [AUDIT_KEPT_MS * 2, 24 * 3_600_000];

    it('is listed oldest first, limited to the newest entries', async () => {
      const acts = [3, 1, 2].map((at) => anAct({ at }));
      for (const act of acts) await store.insertAudit(act);
      const times = (await store.listAudit(2)).map(({ at }) => at);
      assert.deepEqual(times, [2, 3]);
      assert.deepEqual(await store.listAudit(1), acts.slice(0, 1));
    });

    it('keeps entries for a year, however many follow, and the newest 10,000 for longer', async () => {
      const old = [now - AUDIT_KEPT_MS - 1, now - AUDIT_KEPT_MS].map((at) => anAct({ at }));
      const acts = Array.from({ length: AUDIT_MAX - 1 }, (_, index) => anAct({ at: now + index }));
      await insertMany([...old, ...acts.slice(0, -1)]);
      assert.equal((await store.listAudit(AUDIT_MAX + 5)).length, AUDIT_MAX, 'as many are kept however old');
      await store.insertAudit(anAct({ at: now }));
      const kept = await store.listAudit(AUDIT_MAX + 5);
      assert.deepEqual([kept.length, kept[0]?.at], [AUDIT_MAX, now - AUDIT_KEPT_MS]);
      await insertMany(Array.from({ length: 5 }, () => anAct({ at: now })));
      const all = await store.listAudit(AUDIT_MAX + 10);
      assert.deepEqual([all.length, all[0]?.at], [AUDIT_MAX + 5, now - AUDIT_KEPT_MS]);
    }).timeout(120_000);

    it('accepts 2,000 actions a day from the keys of one account, and rolls the next one back', async () => {
      const accountId = acme.id;
      await store.insertAudit(anAct({ at: now - day, accountId }));
      const many = Array.from({ length: AUDIT_ACTS_PER_DAY - 1 }, () => anAct({ at: now, accountId }));
      await store.act('setPlan', ['other', 'team'], many);
      await store.act('setPlan', ['other', 'dev'], [anAct({ at: now + 1, accountId })]);
      await assert.rejects(
        store.act('setPlan', ['other', 'free'], [anAct({ at: now + 2, accountId })]),
        hasNoRoom(now + day),
      );
      assert.equal((await store.findAccount('other'))?.plan, 'dev');
      assert.equal((await store.listAudit(AUDIT_MAX)).length, AUDIT_ACTS_PER_DAY + 1);
      const others = [anAct({ at: now + 2, accountId: other.id }), anAct({ at: now + 2 })];
      for (const act of others) await store.act('setPlan', ['other', 'team'], [act]);
      await store.act('setPlan', ['other', 'free'], [anAct({ at: now + day, accountId })]);
    });

    it('has room for whatever only ends a right, even when it is full', async () => {
      const accountId = acme.id;
      const key = aKeyRecord({ accountId });
      await store.insertKey(key);
      await store.insertInvitations(
        [anInvitation(accountId, { id: 'invitation', expiresAt: now + day })],
        now,
      );
      for (const id of ['a', 'b', 'c']) await store.insertTunnel(aTunnel(accountId, { id, slug: id }));
      const full = Array.from({ length: AUDIT_ACTS_PER_DAY }, () => anAct({ at: now, accountId }));
      await store.act('setPlan', ['other', 'team'], full);
      const acts = () => [anAct({ at: now, accountId, action: 'team.access' })];
      const access = (fields: Partial<StoredAccess> | null) =>
        store.act('setAccess', ['c', { access: fields && anAccess(fields), kept: [] }, 'any'], acts());
      const net = ['192.0.2.0/24', '198.51.100.0/24'];
      const ends: readonly (() => Promise<unknown>)[] = [
        () => store.act('revokeKey', [key.id, now], acts()),
        () => store.act('revokeInvitation', ['invitation', now], acts()),
        () => store.act('setSuspension', ['other', 'spam'], acts()),
        () => store.act('suspendTunnel', ['a', 'spam'], acts()),
        () => access({ basic: [{ user: 'ann', hash: 'x' }], links: true, allow: net }),
        () => access({ basic: [{ user: 'ann', hash: 'y' }], allow: net }),
        () => access({ basic: [{ user: 'ann', hash: 'z' }], allow: net.slice(1) }),
      ];
      for (const end of ends) assert.ok(await end());
      const gives: readonly (() => Promise<unknown>)[] = [
        () => store.act('setSuspension', ['other', null], acts()),
        () => store.act('suspendTunnel', ['a', null], acts()),
        () => access({ basic: [{ user: 'ann', hash: 'z' }], allow: net.slice(1) }),
        () => access({ basic: [{ user: 'bob', hash: 'z' }], allow: net.slice(1) }),
        () => access({ links: true }),
        () => access({ allow: net.slice(1) }),
        () => access({ basic: [{ user: 'ann', hash: 'z' }], allow: net }),
        () => access(null),
      ];
      for (const [index, give] of gives.entries())
        await assert.rejects(give(), FullError, `the change ${index} was not refused`);
      assert.ok(await store.act('removeAccount', ['other', now], acts()));
    });

    it('is written together with the action, or neither is', async () => {
      await store.insertAudit(anAct({ id: 'taken' }));
      const key = aKeyRecord({ accountId: acme.id });
      const tunnel = aTunnel(acme.id, { slug: 'web' });
      await store.insertTunnel(tunnel);
      const before = await store.accessRevision(0);
      const twice = [anAct({ id: 'taken' })];
      for (const attempt of [
        () => store.act('insertAccounts', [[anAccount({ name: 'new' })], []], twice),
        () => store.act('setPlan', ['acme', 'team'], twice),
        () => store.act('setSuspension', ['acme', 'x'], twice),
        () => store.act('setSubdomain', ['acme', null, 0], twice),
        () => store.act('removeAccount', ['acme', 0], twice),
        () => store.act('insertKey', [key], twice),
        () => store.act('orderClose', [{ ...tunnel, heldUntil: 0 }, 1000], twice),
        () => store.act('suspendTunnel', [tunnel.id, 'x'], twice),
        () =>
          store.act('insertInvitations', [[anInvitation(acme.id)], 0, [anAccount({ name: 'new' })]], twice),
      ])
        await assert.rejects(attempt, StoreError);
      assert.equal(await store.accessRevision(0), before);
      assert.deepEqual([...(await store.listAccounts())].map(({ name }) => name).toSorted(), [
        'acme',
        'other',
      ]);
      assert.deepEqual(await store.findAccount('acme'), acme);
      assert.deepEqual([await store.listKeys(0), await store.listInvitations(0)], [[], []]);
      assert.equal((await store.findTunnel(tunnel.id))?.tunnel.suspended, null);

      await store.insertKey(key);
      await store.insertInvitations([anInvitation(acme.id, { id: 'invitation' })], 0);
      await assert.rejects(store.act('revokeKey', [key.id, 5], twice), StoreError);
      await assert.rejects(store.act('revokeInvitation', ['invitation', 5], twice), StoreError);
      assert.equal((await store.listKeys(0)).length, 1);
      assert.equal((await store.listInvitations(0)).length, 1);
      await store.suspendTunnel(tunnel.id, 'x');
      await store.releaseTunnels([{ ...tunnel, heldUntil: 0 }], 1000);
      await assert.rejects(store.act('resumeName', ['web', 0], twice), StoreError);
      assert.equal((await store.suspendedNames()).length, 1);
      assert.equal((await store.listAudit(10)).length, 1);
    });

    it('has no entry for a change of something unknown', async () => {
      assert.equal(await store.act('setPlan', ['nobody', 'team'], [anAct()]), undefined);
      assert.equal(await store.act('revokeInvitation', ['nothing', 0], [anAct()]), false);
      assert.deepEqual(await store.listAudit(10), []);
    });
  });

  describe('the address of a suspended tunnel', () => {
    const tunnel = aTunnel(acme.id, { slug: 'web', name: 'web' });
    const released = { id: tunnel.id, slug: 'web', accountId: acme.id, heldUntil: 0 };
    const name = { tunnelId: tunnel.id, slug: 'web', domain: null, account: 'acme', reason: 'phishing' };

    beforeEach(() => store.insertTunnel(tunnel));

    /** Tries to have the address again: as its account and as another one. */
    async function takers(now: number, domain: string | null = null): Promise<(string | undefined)[]> {
      const tries: (string | undefined)[] = [];
      for (const { id } of [acme, other])
        for (const again of [aTunnel(id, { slug: 'web' }), aTunnel(id, { domain })]) {
          if (again.slug !== 'web' && domain === null) continue;
          tries.push(
            await store.insertTunnel({ ...again, createdAt: now, expiresAt: now + 5 }).then(
              () => undefined,
              (error: unknown) => (error instanceof ConflictError ? error.field : String(error)),
            ),
          );
        }
      return tries;
    }

    for (const [end, act] of [
      ['is closed by its owner', () => store.releaseTunnels([released], 2000)],
      ['is closed by an operator', () => store.orderClose(released, 2000)],
      ['expires', () => store.releaseTunnels([{ ...released, expiredAt: tunnel.expiresAt }], 9_000_000)],
      ['is overdue', () => store.releaseOverdue({ until: 9_000_000, now: 9_000_000, nameHold: 0, limit: 5 })],
      ['has expired and is in the way of a new one', () => Promise.resolve()],
    ] as const)
      it(`stays suspended when the tunnel ${end}, until it is resumed`, async () => {
        await store.suspendTunnel(tunnel.id, 'phishing');
        await act();
        assert.deepEqual(await takers(9_000_000), ['slug', 'slug']);
        if (end.startsWith('has')) return;
        assert.deepEqual(await store.suspendedNames(), [name]);
        await assert.rejects(store.setSubdomain('other', 'web', 9_000_000), ConflictError);
        // What else relays say about the name, later or again, changes nothing.
        await store.releaseTunnels([{ ...released, heldUntil: 9_000_001 }], 2000);
        assert.equal(await store.resumeName('web', 0), true);
        assert.equal(await store.resumeName('web', 0), false);
        assert.deepEqual(await takers(9_000_000), [undefined, 'slug']);
      });

    it('stays suspended with its domain, whichever account owns that by now', async () => {
      for (const { id } of [acme, other]) {
        const domain = aDomain(id, 'shop.test');
        await store.insertDomain(domain, null);
        const release = { now: 0, nameHold: 0 };
        if (id === acme.id)
          await store.verifyDomain({ id: domain.id, instead: null, checkAt: 0, ...release });
      }
      const own = aTunnel(acme.id, { domain: 'shop.test' });
      await store.insertTunnel(own);
      await store.suspendTunnel(own.id, 'phishing');
      await store.releaseTunnels([{ ...own, heldUntil: 0 }], 2000);
      assert.deepEqual((await takers(3000, 'shop.test'))[1], 'domain');
      const [claim] = await store.domainsOf(acme.id);
      const [late] = await store.domainsOf(other.id);
      await store.verifyDomain({
        id: late?.id ?? '',
        instead: claim?.id ?? '',
        checkAt: 0,
        now: 3000,
        nameHold: 0,
      });
      assert.deepEqual((await takers(4000, 'shop.test'))[3], 'domain');
      await store.resumeName(own.slug, 0);
      assert.deepEqual((await takers(4000, 'shop.test'))[3], undefined);
    });

    it('stays suspended with its account, and is reserved for that when it ends', async () => {
      await store.setSuspension('acme', 'spam');
      await store.releaseTunnels([released], 2000);
      assert.deepEqual(await store.suspendedNames(), [{ ...name, reason: 'spam' }]);
      assert.deepEqual(await takers(3000), ['slug', 'slug']);
      await store.setSuspension('acme', null, 5000);
      assert.deepEqual(await store.suspendedNames(), []);
      assert.deepEqual(await nameHolders(store, [['web', 4999]]), [acme.id]);
      assert.deepEqual(await takers(3000), [undefined, 'slug']);
    });

    it('stays suspended when its account is resumed, if it was suspended itself', async () => {
      await store.suspendTunnel(tunnel.id, 'phishing');
      await store.setSuspension('acme', 'spam');
      await store.releaseTunnels([released], 2000);
      await store.setSuspension('acme', null);
      assert.deepEqual(await store.suspendedNames(), [name]);
    });

    it('outlives its account, whether it was suspended itself or with the account', async () => {
      const ended = aTunnel(acme.id, { slug: 'ended' });
      await store.insertTunnel(ended);
      await store.setSuspension('acme', 'spam');
      await store.releaseTunnels([{ ...ended, heldUntil: 0 }], 2000);
      await store.removeAccount('acme', 2000);
      assert.deepEqual(
        (await store.suspendedNames()).map(({ slug, account, reason }) => [slug, account, reason]),
        [
          ['ended', null, 'spam'],
          ['web', null, 'spam'],
        ],
      );
      await assert.rejects(store.insertTunnel(aTunnel(other.id, { slug: 'web' })), ConflictError);
      assert.equal(await store.resumeName('web', 0), true);
      await store.insertTunnel(aTunnel(other.id, { slug: 'web' }));
    });
  });

  it('does not recreate a key of a removed account', async () => {
    const key = aKeyRecord({ accountId: acme.id });
    await store.insertKey(key);
    await store.removeAccount('acme', 5);
    await assert.rejects(store.insertKey({ ...key, id: 'again', accountId: other.id }), isTaken('key'));
  });
});

function anAct(fields: Partial<AuditRecord> = {}): AuditRecord {
  const act = { actor: 'shell:ann', action: 'x', subject: 'y', detail: '', accountId: null };
  return { id: randomUUID(), at: 1, ...act, ...fields };
}
