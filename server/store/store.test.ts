import assert from 'node:assert/strict';
import {
  aDelta,
  aKeyRecord,
  allTunnels,
  anAccess,
  anAccount,
  aTunnel,
  isTaken,
  nameHolders,
  ofEach,
  ofTunnels,
  openTestStore,
  PUBLIC,
  theTerms,
} from '../testing/fixtures.ts';
import { FullError, StoreError } from './store-errors.ts';
import type { Store } from './store.ts';

const token = (name: string, hash: string) => ({ name, hash });

describe('Store', () => {
  const owner = anAccount({ subdomain: 'acme' });
  const key = aKeyRecord({ id: 'k', accountId: owner.id, hash: 'aa', hint: 'cvt_1234', createdAt: 5 });
  let logged: { event: string; error: unknown }[];
  let store: Store;

  beforeEach(async () => {
    logged = [];
    store = await openTestStore((event, fields) => logged.push({ event, error: fields?.['error'] }));
    await store.insertAccounts([owner]);
  });

  it('finds an account by its name, and reports which value of it is taken, if it has a subdomain', async () => {
    assert.deepEqual(await store.findAccount(owner.name), owner);
    assert.equal(await store.findAccount('nobody'), undefined);
    await assert.rejects(store.insertAccounts([anAccount({ name: owner.name })]), isTaken('name'));
    await assert.rejects(store.insertAccounts([anAccount({ subdomain: 'acme' })]), isTaken('subdomain'));
    const others = [anAccount(), anAccount()];
    for (const account of others) await store.insertAccounts([account]);
    assert.deepEqual(ofEach(await store.findAccounts(ofEach(others, 'id')), 'subdomain'), [null, null]);
  });

  it('finds the owner of a key by its hash', async () => {
    assert.equal(await store.hasKeys(), false);
    await store.insertKey(key);
    assert.equal(await store.hasKeys(), true);
    assert.deepEqual(await store.findKeyOwner('aa'), {
      keyId: 'k',
      hash: 'aa',
      expiresAt: null,
      scope: { kind: 'all' },
      label: '',
      account: owner,
    });
    assert.equal(await store.findKeyOwner('ab'), undefined);
    await assert.rejects(store.insertKey({ ...key, id: 'other' }), isTaken('key'));
  });

  it('finds tunnels as they were stored, with their owners, by id, slug and account, oldest first', async () => {
    const tunnel = aTunnel(owner.id, {
      slug: 'web',
      name: 'web',
      idle: true,
      bytesIn: 2 ** 50,
      createdAt: 20,
    });
    for (const made of [aTunnel(owner.id, { createdAt: 30 }), tunnel, aTunnel(owner.id, { createdAt: 10 })])
      await store.insertTunnel(made);
    const owned = { tunnel, account: owner };
    assert.deepEqual(await store.findTunnel(tunnel.id), owned);
    assert.equal(await store.findTunnel('unknown'), undefined);
    assert.deepEqual(await store.findTunnels('slug', ['web', 'other']), [owned]);
    for (const all of [await allTunnels(store), await store.findTunnels('accountId', [owner.id])]) {
      assert.deepEqual(
        all.map(({ tunnel: { createdAt } }) => createdAt),
        [10, 20, 30],
      );
      assert.deepEqual(all[1], owned);
    }
    assert.deepEqual(await store.findTunnels('accountId', ['nobody']), []);
    await assert.rejects(store.insertTunnel(aTunnel(owner.id, { slug: 'web' })), isTaken('slug'));
    assert.equal((await allTunnels(store)).length, 3);
  });

  it('releases the slug of an unended tunnel long after its expiry, even beyond a hold', async () => {
    const stranger = anAccount();
    await store.insertAccounts([stranger]);
    const left = aTunnel(stranger.id, { slug: 'web', expiresAt: 100_000 });
    await store.insertTunnel(left);
    const take = (accountId: string, createdAt: number, nameHold = 0) =>
      store.insertTunnel(aTunnel(accountId, { slug: 'web', createdAt }), { maxTunnels: null, nameHold });
    await assert.rejects(take(owner.id, 159_999), isTaken('slug'));
    await assert.rejects(take(owner.id, 299_999, 200_000), isTaken('slug'));
    await take(stranger.id, 160_000, 200_000);
    const [found, ...more] = await allTunnels(store);
    assert.equal(found?.tunnel.createdAt, 160_000);
    assert.deepEqual(more, []);
  });

  it('gives it back to its own account immediately, unless unstored traffic may have extended its life', async () => {
    const stranger = anAccount();
    await store.insertAccounts([stranger]);
    for (const idle of [false, true])
      await store.insertTunnel(
        aTunnel(owner.id, { slug: idle ? 'idle' : 'plain', idle, expiresAt: 100_000 }),
      );
    const take = (accountId: string, slug: string) =>
      store.insertTunnel(aTunnel(accountId, { slug, createdAt: 100_000 }));
    await assert.rejects(take(stranger.id, 'plain'), isTaken('slug'));
    await assert.rejects(take(owner.id, 'idle'), isTaken('slug'));
    await take(owner.id, 'plain');
  });

  it('stores at most the tunnels that an account may have, not counting expired ones', async () => {
    const rules = { maxTunnels: 2, nameHold: 0 };
    await store.insertTunnel(aTunnel(owner.id, { expiresAt: 1000, createdAt: 500 }), rules);
    const made = Array.from({ length: 6 }, (_, index) => aTunnel(owner.id, { expiresAt: 2000 + index }));
    const results = await Promise.allSettled(made.map((tunnel) => store.insertTunnel(tunnel, rules)));
    const refusals = results
      .filter((result) => result.status === 'rejected')
      .map(({ reason }) => reason as unknown);
    assert.equal(refusals.length, 4);
    assert.ok(refusals.every((reason) => reason instanceof FullError && reason.nextEnd >= 2000));
    assert.equal((await allTunnels(store)).length, 3);
  });

  it('gives each account its limit and each name to one, if two ask 20 times at the same moment', async () => {
    const accounts = [anAccount(), anAccount()];
    await store.insertAccounts(accounts);
    const made = accounts.flatMap(({ id }) =>
      Array.from({ length: 10 }, (_, index) => aTunnel(id, { slug: `name-${index}` })),
    );
    const rules = { maxTunnels: 3, nameHold: 0 };
    const results = await Promise.allSettled(made.map((tunnel) => store.insertTunnel(tunnel, rules)));
    for (const result of results)
      if (result.status === 'rejected' && !isTaken('slug')(result.reason))
        assert.ok(result.reason instanceof FullError, String(result.reason));
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 6);
    const stored = (await allTunnels(store)).map(({ tunnel }) => tunnel);
    assert.equal(new Set(ofEach(stored, 'slug')).size, 6);
    assert.deepEqual(
      accounts.map(({ id }) => stored.filter(({ accountId }) => accountId === id).length),
      [3, 3],
    );
  });

  it('deletes tunnels, and reports which of them existed', async () => {
    const [gone, kept] = [aTunnel(owner.id), aTunnel(owner.id)];
    for (const tunnel of [gone, kept]) await store.insertTunnel(tunnel);
    const released = [gone, aTunnel('nobody')].map((tunnel) => ({ ...tunnel, heldUntil: 0 }));
    assert.deepEqual(await store.releaseTunnels(released, 0), new Set([gone.id]));
    for (const none of [released, []]) assert.deepEqual(await store.releaseTunnels(none, 0), new Set());
    assert.deepEqual(await ofTunnels(store, 'id'), [kept.id]);
  });

  it('keeps a tunnel that expired for one relay but was extended by another, and then reserves no name', async () => {
    const [over, extended] = [aTunnel(owner.id, { expiresAt: 100 }), aTunnel(owner.id, { expiresAt: 101 })];
    for (const tunnel of [over, extended]) await store.insertTunnel(tunnel);
    const released = [over, extended, aTunnel(owner.id)].map((tunnel) => ({
      ...tunnel,
      expiredAt: 100,
      heldUntil: 500,
    }));
    assert.deepEqual(await store.releaseTunnels(released, 100), new Set([over.id]));
    assert.deepEqual(await store.findTunnels('id', ofEach(released, 'id')), [
      { tunnel: extended, account: owner },
    ]);
    await store.releaseTunnels([{ ...extended, heldUntil: 0 }], 100);
    const holders = await nameHolders(
      store,
      released.map(({ slug }) => [slug, 100]),
    );
    assert.deepEqual(holders, [owner.id, undefined, undefined]);
  });

  it('releases overdue tunnels, up to a limit, and reserves their names as if released in time', async () => {
    const left = [100, 200, 300, 301].map((expiresAt) => aTunnel(owner.id, { expiresAt }));
    for (const tunnel of left) await store.insertTunnel(tunnel);
    const overdue = { until: 300, now: 450, nameHold: 200, limit: 2 };
    assert.equal(await store.releaseOverdue(overdue), 2);
    assert.equal(await store.releaseOverdue(overdue), 1);
    assert.equal(await store.releaseOverdue(overdue), 0);
    assert.deepEqual(await ofTunnels(store, 'expiresAt'), [301]);
    await store.releaseTunnels(
      left.slice(3).map((tunnel) => ({ ...tunnel, heldUntil: 0 })),
      450,
    );
    const holders = await nameHolders(
      store,
      left.map(({ slug }) => [slug, 450]),
    );
    assert.deepEqual(holders, [undefined, undefined, owner.id, undefined]);
  });

  it('extends from the current expiry, up to the latest possible one', async () => {
    const { id } = aTunnel(owner.id);
    await store.insertTunnel(aTunnel(owner.id, { id, expiresAt: 100 }));
    for (const [by, from, of, expected] of [
      [50, 100, id, 150],
      [50, 100, id, 200],
      [50, 400, id, 450],
      [600, 450, id, undefined],
      [1, 0, 'unknown', undefined],
    ] as const)
      assert.equal(await store.extendExpiry(of, { by, from, latest: 1000, reach: 'any' }), expected);
  });

  it('adds traffic to the existing counts', async () => {
    const tunnel = aTunnel(owner.id, { bytesIn: 1, bytesOut: 2, requests: 3, expiresAt: 100 });
    await store.insertTunnel(tunnel);
    const delta = aDelta(tunnel.id, { bytesIn: 10, bytesOut: 20, requests: 30, expiresAt: 150 });
    await store.addTraffic([delta, { ...delta, expiresAt: 120 }, { ...delta, id: 'unknown' }]);
    const [loaded] = await allTunnels(store);
    assert.deepEqual(loaded?.tunnel, { ...tunnel, bytesIn: 21, bytesOut: 42, requests: 63, expiresAt: 150 });
  });

  it('gives a tunnel new terms, which traffic under the previous ones does not prolong', async () => {
    const tunnel = aTunnel(owner.id, { bytesIn: 1, expiresAt: 900 });
    await store.insertTunnel(tunnel);
    const terms = theTerms({ idle: true, wildcard: true, createdKey: 'k', createdBy: 'ann' });
    const takeOver = { now: 400, nameHold: 0 };
    const revisions = { access: null, termsRevision: 1, accessRevision: 1 };
    assert.deepEqual(await store.setTerms(tunnel.id, terms, PUBLIC, takeOver), revisions);
    const delta = aDelta(tunnel.id, { bytesIn: 1, expiresAt: 950 });
    await store.addTraffic([delta]);
    assert.deepEqual((await store.findTunnel(tunnel.id))?.tunnel, {
      ...tunnel,
      ...terms,
      ...revisions,
      bytesIn: 2,
    });
    await store.addTraffic([{ ...delta, termsRevision: 1 }]);
    assert.equal((await store.findTunnel(tunnel.id))?.tunnel.expiresAt, 950);
    assert.equal(await store.setTerms('unknown', terms, PUBLIC, takeOver), undefined);
  });

  describe('with tokens', () => {
    const access = anAccess({ tokens: [token('ci', 'first'), token('agent', 'second')] });

    it('keeps tokens by their names, and takes those that are new', async () => {
      const tunnel = aTunnel(owner.id, { access });
      await store.insertTunnel(tunnel);
      const wanted = anAccess({
        tokens: [token('ci', 'made'), token('agent', 'given'), token('new', 'made')],
      });
      const kept = {
        ...wanted,
        tokens: [token('ci', 'first'), token('agent', 'given'), token('new', 'made')],
      };
      const change = await store.setAccess(tunnel.id, { access: wanted, kept: ['ci', 'new'] }, 'any');
      assert.deepEqual(change, { access: kept, accessRevision: 1, takesAway: false });
      assert.deepEqual((await store.findTunnel(tunnel.id))?.tunnel.access, kept);
      const again = { access: { ...wanted, tokens: [token('new', 'other')] }, kept: ['new'] };
      const renewed = await store.setTerms(tunnel.id, theTerms(), again, { now: 400, nameHold: 0 });
      assert.deepEqual(renewed?.access?.tokens, [token('new', 'made')]);
    });

    it('never brings a revoked token back, however changes coincide', async () => {
      const tunnel = aTunnel(owner.id, { access });
      await store.insertTunnel(tunnel);
      const rotated = { access: anAccess({ tokens: [token('ci', 'rotated')] }), kept: [] };
      const keeping = { access: anAccess({ tokens: [token('ci', 'made')] }), kept: ['ci'] };
      await Promise.all([
        store.setAccess(tunnel.id, rotated, 'any'),
        store.setAccess(tunnel.id, keeping, 'any'),
      ]);
      const { tokens } = (await store.findTunnel(tunnel.id))?.tunnel.access ?? {};
      assert.deepEqual(tokens, [token('ci', 'rotated')]);
    });

    it('remembers the latest use of each valid token', async () => {
      const tunnel = aTunnel(owner.id, { access, tokenUses: [['first', 7]] });
      await store.insertTunnel(tunnel);
      const uses = Object.entries({ first: 5, second: 6, revoked: 8 });
      await store.markTokensUsed([
        { id: tunnel.id, uses },
        { id: 'unknown', uses },
      ]);
      const found = (await store.findTunnel(tunnel.id))?.tunnel.tokenUses ?? [];
      assert.deepEqual(Object.fromEntries(found), { first: 7, second: 6 });
    });
  });

  it('adds the traffic of many tunnels together or not at all', async () => {
    const tunnels = [aTunnel(owner.id, { createdAt: 1 }), aTunnel(owner.id, { createdAt: 2 })] as const;
    for (const tunnel of tunnels) await store.insertTunnel(tunnel);
    const broken = aDelta(tunnels[1].id, { bytesIn: null as unknown as number });
    await assert.rejects(store.addTraffic([aDelta(tunnels[0].id, { bytesIn: 10 }), broken]), StoreError);
    assert.deepEqual(
      (await allTunnels(store)).map(({ tunnel }) => tunnel),
      tunnels,
    );
  });

  it('serves simultaneous callers in turn', async () => {
    const tunnels = Array.from({ length: 20 }, () => aTunnel(owner.id));
    await Promise.all(tunnels.map((tunnel) => store.insertTunnel(tunnel)));
    await Promise.all(tunnels.map(({ id }) => store.addTraffic([aDelta(id, { requests: 1 })])));
    const loaded = await allTunnels(store);
    assert.deepEqual(new Set(loaded.map(({ tunnel }) => tunnel.requests)), new Set([1]));
    assert.equal(loaded.length, 20);
  });

  it('tells the operator when failures begin and end, once each, and fails once it is closed', async () => {
    for (let i = 0; i < 3; i += 1) await assert.rejects(store.insertTunnel(aTunnel('nobody')), StoreError);
    await store.ping();
    assert.equal(logged.length, 1, 'being readable does not mean being writable');
    for (let i = 0; i < 2; i += 1) await store.insertAccounts([anAccount()]);
    assert.deepEqual(ofEach(logged, 'event'), ['store failing', 'store recovered']);
    assert.match(String(logged[0]?.error), /foreign key constraint/i);
    await store.close();
    await assert.rejects(store.ping(), StoreError);
  });
});
