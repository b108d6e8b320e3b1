import assert from 'node:assert/strict';
import { aKeptName, aLink, anAccount, aTunnel, hasNoRoom, ofEach, useStore } from '../testing/fixtures.ts';
import type { LinkRecord, TunnelRecord } from './records.ts';

const RULES = { maxLinks: 9, maxRevoked: 9 };

describe('links of a kept name in the store', () => {
  const owner = anAccount();
  const stranger = anAccount({ name: 'stranger' });
  const store = useStore(owner, stranger);
  let tunnel: TunnelRecord;
  let links: LinkRecord[];

  const ENDS: Readonly<Record<string, (tunnel: TunnelRecord) => Promise<unknown>>> = {
    closed: (ended) => store.act('closeTunnel', [{ ...ended, heldUntil: 0 }, 2000], []),
    expired: (ended) => store.releaseTunnels([{ ...ended, heldUntil: 9000, expiredAt: 3_601_000 }], 3000),
    overdue: ({ expiresAt }) =>
      store.releaseOverdue({ until: expiresAt, now: expiresAt, nameHold: 0, limit: 9 }),
    stale: () => Promise.resolve(),
    'closed by the operator': (ended) => store.orderClose({ ...ended, heldUntil: 0 }, 2000),
    suspended: async (ended) => {
      await store.suspendTunnel(ended.id, 'spam');
      await store.releaseTunnels([{ ...ended, heldUntil: 0 }], 2000);
      await store.resumeName(ended.slug, 0);
    },
    'suspended with its account': async (ended) => {
      await store.setSuspension(owner.name, 'spam');
      await store.releaseTunnels([{ ...ended, heldUntil: 0 }], 2000);
      await store.setSuspension(owner.name, null);
    },
  };

  const keep = (accountId = owner.id): Promise<unknown> =>
    store.keepName(aKeptName(accountId, 'shop'), { maxNames: 1, nameHold: 0 });
  const release = (accountId = owner.id): Promise<unknown> =>
    store.act('releaseName', [{ name: 'shop', accountId }, 2000], []);
  const close = (): Promise<unknown> => store.act('closeTunnel', [{ ...tunnel, heldUntil: 0 }, 2000], []);

  /** A tunnel of the name with three links: a good one, a revoked one, and one that ends soon. */
  beforeEach(async () => {
    tunnel = await next(1000);
    links = [
      aLink(tunnel.linkScope, { once: true }),
      aLink(tunnel.linkScope),
      aLink(tunnel.linkScope, { expiresAt: 2500 }),
    ];
    for (const link of links) await store.insertLink(link, RULES);
    await store.revokeLink(tunnel.linkScope, links[1]?.id ?? '', 1500);
    await store.takeLink({ linkScope: tunnel.linkScope, id: links[0]?.id ?? '' }, 'a browser', 1500);
  });

  async function next(createdAt: number, accountId = owner.id): Promise<TunnelRecord> {
    const wanted = aTunnel(accountId, { slug: 'shop', name: 'shop', createdAt });
    return (await store.insertTunnel(wanted)).tunnel;
  }

  function idsOf(...indices: readonly number[]): string[] {
    return indices.map((index) => links[index]?.id ?? '').toSorted();
  }

  async function listed(scope = tunnel.linkScope, now = 2000): Promise<string[]> {
    return ofEach(await store.linksOf(scope, now), 'id').toSorted();
  }

  for (const [way, end] of Object.entries(ENDS))
    it(`are those of the next tunnel after one that was ${way}, and revoked ones stay revoked`, async () => {
      await keep();
      await end(tunnel);
      const after = await next(4_000_000);
      const { linkScope, linksSince } = tunnel;
      assert.notEqual(after.id, tunnel.id);
      assert.deepEqual([after.linkScope, after.linksSince], [linkScope, linksSince]);
      assert.deepEqual((await store.findTunnel(after.id))?.tunnel, after);
      assert.deepEqual(await listed(), idsOf(0, 2));
      assert.deepEqual(await listed(linkScope, 2500), [links[0]?.id]);
      const used = { linkScope, id: links[0]?.id ?? '' };
      assert.equal(await store.takeLink(used, 'another browser', 3000), 'a browser');
    });

  it('are known as revoked until their end, also those that a later tunnel has revoked', async () => {
    await keep();
    await close();
    tunnel = await next(2000);
    assert.deepEqual(tunnel.revokedLinks, [[links[1]?.id, 3_601_000]]);
    await store.revokeLink(tunnel.linkScope, links[2]?.id ?? '', 2000);
    await close();
    const ids = async (createdAt: number): Promise<string[]> => {
      tunnel = await next(createdAt);
      const { revokedLinks } = tunnel;
      await close();
      return revokedLinks.map(([id]) => id).toSorted();
    };
    assert.deepEqual(await ids(2499), idsOf(1, 2));
    assert.deepEqual(await ids(2500), [links[1]?.id]);
    assert.deepEqual(await ids(3_601_000), []);
  });

  it('count for the limits of the next tunnel', async () => {
    await keep();
    await close();
    tunnel = await next(2000);
    const more = () =>
      store.insertLink(aLink(tunnel.linkScope, { createdAt: 2000 }), { maxLinks: 3, maxRevoked: 2 });
    assert.equal(await more(), true);
    await assert.rejects(more(), hasNoRoom(2500));
  });

  it('end when the name is released, and stay so for its next owner', async () => {
    await keep();
    await close();
    await release();
    assert.deepEqual(await listed(), []);
    for (const account of [owner.id, stranger.id]) {
      await keep(account);
      const after = await next(2000, account);
      assert.notEqual(after.linkScope, tunnel.linkScope);
      assert.deepEqual(await store.linksOf(after.linkScope, 0), []);
      await release(account);
      await store.releaseTunnels([{ ...after, heldUntil: 0 }], 2000);
    }
  });

  it('go with a tunnel whose name was released before it ended', async () => {
    await keep();
    await release();
    assert.equal((await listed()).length, 2);
    await close();
    assert.deepEqual(await listed(), []);
  });

  it('end with a tunnel whose name is only held, or kept after its end', async () => {
    await store.releaseTunnels([{ ...tunnel, heldUntil: 9000 }], 2000);
    await keep();
    const after = await next(3000);
    assert.notEqual(after.linkScope, tunnel.linkScope);
    assert.deepEqual(await listed(), []);
  });

  it('go with their account', async () => {
    await keep();
    const name = aKeptName(owner.id, 'later');
    await store.keepName(name, { maxNames: 2, nameHold: 0 });
    const later = await store.insertTunnel(aTunnel(owner.id, { slug: 'later' }));
    await store.insertLink(aLink(name.linkScope), RULES);
    await store.releaseTunnels([{ ...later.tunnel, heldUntil: 0 }], 2000);
    await store.act('removeAccount', [owner.name, 2000], []);
    for (const scope of [tunnel.linkScope, name.linkScope]) assert.deepEqual(await listed(scope), []);
  });

  it('are all there or all gone, however keeping, ending and releasing meet', async () => {
    for (let round = 0; round < 40; round += 1) {
      const scope = tunnel.linkScope;
      await Promise.all([close(), keep(), close(), round % 3 === 0 ? release() : undefined]);
      [tunnel] = await Promise.all([next(2000), round % 2 === 0 ? release() : keep()]);
      const isKept = tunnel.linkScope === scope;
      assert.equal((await listed(scope)).length, isKept ? 2 : 0);
      assert.equal(tunnel.revokedLinks.length, isKept ? 1 : 0);
      if (isKept) continue;
      links = [aLink(tunnel.linkScope), aLink(tunnel.linkScope), aLink(tunnel.linkScope)];
      for (const link of links) await store.insertLink(link, RULES);
      await store.revokeLink(tunnel.linkScope, links[1]?.id ?? '', 1500);
    }
  });
});
