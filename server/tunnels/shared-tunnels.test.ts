import assert from 'node:assert/strict';
import type { OwnedTunnel } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import {
  allTunnels,
  anAccount,
  aStore,
  aTunnel,
  aTunnelService,
  aWish,
  CALLER,
  ofEach,
  storeAnswers,
  type TestStore,
} from '../testing/fixtures.ts';
import type { EndReason, TunnelNews } from './lifecycle.ts';
import { LiveTunnel } from './live-tunnel.ts';
import { TunnelRegistry } from './registry.ts';
import { FOLLOW_BATCH, IDLE_GRACE_MS } from './shared-expiry.ts';
import {
  bySlug,
  LOOKUP_BATCH,
  LOOKUP_MISS_MS,
  LOOKUP_MISSES_MAX,
  LOOKUPS_MAX,
  LOOKUPS_WAITING_MAX,
  NameLookup,
  RECENT_MS,
  RecentIds,
  REVIEW_PAUSE_MS,
  REVIEW_RETRY_MS,
  StoreReview,
} from './shared-tunnels.ts';
import type { TunnelService } from './tunnel-service.ts';

const wanted = aWish({ name: 'web', ttl: 60 });

/** One of several relays, as far as its tunnels are concerned. */
interface Side {
  readonly service: TunnelService;
  readonly registry: TunnelRegistry;
  readonly ended: EndReason[];
}

/** Where a visitor of a host ends up, and whether the relay had to ask the store. */
async function at({ service }: Side, label: string): Promise<[slug: string | undefined, asks: boolean]> {
  const { coordination } = service;
  const known = coordination.byLabel(label);
  if (known !== undefined) return [known.slug, false];
  return [(await coordination.findByLabel?.(label))?.slug, true];
}

describe('TunnelService, sharing its database with another', () => {
  const account = anAccount();
  let clock: FakeClock;
  let test: TestStore;
  /** number of tunnels in each query to the store, one by one or in batches */
  let asked: number[];
  /** notifications in transit */
  let posted: TunnelNews[];
  /** delays the answers to lookups of slugs */
  let held: Promise<void> | undefined;
  let one: Side;
  let two: Side;

  beforeEach(async () => {
    clock = new FakeClock();
    test = await aStore(account);
    posted = [];
    held = undefined;
    asked = [];
    one = await aSide();
    two = await aSide();
  });

  afterEach(async () => {
    for (const { service } of [one, two]) await service.stop();
  });

  async function aSide(): Promise<Side> {
    const registry = new TunnelRegistry(new Set());
    const ended: EndReason[] = [];
    const changed: string[] = [];
    const service = aTunnelService({
      store: counted(),
      registry,
      clock,
      ttl: { defaultTtl: 3600, maxTtl: 7200 },
      tellPeers: (news) => posted.push(news),
      onAccess: ({ slug }) => changed.push(slug),
      onEnd: (_tunnel, reason) => ended.push(reason),
    });
    await service.start();
    return { service, registry, ended };
  }

  /** The store, with all queries for tunnels by id counted. */
  function counted(): Store {
    return new Proxy(test.store, {
      get(target, property: keyof Store) {
        const method: unknown = target[property];
        assert.ok(typeof method === 'function');
        return (...args: readonly unknown[]): unknown => {
          if (property === 'findTunnels') asked.push((args[0] as readonly string[]).length);
          if (property === 'findTunnel') asked.push(1);
          const answer: unknown = method.apply(target, args);
          return property === 'findTunnelsBySlug' && held !== undefined ? held.then(() => answer) : answer;
        };
      },
    });
  }

  function deliver(): void {
    for (const news of posted.splice(0))
      for (const { service } of [one, two]) service.coordination.hear(news);
  }

  /** Looks up a slug, as for a visitor. */
  async function find({ service }: Side, slug: string): Promise<LiveTunnel | undefined> {
    return await service.coordination.find?.(slug);
  }

  /** Lets time pass, with an occasional flush. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(Math.min(100, left));
      await storeAnswers();
    }
  }

  it('finds a new tunnel of the other immediately, by its slug and in the API', async () => {
    assert.equal(await find(two, 'web'), undefined);
    const made = await one.service.create(account, wanted);
    deliver();
    const found = await find(two, 'web');
    assert.deepEqual([found?.id, found?.expiresAt], [made.id, made.expiresAt]);
    assert.equal(two.registry.bySlug('web'), found);
    const three = await aSide();
    await three.service.coordination.followAccount(account);
    assert.deepEqual(ofEach(three.service.list(account), 'id'), [made.id]);
    await three.service.stop();
  });

  describe('with a wildcard tunnel', () => {
    const wild = { ...wanted, wildcard: true };

    it('asks the store once for each host, and prefers a tunnel of that name of the other', async () => {
      await one.service.create(account, wild);
      deliver();
      assert.deepEqual(await at(two, 'a--web'), ['web', true]);
      assert.deepEqual(await at(two, 'a--web'), ['web', false]);
      await one.service.create(account, { ...wanted, name: 'a--web' });
      deliver();
      assert.deepEqual(await at(two, 'a--web'), ['a--web', true]);
      assert.deepEqual(await at(two, 'a--web'), ['a--web', false]);
      assert.deepEqual(await at(two, 'x--a--web'), ['web', true]);
      await one.service.create(account, { ...wild, name: 'b--web' });
      deliver();
      assert.deepEqual(await at(two, 'x--b--web'), ['b--web', true]);
    });

    it('keeps serving known hosts while the store is down, and learns about new tunnels in the background', async () => {
      await one.service.create(account, wild);
      deliver();
      await at(two, 'a--web');
      test.down = true;
      clock.advance(LOOKUP_MISS_MS);
      assert.deepEqual(await at(two, 'a--web'), ['web', false]);
      assert.deepEqual(await at(two, 'new--web'), ['web', true]);
      await assert.rejects(at(two, 'a--other'), StoreError);
      test.down = false;
      // Its notification is lost.
      await one.service.create(account, { ...wanted, name: 'a--web' });
      clock.advance(LOOKUP_MISS_MS);
      assert.deepEqual(await at(two, 'a--web'), ['web', false]);
      await storeAnswers();
      assert.deepEqual(await at(two, 'a--web'), ['a--web', false]);
    });

    it('serves its hosts as soon as the other has taken it over as one, and no longer afterwards', async () => {
      const made = await one.service.create(account, wanted);
      deliver();
      assert.deepEqual(await at(two, 'a--web'), [undefined, true]);
      await one.service.takeOver(made, wild);
      deliver();
      await storeAnswers();
      assert.equal((await at(two, 'a--web'))[0], 'web');
      await one.service.takeOver(made, wanted);
      deliver();
      await storeAnswers();
      assert.equal((await at(two, 'a--web'))[0], undefined);
    });
  });

  it('has closed a tunnel even if the notification arrives before the answer of the store', async () => {
    const { id } = await one.service.create(account, wanted);
    const release = test.store.releaseTunnels.bind(test.store);
    test.store.releaseTunnels = async (...given) => {
      const removed = await release(...given);
      one.service.coordination.hear({ kind: 'ended', id, reason: 'closed' });
      return removed;
    };
    await one.service.close(account, id, CALLER);
    assert.deepEqual(one.ended, ['closed']);
    await assert.rejects(one.service.close(account, id, CALLER), { status: 404 });
  });

  it('follows the other when a client has taken the tunnel over, and ends with it', async () => {
    const made = await one.service.create(account, { ...wanted, ttl: 3600 });
    deliver();
    const found = await find(two, 'web');
    assert.ok(found !== undefined);
    assert.equal(
      await one.service.takeOver(made, { ...wanted, localPort: 4000, ttl: 60, idleTtl: false }),
      true,
    );
    deliver();
    await storeAnswers();
    assert.deepEqual([found.terms.localPort, found.terms.ttl, found.expiresAt], [4000, 60, made.expiresAt]);
    await pass(61_000);
    assert.deepEqual([one.ended, two.ended], [['expired'], ['expired']]);
  });

  it('creates a tunnel again if another relay has closed the one of that name', async () => {
    const made = await one.service.create(account, wanted);
    deliver();
    const found = await find(two, 'web');
    assert.ok(found !== undefined);
    await one.service.close(account, made.id, CALLER);
    assert.equal(await two.service.takeOver(found, wanted), false);
    assert.notEqual((await two.service.create(account, wanted)).id, made.id);
  });

  it('does not use a name that the other has assigned', async () => {
    await one.service.create(account, wanted);
    await assert.rejects(two.service.create(account, wanted), { status: 409 });
  });

  it('closes with the other, and is not revived by an earlier answer', async () => {
    const { id } = await one.service.create(account, wanted);
    await find(two, 'web');
    const late = two.service.coordination.followAccount(account);
    two.service.coordination.hear({ kind: 'ended', id, reason: 'closed' });
    await late;
    assert.deepEqual([two.ended, two.registry.size], [['closed'], 0]);
  });

  it('closes what the other has created', async () => {
    const { id } = await one.service.create(account, wanted);
    await two.service.close(account, id, CALLER);
    assert.equal(one.registry.size, 1);
    deliver();
    assert.deepEqual([one.ended, one.registry.size], [['closed'], 0]);
  });

  it('lives as long as the other has extended it, whether or not the notification arrived', async () => {
    for (const heard of [true, false]) {
      const { id } = await one.service.create(account, { ...wanted, name: `web-${heard}` });
      await find(two, `web-${heard}`);
      await one.service.extend(account, id, 600, CALLER);
      if (heard) deliver();
      clock.advance(61_000);
      await storeAnswers();
      assert.equal(two.registry.byId(id)?.expiresAt, one.registry.byId(id)?.expiresAt);
      assert.deepEqual(two.ended, []);
    }
  });

  it('is extended by each of two simultaneous requests', async () => {
    const { id, expiresAt } = await one.service.create(account, wanted);
    await Promise.all([one, two].map(({ service }) => service.extend(account, id, 600, CALLER)));
    deliver();
    for (const { registry } of [one, two]) assert.equal(registry.byId(id)?.expiresAt, expiresAt + 1_200_000);
    await assert.rejects(two.service.extend(account, id, 7200, CALLER), { status: 400 });
  });

  it('is closed by only one of two simultaneous requests, and extended by neither afterwards', async () => {
    const { id } = await one.service.create(account, wanted);
    await two.service.coordination.followTunnel(id);
    const results = await Promise.allSettled(
      [one, two].map(({ service }) => service.close(account, id, CALLER)),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    assert.deepEqual(
      refused.map(({ reason }) => (reason as { status: number }).status),
      [404],
    );
    assert.deepEqual([one.ended, two.ended], [['closed'], ['closed']]);
    await assert.rejects(two.service.extend(account, id, 60, CALLER), { status: 404 });
  });

  it('is not extended while the other closes it', async () => {
    const { id } = await one.service.create(account, wanted);
    const extended = two.service.extend(account, id, 60, CALLER);
    // Even if the store has confirmed the tunnel to the one that extends it, the other closes it first.
    await test.store.releaseTunnels([{ id, slug: 'web', accountId: account.id, heldUntil: 0 }], clock.now());
    await assert.rejects(extended, { status: 404 });
    assert.deepEqual(await allTunnels(test.store), []);
  });

  it('is closed everywhere if the store did not confirm the closing, and it is closed again', async () => {
    const { id } = await one.service.create(account, wanted);
    await two.service.coordination.followTunnel(id);
    await test.store.releaseTunnels([{ id, slug: 'web', accountId: account.id, heldUntil: 0 }], clock.now());
    await assert.rejects(one.service.close(account, id, CALLER), { status: 404 });
    deliver();
    assert.deepEqual(two.ended, ['closed']);
  });

  it('does not expire if the other has extended it at the same moment', async () => {
    const { id, expiresAt } = await one.service.create(account, wanted);
    await two.service.coordination.followTunnel(id);
    clock.advance(60_000);
    // Both have checked for an extension, and there was none.
    const latest = expiresAt + 3_600_000;
    const extended = await test.store.extendExpiry(id, { by: 60_000, from: expiresAt, latest, reach: 'any' });
    await pass(5000);
    assert.deepEqual([one.ended, two.ended], [[], []]);
    assert.equal((await test.store.findTunnel(id))?.tunnel.expiresAt, extended);
    for (const { registry } of [one, two]) assert.equal(registry.byId(id)?.expiresAt, extended);
  });

  it('is not shown once it has expired, whatever it waits for', async () => {
    const { id } = await one.service.create(account, { ...wanted, idleTtl: true });
    clock.advance(60_000);
    assert.throws(() => one.service.get(account, id), { status: 404 });
    assert.deepEqual(one.service.list(account), []);
  });

  it('expires in batches, however many there are, and also while the store is down', async () => {
    const count = FOLLOW_BATCH + 10;
    for (let left = count; left > 0; left -= 1)
      await test.store.insertTunnel(aTunnel(account.id, { expiresAt: clock.now() + 60_000 }));
    await one.service.coordination.followAccount(account);
    await two.service.coordination.followAccount(account);
    asked = [];
    clock.advance(60_000);
    await storeAnswers();
    assert.deepEqual([one.ended.length, two.ended.length], [count, count]);
    assert.ok(asked.every((size) => size <= FOLLOW_BATCH) && asked.length <= 12, String(asked));
    assert.deepEqual(await allTunnels(test.store), []);
    const { id } = await one.service.create(account, wanted);
    test.down = true;
    clock.advance(60_000);
    await storeAnswers();
    assert.equal(one.registry.byId(id), undefined);
    test.down = false;
    await pass(2000);
    assert.deepEqual(await allTunnels(test.store), []);
  });

  it('does not query the database for an invalid id', async () => {
    asked = [];
    for (const id of ['', 'x', '\0', "00000000-0000-4000-8000-00000000000'"])
      await one.service.coordination.followTunnel(id);
    assert.deepEqual(asked, []);
  });

  it('expires on both, and in the store', async () => {
    await one.service.create(account, wanted);
    await find(two, 'web');
    clock.advance(60_000);
    await storeAnswers();
    assert.deepEqual([one.ended, two.ended], [['expired'], ['expired']]);
    clock.advance(2000);
    await storeAnswers();
    assert.deepEqual(await allTunnels(test.store), []);
  });

  it('allows 500 ms for traffic on another relay to be reported', async () => {
    const made = await one.service.create(account, { ...wanted, idleTtl: true });
    await find(two, 'web');
    clock.advance(59_900);
    await storeAnswers();
    made.countRequest();
    await pass(100 + IDLE_GRACE_MS);
    assert.deepEqual(two.ended, []);
    clock.advance(60_000 - 100 - IDLE_GRACE_MS);
    await pass(IDLE_GRACE_MS);
    assert.deepEqual([one.ended, two.ended], [['expired'], ['expired']]);
  });

  it('shows what the other has counted as soon as it is stored, and counts nothing twice', async () => {
    const made = await one.service.create(account, wanted);
    await find(two, 'web');
    made.countIn(10);
    two.registry.byId(made.id)?.countIn(5);
    clock.advance(1000);
    await storeAnswers();
    for (const { service } of [one, two]) {
      await service.coordination.followAccount(account);
      await service.coordination.followAccount(account);
      assert.equal(service.get(account, made.id).totals.bytesIn, 15);
    }
    two.registry.byId(made.id)?.countIn(1);
    await two.service.coordination.followAccount(account);
    assert.equal(two.service.get(account, made.id).totals.bytesIn, 16);
  });

  for (const [what, suspend] of [
    ['the tunnel', async (id: string) => await test.store.suspendTunnel(id, 'x')],
    ['its account', async () => await test.store.setSuspension(account.name, 'x')],
  ] as const)
    it(`learns that ${what} was suspended during a lookup`, async () => {
      const { id } = await one.service.create(account, wanted);
      const { promise, resolve } = Promise.withResolvers<undefined>();
      held = promise;
      const found = find(two, 'web');
      await storeAnswers();
      await suspend(id);
      // The other live tunnels follow; this one does not yet.
      two.service.followOrders(await test.store.tunnelOrders());
      resolve(undefined);
      const tunnel = await found;
      await storeAnswers();
      assert.equal(tunnel?.isSuspended, true);
    });

  it('gives an admin action precedence over an older answer of the store', async () => {
    const { id } = await one.service.create(account, wanted);
    await find(two, 'web');
    for (const reason of ['x', null]) {
      two.service.coordination.review();
      clock.advance(1000);
      await test.store.suspendTunnel(id, reason);
      two.service.followOrders(await test.store.tunnelOrders());
      await storeAnswers();
      assert.equal(two.registry.byId(id)?.suspended, reason);
    }
  });

  it('catches up on missed notifications', async () => {
    const { id } = await one.service.create(account, wanted);
    await find(two, 'web');
    await one.service.close(account, id, CALLER);
    posted = [];
    two.service.coordination.review();
    await storeAnswers();
    assert.deepEqual([two.ended, two.registry.size], [['closed'], 0]);
  });
});

describe('RecentIds', () => {
  it('remembers a tunnel for 30 s', () => {
    const clock = new FakeClock();
    const ended = new RecentIds(clock);
    ended.add('one');
    clock.advance(RECENT_MS - 1);
    ended.add('two');
    assert.deepEqual([ended.has('one'), ended.has('two'), ended.has('three')], [true, true, false]);
    clock.advance(1);
    assert.deepEqual([ended.has('one'), ended.has('two')], [false, true]);
  });
});

describe('StoreReview', () => {
  const account = anAccount();
  let clock: FakeClock;
  let tunnels: LiveTunnel[];
  let compared: (readonly LiveTunnel[])[];
  let failures: number;
  let review: StoreReview;

  beforeEach(() => {
    clock = new FakeClock();
    compared = [];
    failures = 0;
    tunnels = Array.from(
      { length: 2 * FOLLOW_BATCH + 1 },
      () => new LiveTunnel({ tunnel: aTunnel(account.id), account }, clock, () => {}),
    );
    review = new StoreReview(
      clock,
      () => tunnels,
      (batch) => {
        compared.push(batch);
        failures -= 1;
        return failures >= 0 ? Promise.reject(new StoreError(new Error('down'))) : Promise.resolve();
      },
    );
  });

  function sizes(): number[] {
    return compared.map(({ length }) => length);
  }

  async function pass(ms: number): Promise<void> {
    await storeAnswers();
    clock.advance(ms);
    await storeAnswers();
  }

  it('compares 500 tunnels at a time, with 50 ms in between', async () => {
    review.request();
    await pass(REVIEW_PAUSE_MS - 1);
    assert.deepEqual(sizes(), [500]);
    await pass(1);
    assert.deepEqual(sizes(), [500, 500]);
    await pass(REVIEW_PAUSE_MS);
    assert.deepEqual(sizes(), [500, 500, 1]);
    assert.deepEqual(compared.flat(), tunnels);
    await pass(60_000);
    assert.equal(compared.length, 3);
  });

  it('starts again, once, if requested during a run', async () => {
    review.request();
    await pass(REVIEW_PAUSE_MS);
    for (let time = 0; time < 9; time += 1) review.request();
    for (let time = 0; time < 9; time += 1) await pass(REVIEW_PAUSE_MS);
    assert.deepEqual(sizes(), [500, 500, 1, 500, 500, 1]);
  });

  it('starts again a second after the store has failed, until it has answered everything', async () => {
    failures = 2;
    review.request();
    await pass(REVIEW_RETRY_MS - 1);
    assert.equal(compared.length, 1);
    await pass(1);
    await pass(REVIEW_RETRY_MS);
    await pass(REVIEW_PAUSE_MS);
    await pass(REVIEW_PAUSE_MS);
    assert.deepEqual(sizes(), [500, 500, 500, 500, 1]);
    await pass(60_000);
    assert.equal(compared.length, 5);
  });

  it('stops on request', async () => {
    review.request();
    await storeAnswers();
    review.stop();
    await pass(60_000);
    review.request();
    await storeAnswers();
    assert.deepEqual([compared.length, clock.pending], [1, 0]);
  });
});

describe('NameLookup', () => {
  const account = anAccount();
  const web = { tunnel: aTunnel(account.id, { slug: 'web' }), account };
  let clock: FakeClock;
  /** number of slugs in each query */
  let asked: string[];
  let questions: number[];
  let answer: (slugs: readonly string[]) => Promise<OwnedTunnel[]>;
  let lookup: NameLookup;

  function known(slugs: readonly string[]): Promise<OwnedTunnel[]> {
    return Promise.resolve(slugs.includes('web') ? [web] : []);
  }

  beforeEach(() => {
    clock = new FakeClock();
    asked = [];
    questions = [];
    answer = known;
    const findTunnelsBySlug = (slugs: readonly string[]) => {
      asked.push(...slugs);
      questions.push(slugs.length);
      return answer(slugs);
    };
    lookup = new NameLookup(bySlug({ findTunnelsBySlug }), clock);
  });

  it('queries the store once for simultaneous lookups', async () => {
    const found = await Promise.all([lookup.find('web'), lookup.find('web'), lookup.find('web')]);
    assert.deepEqual([found, asked], [[web, web, web], ['web']]);
  });

  it('does not query the store for an invalid slug', async () => {
    for (const slug of ['', 'A', 'x', '..', 'a'.repeat(64)]) assert.equal(await lookup.find(slug), undefined);
    assert.deepEqual(asked, []);
  });

  it('remembers for 5 s that there is no such tunnel, unless notified of one', async () => {
    for (let time = 0; time < 3; time += 1) await lookup.find('none');
    assert.equal(asked.length, 1);
    lookup.forget('none');
    await lookup.find('none');
    assert.equal(asked.length, 2);
    clock.advance(LOOKUP_MISS_MS);
    await lookup.find('none');
    assert.equal(asked.length, 3);
  });

  it('ignores an answer that is older than the notification of a new tunnel', async () => {
    const late = Promise.withResolvers<OwnedTunnel[]>();
    answer = () => late.promise;
    const early = lookup.find('new');
    lookup.forget('new');
    late.resolve([]);
    assert.equal(await early, undefined);
    const made = { tunnel: aTunnel(account.id, { slug: 'new' }), account };
    answer = () => Promise.resolve([made]);
    assert.equal(await lookup.find('new'), made);
  });

  it('remembers the latest names up to the limit', async () => {
    for (let name = 0; name <= LOOKUP_MISSES_MAX; name += 1) await lookup.find(`name-${name}`);
    asked = [];
    await lookup.find('name-0');
    await lookup.find(`name-${LOOKUP_MISSES_MAX}`);
    assert.deepEqual(asked, ['name-0']);
  });

  /** Occupies the store with as many queries as allowed. */
  function occupy(): () => void {
    const free = Promise.withResolvers<OwnedTunnel[]>();
    answer = () => free.promise;
    for (let name = 0; name < LOOKUPS_MAX; name += 1) void lookup.find(`busy-${name}`);
    answer = known;
    return () => free.resolve([]);
  }

  it('limits concurrent queries, and combines new lookups in the meantime', async () => {
    const release = occupy();
    const found = Promise.all(['a1', 'web', 'b1', 'web'].map((slug) => lookup.find(slug)));
    assert.equal(questions.length, LOOKUPS_MAX);
    release();
    assert.deepEqual(await found, [undefined, web, undefined, web]);
    assert.deepEqual(questions.slice(LOOKUPS_MAX), [3]);
  });

  it('answers lookups after a flood of nonexistent names, within as many queries as the flood needs', async () => {
    const release = occupy();
    for (let name = 0; name < 3 * LOOKUP_BATCH; name += 1) void lookup.find(`flood-${name}`);
    const found = lookup.find('web');
    release();
    assert.equal(await found, web);
    assert.deepEqual(questions.slice(LOOKUPS_MAX), [LOOKUP_BATCH, LOOKUP_BATCH, LOOKUP_BATCH, 1]);
  });

  it('limits the number of waiting names', async () => {
    const release = occupy();
    const waiting: Promise<unknown>[] = [];
    for (let name = 0; name < LOOKUPS_WAITING_MAX; name += 1) waiting.push(lookup.find(`name-${name}`));
    await assert.rejects(lookup.find('more'), StoreError);
    release();
    await Promise.all(waiting);
    assert.equal(await lookup.find('web'), web);
  });

  it('fails all waiting lookups if the store fails, and queries it again for the next', async () => {
    answer = () => Promise.reject(new StoreError(new Error('gone')));
    await assert.rejects(Promise.all([lookup.find('web'), lookup.find('web')]), StoreError);
    answer = known;
    assert.equal(await lookup.find('web'), web);
  });
});
