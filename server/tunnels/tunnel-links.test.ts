import assert from 'node:assert/strict';
import { LinkTokens } from '../access/passes.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import {
  aLink,
  anAccess,
  anAccount,
  aStore,
  aTunnel,
  aTunnelService,
  aWish,
  storeAnswers,
  type TestStore,
} from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import type { TellPeers } from './lifecycle.ts';
import { TunnelRegistry } from './registry.ts';
import { LINKS_MAX, REVOKED_LINKS_MAX, TunnelLinks } from './links-and-approvals.ts';
import type { TunnelService } from './tunnel-service.ts';

const WANTED = aWish({ name: 'web', access: { access: anAccess({ links: true }), kept: [] } });
const LINK = { ttl: 60, note: 'for the review', path: undefined };

/** A relay, as far as links are concerned. */
interface Side {
  readonly service: TunnelService;
  readonly links: TunnelLinks;
  readonly registry: TunnelRegistry;
  /** slugs of tunnels whose visitors were reviewed */
  readonly reviewed: string[];
}

describe('TunnelLinks', () => {
  const account = anAccount();
  const rules = { maxLinks: LINKS_MAX + 1, maxRevoked: REVOKED_LINKS_MAX + 1 };
  let clock: FakeClock;
  let test: TestStore;
  let started: TunnelService[];

  beforeEach(async () => {
    clock = new FakeClock();
    test = await aStore(account);
    started = [];
  });

  afterEach(async () => {
    for (const service of started) await service.stop();
  });

  async function start(tellPeers?: TellPeers, store = test.store): Promise<Side> {
    const registry = new TunnelRegistry(new Set());
    const reviewed: string[] = [];
    const onAccess = ({ slug }: LiveTunnel) => reviewed.push(slug);
    const service = aTunnelService({ store, registry, clock, tellPeers, onAccess });
    await service.start();
    started.push(service);
    const links = new TunnelLinks({
      tunnels: service,
      store,
      clock,
      log: () => {},
      tokens: new LinkTokens(() => ({ current: 'secret', others: [] })),
    });
    return { service, links, registry, reviewed };
  }

  it('creates links that are described by their tokens', async () => {
    const { service, links } = await start();
    const { id } = await service.create(account, WANTED);
    const { link, token } = await links.create(account, id, LINK);
    const tokens = new LinkTokens(() => ({ current: 'secret', others: [] }));
    assert.deepEqual(tokens.read(token, { id, createdAt: clock.now() }, clock.now()), {
      id: link.id,
      note: 'for the review',
      end: link.expiresAt / 1000,
    });
  });

  it('creates at most 256, and reports when the next one ends', async () => {
    const { service, links } = await start();
    const { id } = await service.create(account, WANTED);
    const createdAt = clock.now();
    const expiresAt = createdAt + 60_000;
    for (let made = 1; made < LINKS_MAX; made += 1)
      await test.store.insertLink(aLink(id, { createdAt, expiresAt: expiresAt + 1 }), rules);
    const { link } = await links.create(account, id, LINK);
    await assert.rejects(links.create(account, id, LINK), (error: Error) => {
      assert.match(error.message, new RegExp(`256 .*, or wait until ${new Date(expiresAt).toISOString()},`));
      return true;
    });
    await links.revoke(account, id, link.id);
    await links.create(account, id, LINK);
  });

  it('creates none while 1,024 are known that were revoked before their end', async () => {
    const expiresAt = clock.now() + 60_000;
    const revokedLinks = Array.from(
      { length: REVOKED_LINKS_MAX },
      (_, index) => [`${index}`, expiresAt] as const,
    );
    const access = anAccess({ links: true });
    const tunnel = aTunnel(account.id, { revokedLinks, access, expiresAt: expiresAt + 60_000 });
    await test.store.insertTunnel(tunnel);
    const { links } = await start();
    await assert.rejects(links.create(account, tunnel.id, LINK), { status: 409 });
    clock.advance(60_000);
    await links.create(account, tunnel.id, LINK);
  });

  it('has visitors reviewed when a link is revoked, and knows it after a restart', async () => {
    const { service, links, reviewed, registry } = await start();
    const { id } = await service.create(account, WANTED);
    const { link } = await links.create(account, id, LINK);
    await links.revoke(account, id, link.id);
    assert.deepEqual(reviewed, ['web']);
    assert.equal(registry.byId(id)?.revokedLinks.has(link.id), true);
    const again = await start();
    assert.equal(again.registry.byId(id)?.revokedLinks.has(link.id), true);
  });

  it('learns of a revocation whose answer was lost on the next attempt', async () => {
    const { store } = test;
    let isLost = true;
    const lossy: Store = {
      ...store,
      async revokeLink(...given) {
        const revocation = await store.revokeLink(...given);
        if (isLost) throw new StoreError(new Error('lost'));
        return revocation;
      },
    };
    const { service, links, registry } = await start(undefined, lossy);
    const { id } = await service.create(account, WANTED);
    const { link } = await links.create(account, id, LINK);
    await assert.rejects(links.revoke(account, id, link.id), { status: 503 });
    isLost = false;
    await assert.rejects(links.revoke(account, id, link.id), { status: 404 });
    assert.equal(registry.byId(id)?.revokedLinks.has(link.id), true);
  });

  it('notifies other relays, which query the store', async () => {
    let other: Side | undefined = undefined as Side | undefined;
    const one = await start((news) => other?.service.coordination.hear(news));
    other = await start(() => {});
    const { id } = await one.service.create(account, WANTED);
    const { link } = await one.links.create(account, id, LINK);
    await other.service.coordination.followTunnel(id);
    const known = other.registry.byId(id) as LiveTunnel;
    assert.equal(known.revokedLinks.has(link.id), false);
    await one.links.revoke(account, id, link.id);
    await storeAnswers();
    assert.equal(known.revokedLinks.has(link.id), true);
    assert.deepEqual(other.reviewed, ['web']);
  });
});
