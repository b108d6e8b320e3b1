import assert from 'node:assert/strict';
import { checkAsyncScript } from '../../shared/testing/script.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import {
  aKeptName,
  allTunnels,
  anAccount,
  aStore,
  aTunnel,
  aWish,
  CALLER,
  ofEach,
  storeAnswers,
} from '../testing/fixtures.ts';
import { type Side, TunnelWorld } from '../testing/tunnel-script.ts';
import { LiveTunnel } from './live-tunnel.ts';
import { FOLLOW_BATCH } from './shared-expiry.ts';
import {
  LOAD_BATCH,
  RECENT_MS,
  RecentIds,
  REVIEW_PAUSE_MS,
  REVIEW_RETRY_MS,
  StoreReview,
} from './coordination.ts';

const wanted = aWish({ name: 'web', ttl: 60 });

const SCRIPTS: Readonly<Record<string, string>> = {
  'asks the store once for each host of a wildcard tunnel, and prefers a tunnel of that name of the other': `
    create web wildcard: 3600 left; deliver; two at a--web: web asked; two at a--web: web;
    create a--web: 3600 left; deliver; two at a--web: a--web asked; two at a--web: a--web;
    two at x--a--web: web asked; create b--web wildcard: 3600 left; deliver; two at x--b--web: b--web asked`,
  // The notification of a--web is lost.
  'keeps serving known hosts while the store is down, and learns about new tunnels in the background': `
    create web wildcard: 3600 left; deliver; two at a--web: web asked; down; +5; two at a--web: web;
    two at new--web: web asked; two at a--other: store failed; up; create a--web: 3600 left; lose; +5;
    two at a--web: web; two at a--web: a--web`,
  'serves the hosts of a tunnel as soon as the other has taken it over as a wildcard one, and no longer afterwards': `
    create web: 3600 left; deliver; two at a--web: none asked; take web 3000 3600 wildcard; deliver;
    two at a--web: web; take web; deliver; two at a--web: none asked`,
  'follows the other when a client has taken the tunnel over, and ends with it': `create web: 3600 left; deliver;
    two find web: 3600 left; take web 4000 60; deliver;
    two show web: 0 bytes, 0 old, 60 left, port 4000, ttl 60; wait 61: web expired, web expired at two`,
  'creates a tunnel again if another relay has closed the one of that name': `create web: 3600 left; deliver;
    two find web: 3600 left; close web: web closed; two take web: not taken, web closed at two; two create web: 3600 left`,
  'does not use a name that the other has assigned':
    'create web: 3600 left; two create web: 409 name already in use',
  'closes what the other has created':
    'create web: 3600 left; two close web: web closed at two; get web: 3600 left; deliver: web closed',
  'lives as long as the other has extended it if the notification arrived': `create web 60: 60 left;
    two find web: 60 left; extend web 600: 660 left; deliver; +61; two get web: 599 left; get web: 599 left`,
  'lives as long as the other has extended it if the notification was lost': `create web 60: 60 left;
    two find web: 60 left; extend web 600: 660 left; lose; +61; two get web: 599 left; get web: 599 left`,
  'is extended by each of two simultaneous requests': `create web 60: 60 left;
    extend web 600 & two extend web 600: 1260 left, 660 left; deliver; get web: 1260 left;
    two get web: 1260 left; two extend web 604800: 400 ttl must be at most 168h0m0s`,
  'is closed by only one of two simultaneous requests, and extended by neither afterwards': `create web: 3600 left;
    two follow web; close web & two close web: 404 tunnel not found, web closed, web closed at two;
    two extend web 60: 404 tunnel not found`,
  'is not shown once it has expired, whatever it waits for':
    'create web 60 idle: 60 left; +60 & get web: 404 tunnel not found; wait 1: web expired',
  'expires on both, and in the store': `create web 60: 60 left; two find web: 60 left;
    +60: web expired, web expired at two; +2; known: none / none`,
  'expires also while the store is down': `create web 60: 60 left; down; +60: web expired;
    get web: 404 tunnel not found; up; wait 2; known: none / none`,
  'allows 500 ms for traffic on another relay to be reported': `create web 60 idle: 60 left;
    two find web: 60 left; +59.9; traffic web; wait 0.6; +59.4; wait 0.5: web expired, web expired at two`,
  'shows what the other has counted as soon as it is stored, and counts nothing twice': `create web 60: 60 left;
    two find web: 60 left; traffic web 10; two traffic web 5; +1; follow all; follow all;
    show web: 1 old, 15 bytes, 59 left, port 3000, ttl 60; two follow all; two follow all;
    two show web: 1 old, 15 bytes, 59 left, port 3000, ttl 60; two traffic web; two follow all;
    two show web: 1 old, 16 bytes, 59 left, port 3000, ttl 60`,
  'catches up on missed notifications': `create web: 3600 left; two find web: 3600 left; close web: web closed; lose;
    two review: web closed at two; two known: none / none`,
};

describe('TunnelService, sharing its database with another', () => {
  let world: TunnelWorld;
  /** number of tunnels in each query to the store, one by one or in batches */
  let asked: number[];
  /** delays the answers to lookups of slugs */
  let held: Promise<void> | undefined;
  let one: Side;
  let two: Side;

  beforeEach(async () => {
    held = undefined;
    asked = [];
    world = await TunnelWorld.start({ isShared: true, wrap: counted });
    [one, two] = world.sides as [Side, Side];
  });

  afterEach(() => world.stop());

  /** The store, with all queries for tunnels by id counted. */
  function counted(store: Store): Store {
    return new Proxy(store, {
      get(target, property: keyof Store) {
        const method: unknown = target[property];
        assert.ok(typeof method === 'function');
        return (...args: readonly unknown[]): unknown => {
          const [by, names] = args as Partial<Parameters<Store['findTunnels']>>;
          if (property === 'findTunnels' && by === 'id') asked.push(names?.length ?? 0);
          if (property === 'findTunnel') asked.push(1);
          const answer: unknown = method.apply(target, args);
          return property === 'findTunnels' && by === 'slug' && held !== undefined
            ? held.then(() => answer)
            : answer;
        };
      },
    });
  }

  for (const [title, script] of Object.entries(SCRIPTS)) it(title, () => world.check(script));

  it('finds a new tunnel of the other immediately, by its slug and in the API', async () => {
    await world.check('two find web: none; create web 60: 60 left; deliver; two find web: 60 left');
    const [made] = one.registry.all();
    assert.equal(two.registry.bySlug('web')?.id, made?.id);
    const three = await world.startSide();
    await three.service.coordination.followAccount(world.account);
    assert.deepEqual(ofEach(three.service.list(world.account), 'id'), [made?.id]);
  });

  it('learns immediately that a name is kept at the other', async () => {
    const { account, clock, test } = world;
    const { coordination } = one.service;
    assert.equal(await coordination.findResting('shop'), undefined);
    await test.store.keepName(aKeptName(account.id, 'shop'), { maxNames: 1, nameHold: 0 });
    assert.equal(await coordination.findResting('shop'), undefined);
    two.service.coordination.nameChanged('shop');
    world.deliver();
    assert.equal((await coordination.findResting('shop'))?.name, 'shop');
    await test.store.act('releaseName', [{ name: 'shop', accountId: account.id }, clock.now()], []);
    assert.equal(await coordination.findResting('shop'), undefined);
  });

  it('has closed a tunnel even if the notification arrives before the answer of the store', async () => {
    const { account, test } = world;
    const { id } = await one.service.create(account, wanted);
    const release = test.store.releaseTunnels.bind(test.store);
    test.store.releaseTunnels = async (...given) => {
      const removed = await release(...given);
      one.service.coordination.hear({ kind: 'ended', id, reason: 'closed' });
      return removed;
    };
    await one.service.close(account, id, CALLER);
    assert.deepEqual(one.ended, [['web', 'closed']]);
    await assert.rejects(one.service.close(account, id, CALLER), { status: 404 });
  });

  it('closes with the other, and is not revived by an earlier answer', async () => {
    const { id } = await one.service.create(world.account, wanted);
    await world.check('two find web: 60 left');
    const late = two.service.coordination.followAccount(world.account);
    two.service.coordination.hear({ kind: 'ended', id, reason: 'closed' });
    await late;
    assert.deepEqual([two.ended, two.registry.size], [[['web', 'closed']], 0]);
  });

  describe('if the store has closed it', () => {
    let id: string;

    beforeEach(async () => ({ id } = await one.service.create(world.account, wanted)));

    async function release(): Promise<void> {
      const { account, clock, test } = world;
      const released = { id, slug: 'web', accountId: account.id, heldUntil: 0 };
      await test.store.releaseTunnels([released], clock.now());
    }

    it('is not extended', async () => {
      const extended = two.service.extend(world.account, id, 60, CALLER);
      // Even if the store has confirmed the tunnel to the one that extends it, the other closes it first.
      await release();
      await assert.rejects(extended, { status: 404 });
      assert.deepEqual(await allTunnels(world.test.store), []);
    });

    it('is closed everywhere if that was not confirmed, and it is closed again', async () => {
      await two.service.coordination.followTunnel(id);
      await release();
      await assert.rejects(one.service.close(world.account, id, CALLER), { status: 404 });
      world.deliver();
      assert.deepEqual(two.ended, [['web', 'closed']]);
    });
  });

  it('does not expire if the other has extended it at the same moment', async () => {
    const { clock, test } = world;
    const { id, expiresAt } = await one.service.create(world.account, wanted);
    await two.service.coordination.followTunnel(id);
    clock.advance(60_000);
    // Both have checked for an extension, and there was none.
    const latest = expiresAt + 3_600_000;
    const extended = await test.store.extendExpiry(id, { by: 60_000, from: expiresAt, latest, reach: 'any' });
    await world.pass(5);
    assert.deepEqual([one.ended, two.ended], [[], []]);
    assert.equal((await test.store.findTunnel(id))?.tunnel.expiresAt, extended);
    for (const { registry } of [one, two]) assert.equal(registry.byId(id)?.expiresAt, extended);
  });

  it('expires in batches, however many there are', async () => {
    const { account, clock, test } = world;
    const count = FOLLOW_BATCH + 10;
    for (let left = count; left > 0; left -= 1)
      await test.store.insertTunnel(aTunnel(account.id, { expiresAt: clock.now() + 60_000 }));
    for (const { service } of [one, two]) await service.coordination.followAccount(account);
    asked = [];
    clock.advance(60_000);
    await storeAnswers();
    assert.deepEqual([one.ended.length, two.ended.length], [count, count]);
    assert.ok(asked.every((size) => size <= FOLLOW_BATCH) && asked.length <= 12, String(asked));
    assert.deepEqual(await allTunnels(test.store), []);
  });

  it('does not query the database for an invalid id', async () => {
    asked = [];
    for (const id of ['', 'x', '\0', "00000000-0000-4000-8000-00000000000'"])
      await one.service.coordination.followTunnel(id);
    assert.deepEqual(asked, []);
  });

  for (const what of ['the tunnel', 'its account'])
    it(`learns that ${what} was suspended during a lookup`, async () => {
      const { account, test } = world;
      const { id } = await one.service.create(account, wanted);
      const { promise, resolve } = Promise.withResolvers<undefined>();
      held = promise;
      const found = two.service.coordination.find?.('web');
      await storeAnswers();
      if (what === 'the tunnel') await test.store.suspendTunnel(id, 'x');
      else await test.store.setSuspension(account.name, 'x');
      // The other live tunnels follow; this one does not yet.
      two.service.followOrders(await test.store.tunnelOrders());
      resolve(undefined);
      const tunnel = await found;
      await storeAnswers();
      assert.equal(tunnel?.isSuspended, true);
    });

  it('gives an admin action precedence over an older answer of the store', async () => {
    const { clock, test } = world;
    const { id } = await one.service.create(world.account, wanted);
    await two.service.coordination.followTunnel(id);
    for (const reason of ['x', null]) {
      two.service.coordination.review();
      clock.advance(1000);
      await test.store.suspendTunnel(id, reason);
      two.service.followOrders(await test.store.tunnelOrders());
      await storeAnswers();
      assert.equal(two.registry.byId(id)?.suspended, reason);
    }
  });
});

describe('TunnelService, as a process of a relay that knows all tunnels', () => {
  it('asks the store for none, except after news that it has missed or could not follow', async () => {
    const world = await TunnelWorld.start({ isShared: true, knowsAll: true });
    await world.check(`
      create web wildcard: 3600 left; deliver; two at a--web: web; down; two at nobody: none asked; up;
      create a--web: 3600 left; lose; two review; two at a--web: a--web;
      create b--web: 3600 left; down; deliver; two at b--web: web asked; up; wait 2; two at b--web: b--web;
      down; two at nobody: none asked; up; restart; at b--web: b--web`);
    await world.stop();
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
    ended.add('three');
    assert.deepEqual([ended.has('one'), ended.has('two'), ended.has('three')], [false, true, true]);
  });
});

describe('StoreReview', () => {
  for (const [title, script] of Object.entries({
    'compares 500 tunnels at a time, with 50 ms in between': `request: 500 from 0; +${REVIEW_PAUSE_MS - 1};
      +1: 500 from 500; +${REVIEW_PAUSE_MS}: 1 from 1000; +60000`,
    'starts again, once, if requested during a run': `request: 500 from 0; +50: 500 from 500; request; request;
      +50: 1 from 1000, 500 from 0; +50: 500 from 500; +50: 1 from 1000; +60000`,
    'starts again a second after the store has failed, until it has answered everything': `request 2: 500 from 0;
      +${REVIEW_RETRY_MS - 1}; +1: 500 from 0; +${REVIEW_RETRY_MS}: 500 from 0; +50: 500 from 500;
      +50: 1 from 1000; +60000`,
    'stops on request': 'request: 500 from 0; stop; +60000: no timer; request: no timer',
  }))
    it(title, async () => {
      const clock = new FakeClock();
      const account = anAccount();
      const tunnels = Array.from(
        { length: 2 * FOLLOW_BATCH + 1 },
        () => new LiveTunnel({ tunnel: aTunnel(account.id), account }, clock, () => {}),
      );
      let compared: string[] = [];
      let failures = 0;
      let isStopped = false;
      const compare = (batch: readonly LiveTunnel[]): Promise<void> => {
        const from = tunnels.indexOf(batch[0] ?? assert.fail('an empty batch'));
        assert.deepEqual(batch, tunnels.slice(from, from + batch.length));
        compared.push(`${batch.length} from ${from}`);
        failures -= 1;
        return failures >= 0 ? Promise.reject(new StoreError(new Error('down'))) : Promise.resolve();
      };
      const review = new StoreReview(clock, () => tunnels, compare);
      await checkAsyncScript(script, async (step) => {
        compared = [];
        const [action, count = '0'] = step.split(' ');
        if (action === 'request') {
          failures = Number(count);
          review.request();
        } else if (action === 'stop') {
          review.stop();
          isStopped = true;
        } else clock.advance(Number(step));
        await storeAnswers();
        if (isStopped && clock.pending === 0) compared.push('no timer');
        return compared.join(', ');
      });
    });
});

describe('storedTunnels', () => {
  it('reads all tunnels, oldest first, in batches, without those that end during the read', async () => {
    const owner = anAccount();
    const { store } = await aStore(owner);
    const tunnels = Array.from({ length: LOAD_BATCH + 2 }, (_, index) =>
      aTunnel(owner.id, { createdAt: 1000 - index }),
    );
    for (const tunnel of tunnels) await store.insertTunnel(tunnel);
    const ids = tunnels.map(({ id }) => id).toReversed();
    const asked: number[] = [];
    const findTunnels: Store['findTunnels'] = (by, batch) => {
      asked.push(batch.length);
      return store.findTunnels(
        by,
        batch.filter((id) => id !== ids[1]),
      );
    };
    const loaded = await allTunnels({ tunnelIds: () => store.tunnelIds(), findTunnels });
    assert.deepEqual(
      loaded.map(({ tunnel }) => tunnel.id),
      ids.filter((id) => id !== ids[1]),
    );
    assert.deepEqual(asked, [LOAD_BATCH, 2]);
    await store.close();
  });
});
