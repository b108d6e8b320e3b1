import assert from 'node:assert/strict';
import { aLink, allTunnels, anAccount, aTunnel, hasNoRoom, useStore } from '../testing/fixtures.ts';
import type { TunnelRecord } from './records.ts';

const RULES = { maxLinks: 3, maxRevoked: 2 };

describe('links in the store', () => {
  const owner = anAccount();
  const store = useStore(owner);
  let tunnel: TunnelRecord;

  beforeEach(async () => {
    tunnel = aTunnel(owner.id);
    await store.insertTunnel(tunnel);
  });

  async function revoked(): Promise<unknown> {
    return (await store.findTunnel(tunnel.id))?.tunnel.revokedLinks;
  }

  it('are listed newest first, unchanged, and separately for each tunnel', async () => {
    const other = aTunnel(owner.id);
    await store.insertTunnel(other);
    await store.insertLink(aLink(other.id), RULES);
    const links = [30, 10, 20].map((createdAt) =>
      aLink(tunnel.id, { createdAt, path: '/a?b=c', note: 'Ä 🦊' }),
    );
    for (const link of links) assert.equal(await store.insertLink(link, RULES), true);
    assert.deepEqual(await store.linksOf(tunnel.id, 1000), [links[0], links[2], links[1]]);
  });

  it('belong to the first browser that takes them, until they are revoked', async () => {
    const link = aLink(tunnel.id, { once: true });
    await store.insertLink(link, RULES);
    assert.equal(await store.takeLink({ ...link, linkScope: 'other' }, 'a', 2000), undefined);
    const takers = ['a', 'b', 'c'].map(async (browser) => await store.takeLink(link, browser, 2000));
    const [first = ''] = await Promise.all(takers);
    assert.deepEqual(await Promise.all(takers), [first, first, first]);
    assert.equal(await store.takeLink(link, 'd', 3000), first);
    assert.deepEqual(await store.linksOf(tunnel.id, 1000), [{ ...link, usedAt: 2000, usedBy: first }]);
    await store.revokeLink(tunnel.id, link.id, 1000);
    assert.equal(await store.takeLink(link, first, 3000), undefined);
  });

  it('need a tunnel', async () => {
    assert.equal(await store.insertLink(aLink('unknown'), RULES), false);
    assert.deepEqual(await store.linksOf('unknown', 0), []);
    assert.equal(await store.revokeLink('unknown', 'a', 0), undefined);
  });

  it('are omitted after their expiry, and deleted with the next one', async () => {
    const link = aLink(tunnel.id, { expiresAt: 2000 });
    await store.insertLink(link, RULES);
    assert.deepEqual(await store.linksOf(tunnel.id, 1999), [link]);
    assert.deepEqual(await store.linksOf(tunnel.id, 2000), []);
    await store.insertLink(aLink(tunnel.id, { createdAt: 2000 }), RULES);
    assert.equal((await store.linksOf(tunnel.id, 0)).length, 1);
  });

  it('are revoked once, and the tunnel lists them', async () => {
    const link = aLink(tunnel.id);
    const kept = aLink(tunnel.id);
    for (const each of [link, kept]) await store.insertLink(each, RULES);
    const gone = [[link.id, link.expiresAt]];
    assert.deepEqual(await store.revokeLink(tunnel.id, link.id, 1000), { isFirst: true, revoked: gone });
    assert.deepEqual(await store.revokeLink(tunnel.id, link.id, 1000), { isFirst: false, revoked: gone });
    assert.deepEqual(await store.linksOf(tunnel.id, 1000), [kept]);
    assert.deepEqual(await revoked(), gone);
    assert.deepEqual((await allTunnels(store))[0]?.tunnel.revokedLinks, gone);
  });

  it('cannot be revoked through another tunnel or after their expiry', async () => {
    const other = aTunnel(owner.id);
    await store.insertTunnel(other);
    const link = aLink(tunnel.id);
    await store.insertLink(link, RULES);
    const not = { isFirst: false, revoked: [] };
    assert.deepEqual(await store.revokeLink(other.id, link.id, 1000), not);
    assert.deepEqual(await store.revokeLink(tunnel.id, link.id, link.expiresAt), not);
    assert.deepEqual(await revoked(), []);
  });

  it('have a limit, which does not count expired ones', async () => {
    for (const expiresAt of [3000, 2000, 4000])
      await store.insertLink(aLink(tunnel.id, { expiresAt }), RULES);
    await assert.rejects(store.insertLink(aLink(tunnel.id, { createdAt: 1999 }), RULES), hasNoRoom(2000));
    assert.equal(await store.insertLink(aLink(tunnel.id, { createdAt: 2000 }), RULES), true);
  });

  it('have a separate limit once revoked, and are deleted at their expiry', async () => {
    for (const expiresAt of [3000, 2000]) {
      const link = aLink(tunnel.id, { expiresAt });
      await store.insertLink(link, RULES);
      await store.revokeLink(tunnel.id, link.id, 1000);
    }
    await assert.rejects(store.insertLink(aLink(tunnel.id, { createdAt: 1999 }), RULES), hasNoRoom(2000));
    const link = aLink(tunnel.id, { createdAt: 2000 });
    assert.equal(await store.insertLink(link, RULES), true);
    await store.revokeLink(tunnel.id, link.id, 3000);
    assert.deepEqual(await revoked(), [[link.id, link.expiresAt]]);
  });

  it('are removed with their tunnel, whichever way it ends', async () => {
    const ways: ((tunnel: TunnelRecord) => Promise<unknown>)[] = [
      ({ id, slug }) => store.releaseTunnels([{ id, slug, accountId: owner.id, heldUntil: 0 }], 1000),
      ({ expiresAt }) => store.releaseOverdue({ until: expiresAt, now: expiresAt, nameHold: 0, limit: 9 }),
      ({ slug }) => store.insertTunnel(aTunnel(owner.id, { slug, createdAt: 9_000_000 })),
      () => store.removeAccount(owner.name, 0),
    ];
    for (const end of ways) {
      const ending = aTunnel(owner.id);
      await store.insertTunnel(ending);
      await store.insertLink(aLink(ending.id), RULES);
      await end(ending);
      assert.deepEqual(await store.linksOf(ending.id, 0), []);
    }
  });

  it('become invalid when the secrets are renewed, together with the audit entry, and other secrets stay', async () => {
    const names = ['pass 1', 'links 1', 'session tickets 1', 'dns zones'];
    const secrets = async (): Promise<string[]> =>
      await Promise.all(names.map(async (name) => await store.relaySecret(name, 1)));
    const before = await secrets();
    const revision = await store.accessRevision(1);
    await store.insertLink(aLink(tunnel.id), RULES);
    const act = { id: 'act', at: 5, actor: 'cli', action: 'secrets.renew', subject: '', detail: '' };
    assert.equal(await store.act('renewSecrets', [], [{ ...act, accountId: null }]), 1);
    assert.deepEqual(await store.linksOf(tunnel.id, 1000), []);
    assert.deepEqual({ ...(await store.listAudit(1))[0] }, { ...act, accountId: null });
    assert.notEqual(await store.accessRevision(1), revision);
    assert.deepEqual(
      (await secrets()).map((secret, index) => secret === before[index]),
      [false, false, false, true],
    );
  });
});
