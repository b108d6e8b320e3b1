import assert from 'node:assert/strict';
import { LinkTokens } from '../access/passes.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { aLink, anAccess, aTunnel, aWish, storeAnswers } from '../testing/fixtures.ts';
import { type Side, TunnelWorld } from '../testing/tunnel-script.ts';
import { LINKS_MAX, REVOKED_LINKS_MAX, TunnelLinks } from './links-and-approvals.ts';

const WANTED = aWish({ name: 'web', access: { access: anAccess({ links: true }), kept: [] } });
const LINK = { ttl: 60, note: 'for the review', path: undefined };
const RULES = { maxLinks: LINKS_MAX + 1, maxRevoked: REVOKED_LINKS_MAX + 1 };

describe('TunnelLinks', () => {
  const tokens = new LinkTokens(() => ({ current: 'secret', others: [] }));
  let world: TunnelWorld;
  let one: Side;
  let links: TunnelLinks;

  beforeEach(() => begin());
  afterEach(() => world.stop());

  async function begin(options: { isShared?: boolean; wrap?: (store: Store) => Store } = {}): Promise<void> {
    world = await TunnelWorld.start(options);
    const { clock, sides, test } = world;
    [one] = sides as [Side];
    const store = options.wrap?.(test.store) ?? test.store;
    links = new TunnelLinks({ tunnels: one.service, store, clock, log: () => {}, tokens });
  }

  /** @returns the id of a tunnel with a link, and of that link */
  async function aLinkedTunnel(): Promise<[tunnel: string, link: string]> {
    const { id } = await one.service.create(world.account, WANTED);
    const { link } = await links.create(world.account, id, LINK);
    return [id, link.id];
  }

  it('creates links that are described by their tokens', async () => {
    const { account, clock } = world;
    const tunnel = await one.service.create(account, WANTED);
    const { link, token } = await links.create(account, tunnel.id, LINK);
    assert.deepEqual(tokens.read(token, tunnel, clock.now()), {
      id: link.id,
      note: 'for the review',
      end: link.expiresAt / 1000,
    });
  });

  it('creates at most 256, and reports when the next one ends', async () => {
    const { account, clock, test } = world;
    const createdAt = clock.now();
    const expiresAt = createdAt + 60_000;
    const [id, link] = await aLinkedTunnel();
    const scope = one.registry.byId(id)?.linkScope ?? assert.fail();
    for (let made = 1; made < LINKS_MAX; made += 1)
      await test.store.insertLink(aLink(scope, { createdAt, expiresAt: expiresAt + 1 }), RULES);
    await assert.rejects(links.create(account, id, LINK), {
      message: new RegExp(`256 .*, or wait until ${new Date(expiresAt).toISOString()},`),
    });
    await links.revoke(account, id, link);
    await links.create(account, id, LINK);
  });

  it('creates none while 1,024 are known that were revoked before their end', async () => {
    const { account, clock, test } = world;
    const expiresAt = clock.now() + 60_000;
    const revokedLinks = Array.from(
      { length: REVOKED_LINKS_MAX },
      (_, index) => [`${index}`, expiresAt] as const,
    );
    const access = anAccess({ links: true });
    const tunnel = aTunnel(account.id, { revokedLinks, access, expiresAt: expiresAt + 60_000 });
    await test.store.insertTunnel(tunnel);
    await world.check('restart');
    links = new TunnelLinks({ tunnels: one.service, store: test.store, clock, log: () => {}, tokens });
    await assert.rejects(links.create(account, tunnel.id, LINK), { status: 409 });
    clock.advance(60_000);
    await links.create(account, tunnel.id, LINK);
  });

  it('has visitors reviewed when a link is revoked, and knows it after a restart', async () => {
    const [id, link] = await aLinkedTunnel();
    await links.revoke(world.account, id, link);
    assert.deepEqual(one.changed, ['web']);
    assert.equal(one.registry.byId(id)?.revokedLinks.has(link), true);
    await world.check('restart');
    assert.equal(one.registry.byId(id)?.revokedLinks.has(link), true);
  });

  it('learns of a revocation whose answer was lost on the next attempt', async () => {
    let isLost = true;
    await begin({
      wrap: (store) => ({
        ...store,
        async revokeLink(...given) {
          const revocation = await store.revokeLink(...given);
          if (isLost) throw new StoreError(new Error('lost'));
          return revocation;
        },
      }),
    });
    const [id, link] = await aLinkedTunnel();
    await assert.rejects(links.revoke(world.account, id, link), { status: 503 });
    isLost = false;
    await assert.rejects(links.revoke(world.account, id, link), { status: 404 });
    assert.equal(one.registry.byId(id)?.revokedLinks.has(link), true);
  });

  it('notifies other relays, which query the store', async () => {
    await begin({ isShared: true });
    const two = world.sides[1] ?? assert.fail();
    const [id, link] = await aLinkedTunnel();
    await two.service.coordination.followTunnel(id);
    const known = two.registry.byId(id);
    assert.equal(known?.revokedLinks.has(link), false);
    await links.revoke(world.account, id, link);
    world.deliver();
    await storeAnswers();
    assert.deepEqual([known?.revokedLinks.has(link), two.changed], [true, ['web']]);
  });
});
