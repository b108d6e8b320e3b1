import assert from 'node:assert/strict';
import { NAME_PATTERN } from '../../shared/value-rules.ts';
import { PLAN_RULES } from '../accounts/accounts.ts';
import type { TunnelRecord } from '../store/records.ts';
import { StoreError, UnansweredError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import {
  allTunnels,
  anAccess,
  anAccount,
  aStore,
  aTunnel,
  aTunnelService,
  aWish,
  CALLER,
  ofEach,
  ofTunnels,
  type TestStore,
} from '../testing/fixtures.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import type { EndReason } from './lifecycle.ts';
import { TunnelRegistry } from './registry.ts';
import { randomSlug, SLUG_ATTEMPTS, SLUG_BITS, type TunnelService } from './tunnel-service.ts';

const HOUR = 3_600_000;
const MAX_TTL = 168 * 3600;
const FREE_TUNNELS = PLAN_RULES.free.maxTunnels ?? 0;

describe('TunnelService', () => {
  const account = anAccount();
  const stranger = anAccount();
  let clock: FakeClock;
  let test: TestStore;
  let registry: TunnelRegistry;
  let service: TunnelService;
  let ended: [slug: string, reason: EndReason][];
  let changed: string[];

  beforeEach(async () => {
    clock = new FakeClock();
    test = await aStore(account, stranger);
    await startAgain();
  });

  afterEach(() => service.stop());

  /** Simulates a new process with the same store. */
  async function startAgain(nameHold = 0): Promise<void> {
    registry = new TunnelRegistry(new Set(['www']));
    ended = [];
    changed = [];
    service = aTunnelService({
      store: test.store,
      registry,
      clock,
      nameHold,
      onAccess: ({ slug }) => changed.push(slug),
      onEnd: (tunnel, reason) => ended.push([tunnel.slug, reason]),
    });
    await service.start();
  }

  async function takenForStranger(): Promise<void> {
    await assert.rejects(service.create(stranger, aWish({ name: 'web' })), {
      status: 409,
      message: 'name already in use',
    });
  }

  async function storedSlugs(): Promise<string[]> {
    return await ofTunnels(test.store, 'slug');
  }

  describe('create', () => {
    it('creates a tunnel that routing finds and that is stored', async () => {
      const tunnel = await service.create(account, aWish({ name: 'web', idleTtl: true }));
      assert.equal(registry.bySlug('web'), tunnel);
      const { localPort, ttl, idle } = tunnel.terms;
      assert.deepEqual([localPort, ttl, idle, tunnel.name], [3000, 3600, true, 'web']);
      assert.equal(tunnel.createdAt, clock.now());
      assert.equal(tunnel.expiresAt, clock.now() + HOUR);
      assert.deepEqual(await storedSlugs(), ['web']);
    });

    it('applies changes of the account that happen while the tunnel is being stored', async () => {
      const creating = service.create(account, aWish());
      assert.ok(new Set(service.accountIds()).has(account.id));
      service.updateAccount({ ...account, suspended: 'spam' });
      assert.equal((await creating).account.suspended, 'spam');
    });

    it('chooses a slug if no name is given', async () => {
      const tunnel = await service.create(account, aWish());
      assert.equal(tunnel.name, '');
      assert.match(tunnel.slug, /^[a-z]{4}(?:-[a-z]{4}){3}$/);
    });

    it('gives up if every slug it draws is taken', async () => {
      let draws = 0;
      registry.reserve = () => {
        draws += 1;
        return false;
      };
      await assert.rejects(service.create(account, aWish()), { status: 409 });
      assert.equal(draws, SLUG_ATTEMPTS);
    });

    it('gives a name to only one of two simultaneous requests', async () => {
      const results = await Promise.allSettled([
        service.create(account, aWish({ name: 'web' })),
        service.create(stranger, aWish({ name: 'web' })),
      ]);
      assert.equal(results[0].status, 'fulfilled');
      assert.ok(results[1].status === 'rejected');
      assert.match(String(results[1].reason), /name already in use/);
    });

    it('refuses a reserved name', async () => {
      await assert.rejects(service.create(account, aWish({ name: 'www' })), {
        status: 409,
        body: { error: 'name already in use', code: 'name-reserved' },
      });
    });

    it("refuses a name that is an account's subdomain, and does not reserve it", async () => {
      await test.store.insertAccount(anAccount({ subdomain: 'acme' }));
      const wish = aWish({ name: 'acme' });
      await assert.rejects(service.create(account, wish), { status: 409, message: 'name already in use' });
      assert.deepEqual([registry.size, await storedSlugs()], [0, []]);
    });

    it('leaves nothing behind when the store fails', async () => {
      test.down = true;
      await assert.rejects(service.create(account, aWish({ name: 'web' })), { status: 503 });
      test.down = false;
      assert.deepEqual([registry.size, await storedSlugs()], [0, []]);
      await service.create(account, aWish({ name: 'web' }));
    });

    it('removes the tunnel again if the store did not confirm it', async () => {
      const insert = test.store.insertTunnel.bind(test.store);
      const unanswered = new StoreError(new UnansweredError(new Error('connection lost')));
      const store = new Proxy(test.store, {
        get: (target, property: keyof Store) =>
          property === 'insertTunnel'
            ? (tunnel: TunnelRecord) => insert(tunnel).then(() => Promise.reject(unanswered))
            : target[property].bind(target),
      });
      const cut = aTunnelService({ store, registry, clock, nameHold: 3600 });
      await assert.rejects(cut.create(account, aWish({ name: 'web' })), { status: 503 });
      assert.deepEqual(await storedSlugs(), ['web']);
      await cut.stop();
      assert.deepEqual(await storedSlugs(), []);
      assert.equal((await service.create(stranger, aWish({ name: 'web' }))).slug, 'web');
    });

    it('refuses a tunnel if other relays have used up the plan', async () => {
      const free = anAccount({ plan: 'free' });
      await test.store.insertAccount(free);
      for (let left = FREE_TUNNELS; left > 0; left -= 1) {
        await test.store.insertTunnel(aTunnel(free.id, { expiresAt: clock.now() + 60_000 }));
      }
      await assert.rejects(service.create(free, aWish()), { status: 403 });
      assert.equal(registry.size, 0);
    });

    it('refuses a name that only the store knows', async () => {
      await test.store.insertTunnel(aTunnel(stranger.id, { slug: 'web', expiresAt: clock.now() }));
      await assert.rejects(service.create(account, aWish({ name: 'web' })), { status: 409 });
      assert.equal(registry.size, 0);
    });
  });

  describe('list and get', () => {
    it("list an account's own tunnels, newest first", async () => {
      for (const name of ['one', 'two', 'three']) await service.create(account, aWish({ name }));
      await service.create(stranger, aWish({ name: 'other' }));
      const names = service.list(account).map((tunnel) => tunnel.name);
      assert.deepEqual(names, ['three', 'two', 'one']);
    });

    it("do not distinguish an unknown tunnel from another account's", async () => {
      const { id } = await service.create(stranger, aWish());
      for (const asked of [id, 'unknown', '']) {
        assert.throws(() => service.get(account, asked), { status: 404, message: 'tunnel not found' });
      }
    });
  });

  describe('close', () => {
    it('ends a tunnel and frees its name', async () => {
      const { id } = await service.create(account, aWish({ name: 'web' }));
      await service.close(account, id, CALLER);
      assert.deepEqual(ended, [['web', 'closed']]);
      assert.deepEqual([registry.size, await storedSlugs()], [0, []]);
      assert.throws(() => service.get(account, id), { status: 404 });
      await service.create(account, aWish({ name: 'web' }));
    });

    it("does not close another account's tunnel", async () => {
      const { id } = await service.create(stranger, aWish());
      await assert.rejects(service.close(account, id, CALLER), { status: 404 });
      assert.equal(registry.size, 1);
    });

    it('succeeds for only one of two simultaneous requests', async () => {
      const { id } = await service.create(account, aWish());
      const results = await Promise.allSettled([
        service.close(account, id, CALLER),
        service.close(account, id, CALLER),
      ]);
      // Either may be first if the store has several connections.
      assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
      assert.equal(ended.length, 1);
    });
  });

  describe('takeOver', () => {
    it('gives the tunnel the requested port and lifetime, even an earlier end', async () => {
      const tunnel = await service.create(account, aWish({ name: 'web', ttl: 4 * 3600 }));
      clock.advance(HOUR);
      assert.equal(await service.takeOver(tunnel, aWish({ localPort: 4000, ttl: 60, idleTtl: true })), true);
      const { localPort, ttl, idle } = tunnel.terms;
      assert.deepEqual([localPort, ttl, idle, tunnel.expiresAt], [4000, 60, true, clock.now() + 60_000]);
      clock.advance(60_000);
      assert.deepEqual(ended, [['web', 'expired']]);
    });

    it('is known to a restarted relay', async () => {
      const { id, createdAt } = await service.create(account, aWish({ name: 'web' }));
      clock.advance(1000);
      await service.takeOver(service.get(account, id), aWish({ localPort: 4000, ttl: 7200 }));
      await service.stop();
      await startAgain();
      const tunnel = service.get(account, id);
      assert.deepEqual([tunnel.terms.localPort, tunnel.createdAt], [4000, createdAt]);
      assert.equal(tunnel.expiresAt, clock.now() + 2 * HOUR);
    });

    it('replaces the access policy', async () => {
      const tunnel = await service.create(account, aWish({ name: 'web' }));
      await service.takeOver(tunnel, aWish({ access: { access: anAccess({ links: true }), kept: [] } }));
      assert.deepEqual(tunnel.access?.view(new Map()), { links: true });
      await service.takeOver(tunnel, aWish());
      assert.deepEqual([tunnel.access, changed], [undefined, ['web', 'web']]);
    });

    it('applies to no tunnel of another account, no expired one, and none without a requested name', async () => {
      const want = { ...aWish({ name: 'web' }), takeOver: true };
      const tunnel = await service.create(account, aWish({ name: 'web' }));
      const random = await service.create(account, aWish());
      assert.equal(service.findExisting(account, want), tunnel);
      assert.equal(service.findExisting(account, { ...want, takeOver: false }), undefined);
      assert.equal(service.findExisting(account, { ...want, name: random.slug }), undefined);
      assert.equal(service.findExisting(account, { ...want, name: '' }), undefined);
      assert.equal(service.findExisting(stranger, want), undefined);
      clock.advance(HOUR);
      assert.equal(service.findExisting(account, want), undefined);
    });
  });

  describe('extend', () => {
    it("moves the expiry by the tunnel's own ttl, or by another", async () => {
      const { id, expiresAt } = await service.create(account, aWish());
      assert.equal((await service.extend(account, id, undefined, CALLER)).expiresAt, expiresAt + HOUR);
      assert.equal((await service.extend(account, id, 60, CALLER)).expiresAt, expiresAt + HOUR + 60_000);
      assert.equal((await allTunnels(test.store))[0]?.tunnel.expiresAt, expiresAt + HOUR + 60_000);
    });

    it('loses none of several simultaneous extensions', async () => {
      const { id, expiresAt } = await service.create(account, aWish());
      await Promise.all([1, 2, 3].map((ttl) => service.extend(account, id, ttl, CALLER)));
      assert.equal(service.get(account, id).expiresAt, expiresAt + 6000);
    });

    it('goes no further than now plus the maximum', async () => {
      const { id } = await service.create(account, aWish());
      const rest = MAX_TTL - 3600;
      await assert.rejects(service.extend(account, id, rest + 1, CALLER), {
        status: 400,
        message: 'ttl must be at most 168h0m0s',
      });
      await service.extend(account, id, rest, CALLER);
    });

    it('continues after one that failed', async () => {
      const { id, expiresAt } = await service.create(account, aWish());
      const results = await Promise.allSettled(
        [MAX_TTL, 60].map((ttl) => service.extend(account, id, ttl, CALLER)),
      );
      assert.deepEqual(ofEach(results, 'status'), ['rejected', 'fulfilled']);
      assert.equal(service.get(account, id).expiresAt, expiresAt + 60_000);
    });

    it('does not revive a tunnel that was closed at the same time', async () => {
      const { id } = await service.create(account, aWish());
      const closed = service.close(account, id, CALLER);
      await assert.rejects(service.extend(account, id, 60, CALLER), { status: 404 });
      await closed;
      assert.deepEqual(await storedSlugs(), []);
    });
  });

  it('changes nothing when the store fails', async () => {
    const tunnel = await service.create(account, aWish({ name: 'web' }));
    const { id, expiresAt } = tunnel;
    test.down = true;
    for (const change of [
      service.close(account, id, CALLER),
      service.takeOver(tunnel, aWish({ localPort: 4000 })),
      service.extend(account, id, 60, CALLER),
    ])
      await assert.rejects(change, { status: 503 });
    assert.deepEqual([service.get(account, id), ended], [tunnel, []]);
    assert.deepEqual([tunnel.terms.localPort, tunnel.expiresAt], [3000, expiresAt]);
  });

  describe('expiry', () => {
    it('ends a tunnel even while the store is down', async () => {
      const { id } = await service.create(account, aWish({ name: 'web' }));
      test.down = true;
      clock.advance(HOUR);
      assert.deepEqual(ended, [['web', 'expired']]);
      assert.throws(() => service.get(account, id), { status: 404 });
    });

    it('frees the name immediately', async () => {
      await service.create(account, aWish({ name: 'web' }));
      clock.advance(HOUR);
      const again = await service.create(stranger, aWish({ name: 'web' }));
      assert.equal(registry.bySlug('web'), again);
      assert.deepEqual(await storedSlugs(), ['web']);
    });
  });

  describe('a plan', () => {
    const free = anAccount({ plan: 'free' });

    beforeEach(() => test.store.insertAccount(free));

    it('limits the number of tunnels, including those that are being created', async () => {
      const made: Promise<LiveTunnel>[] = [];
      for (let count = 0; count < FREE_TUNNELS; count += 1) {
        service.assertCapacity(free);
        made.push(service.create(free, aWish({ ttl: 3600 - count })));
      }
      assert.throws(() => service.assertCapacity(free), { status: 403 });
      await Promise.all(made);
      const next = new Date(clock.now() + (3600 - FREE_TUNNELS + 1) * 1000).toISOString();
      assert.throws(() => service.assertCapacity(free), {
        status: 403,
        message: `the Free plan allows ${FREE_TUNNELS} tunnels at a time; close one, or wait until ${next}, when the next one expires`,
      });
      service.assertCapacity(account);
      const [last] = service.list(free);
      await service.close(free, last?.id ?? '', CALLER);
      service.assertCapacity(free);
    });

    it('limits how far an expiry can be moved', async () => {
      const { id } = await service.create(free, aWish());
      await assert.rejects(service.extend(free, id, 24 * 3600, CALLER), {
        status: 400,
        message: 'ttl must be at most 24h0m0s',
      });
      await service.extend({ ...free, plan: 'dev' }, id, 24 * 3600, CALLER);
    });

    it("applies to the account's tunnels when it changes", async () => {
      const tunnel = await service.create(account, aWish());
      service.updateAccount({ ...account, plan: 'team' });
      assert.equal(tunnel.account.plan, 'team');
    });
  });

  it('ends the tunnels of a deleted account, and no others', async () => {
    await service.create(account, aWish({ name: 'one' }));
    await service.create(stranger, aWish({ name: 'other' }));
    assert.deepEqual(new Set(service.accountIds()), new Set([account.id, stranger.id]));
    service.endAccount(account.id);
    assert.deepEqual(ended, [['one', 'removed']]);
    assert.deepEqual(new Set(service.accountIds()), new Set([stranger.id]));
  });

  describe('the name of an ended tunnel', () => {
    const HOLD = 24 * 3600;

    beforeEach(async () => {
      await service.stop();
      await startAgain(HOLD);
    });

    /** Ends the tunnel, and says how long ago that was, in ms. */
    const ends: Readonly<Record<string, () => Promise<number>>> = {
      'after a close, also after a restart': async () => {
        await service.close(account, (await service.create(account, aWish({ name: 'web' }))).id, CALLER);
        await takenForStranger();
        await service.stop();
        await startAgain(HOLD);
        return 0;
      },
      'after an expiry, counted from then': async () => {
        await service.create(account, aWish({ name: 'web' }));
        clock.advance(HOUR);
        return 0;
      },
      'if it expired while no relay was running': async () => {
        await service.create(account, aWish({ name: 'web' }));
        await service.stop();
        clock.advance(2 * HOUR);
        await startAgain(HOLD);
        return HOUR;
      },
    };
    for (const [when, end] of Object.entries(ends))
      it(`is reserved for its account ${when}`, async () => {
        const since = await end();
        await takenForStranger();
        clock.advance(HOLD * 1000 - since - 1);
        await takenForStranger();
        clock.advance(1);
        assert.equal((await service.create(stranger, aWish({ name: 'web' }))).slug, 'web');
      });

    it('is immediately available to its own account', async () => {
      await service.close(account, (await service.create(account, aWish({ name: 'web' }))).id, CALLER);
      assert.equal((await service.create(account, aWish({ name: 'web' }))).slug, 'web');
    });

    it('is reserved even if it was generated', async () => {
      const { id, slug } = await service.create(account, aWish());
      await service.close(account, id, CALLER);
      await assert.rejects(service.create(stranger, aWish({ name: slug })), { status: 409 });
    });

    it('is not assigned while the store fails', async () => {
      test.down = true;
      await assert.rejects(service.create(stranger, aWish({ name: 'web' })), { status: 503 });
    });
  });

  describe('start', () => {
    it('restores acknowledged tunnels, with their counters and deadlines', async () => {
      const before = await service.create(account, aWish({ name: 'web' }));
      before.countIn(10);
      await service.stop();
      clock.advance(HOUR / 2);
      await startAgain();
      const after = service.get(account, before.id);
      assert.deepEqual(
        [after.slug, after.totals.bytesIn, after.expiresAt, after.createdAt],
        ['web', 10, before.expiresAt, before.createdAt],
      );
      clock.advance(HOUR / 2);
      assert.deepEqual(ended, [['web', 'expired']]);
    });

    it('removes tunnels that have expired', async () => {
      await service.create(account, aWish({ name: 'web' }));
      await service.stop();
      clock.advance(HOUR);
      await startAgain();
      assert.deepEqual([registry.size, await storedSlugs()], [0, []]);
    });
  });

  describe('a change of the wall clock', () => {
    for (const jump of [HOUR, -HOUR, 720 * HOUR]) {
      const by = `by ${jump / HOUR} h`;

      it(`${by} does not change how far a life can be extended`, async () => {
        const { id } = await service.create(account, aWish());
        clock.jump(jump);
        await service.extend(account, id, MAX_TTL - 3600, CALLER);
        await assert.rejects(service.extend(account, id, 1, CALLER), { status: 400 });
      });

      it(`${by} and back again is forgotten, also by a relay that starts after it`, async () => {
        const tunnel = await service.create(account, aWish({ name: 'web', idleTtl: true }));
        clock.jump(jump);
        clock.advance(HOUR / 4);
        tunnel.countIn(1);
        clock.jump(-jump);
        await service.stop();
        await startAgain();
        clock.advance(HOUR - 1);
        assert.deepEqual(ended, []);
        clock.advance(1);
        assert.deepEqual(ended, [['web', 'expired']]);
      });
    }

    it('counts at the next start, because no other clock has measured the time: an expired tunnel is not revived', async () => {
      await service.create(account, aWish({ name: 'web' }));
      clock.jump(720 * HOUR);
      await service.stop();
      await startAgain();
      assert.equal(registry.size, 0);
      clock.jump(-720 * HOUR);
      await service.stop();
      await startAgain();
      assert.deepEqual([registry.size, await storedSlugs()], [0, []]);
    });

    it('does not revive at the next start what expired before it', async () => {
      await service.create(account, aWish({ name: 'web' }));
      clock.advance(HOUR);
      await service.stop();
      clock.jump(-2 * HOUR);
      await startAgain();
      assert.deepEqual([registry.size, await storedSlugs()], [0, []]);
    });
  });

  it('has no timer left after stop', async () => {
    await service.create(account, aWish());
    await service.stop();
    assert.equal(clock.pending, 0);
  });
});

describe('randomSlug', () => {
  it('has at least 50 random bits', () => {
    assert.ok(SLUG_BITS >= 50, `${SLUG_BITS} bits`);
  });

  it('has those bits because each of its 8 draws out of 80 gives another slug', () => {
    const slugs = new Set<string>();
    for (let changed = 0; changed < 8; changed += 1) {
      for (let value = 0; value < 80; value += 1) {
        let draws = 0;
        const slug = randomSlug((below) => {
          assert.equal(below, 80);
          draws += 1;
          return draws - 1 === changed ? value : 0;
        });
        assert.equal(draws, 8);
        slugs.add(slug);
      }
    }
    // 8 times 79 values other than 0, and the one of all zeros.
    assert.equal(slugs.size, 8 * 79 + 1);
  });

  it('reads as four short words', () => {
    for (let i = 0; i < 200; i += 1) {
      const slug = randomSlug();
      assert.match(slug, /^(?:[a-z][aeiou]){2}(?:-(?:[a-z][aeiou]){2}){3}$/);
      assert.match(slug, NAME_PATTERN);
    }
  });
});
