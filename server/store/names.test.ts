import assert from 'node:assert/strict';
import { aKeptName, anAccount, aTunnel, ofEach, useStore } from '../testing/fixtures.ts';
import type { AccountRecord } from './records.ts';
import { ConflictError, FullError } from './store-errors.ts';

const RULES = { maxNames: 5, nameHold: 1000 };
const NOW = 2000;

describe('kept names in the store', () => {
  const ann = anAccount({ name: 'ann', subdomain: 'ann' });
  const bob = anAccount({ name: 'bob', subdomain: 'bob' });
  const store = useStore(ann, bob);

  async function keep(account: AccountRecord, name: string): Promise<string> {
    return outcomeOf(store.keepName(aKeptName(account.id, name), RULES));
  }

  function create(account: AccountRecord, slug: string, fields = {}): Promise<string> {
    const tunnel = aTunnel(account.id, { slug, name: slug, createdAt: NOW, expiresAt: 10_000, ...fields });
    return outcomeOf(store.insertTunnel(tunnel, { maxTunnels: null, nameHold: 1000 }));
  }

  it('are limited per account, also for concurrent requests, and kept once', async () => {
    const wanted = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7'].map((name) => keep(ann, name));
    const outcomes = await Promise.all(wanted);
    assert.deepEqual(outcomes.toSorted(), ['done', 'done', 'done', 'done', 'done', 'full', 'full']);
    const [first] = await store.keptNames(ann.id);
    assert.ok(first !== undefined);
    assert.equal(await store.keepName({ ...first, createdAt: 9999 }, RULES), undefined);
    assert.equal((await store.keptNames(ann.id))[0]?.createdAt, NOW);
  });

  it('go to one of the accounts that want them at the same time, as a name or for a tunnel', async () => {
    for (let round = 0; round < 20; round += 1) {
      const name = `race-${round}`;
      const outcomes = await Promise.all([
        ...Array.from({ length: 5 }, () => keep(ann, name)),
        ...Array.from({ length: 5 }, () => create(bob, name)),
        ...Array.from({ length: 5 }, () => create(ann, name)),
        ...Array.from({ length: 5 }, () => keep(bob, name)),
      ]);
      const annHas = outcomes.slice(0, 5).includes('done') || outcomes.slice(10, 15).includes('done');
      const bobHas = outcomes.slice(5, 10).includes('done') || outcomes.slice(15).includes('done');
      assert.notEqual(annHas, bobHas, `${name}: ${outcomes.join()}`);
      for (const { id: accountId } of [ann, bob])
        await store.act('releaseName', [{ name, accountId }, 2000], []);
    }
  });

  it("are nobody else's, nor is a host of them", async () => {
    assert.equal(await keep(ann, 'shop'), 'done');
    assert.equal(await keep(bob, 'shop'), 'slug');
    assert.equal(await create(bob, 'shop'), 'slug');
    assert.equal(await create(bob, 'x--shop'), 'slug');
    assert.equal(await keep(bob, 'x--shop'), 'slug');
    assert.equal(await outcomeOf(store.setSubdomain('bob', 'shop', NOW)), 'subdomain');
    assert.equal(await keep(ann, 'a--wild'), 'done');
    assert.equal(await create(bob, 'wild', { wildcard: true }), 'slug');
    assert.equal(await create(bob, 'wild'), 'done');
    assert.equal(await create(ann, 'shop'), 'done');
    assert.equal(await create(ann, 'x--shop'), 'done');
  });

  it('cannot be those of tunnels and accounts of others, also held ones', async () => {
    assert.equal(await create(bob, 'live'), 'done');
    assert.equal(await create(bob, 'wild', { wildcard: true }), 'done');
    const gone = aTunnel(bob.id, { slug: 'gone', name: 'gone' });
    await store.insertTunnel(gone);
    await store.releaseTunnels([{ ...gone, heldUntil: NOW + 1 }], NOW);
    for (const name of ['live', 'bob', 'ann', 'a--wild', 'gone', 'a--gone'])
      assert.equal(await keep(ann, name), 'slug', name);
    assert.equal(await keep(bob, 'gone'), 'done');
    assert.deepEqual(ofEach(await store.keptNames(ann.id), 'name'), []);
  });

  it('go with their account', async () => {
    await keep(ann, 'shop');
    await store.act('removeAccount', ['ann', NOW], []);
    assert.equal(await keep(bob, 'shop'), 'done');
  });

  it('tell visitors what their owner has left, but not that of a suspended account', async () => {
    await keep(ann, 'shop');
    const shop = { name: 'shop', accountId: ann.id };
    const resting = async () => await store.restingNames(['shop', 'none'], NOW);
    assert.deepEqual(await resting(), [{ name: 'shop', subdomain: 'ann', away: undefined }]);
    await store.changeName(shop, { away: 'At lunch.', until: 5000 });
    await store.changeName(shop, { until: 6000 });
    assert.deepEqual(await resting(), [
      { name: 'shop', subdomain: 'ann', away: { text: 'At lunch.', until: 6000 } },
    ]);
    assert.equal(await store.changeName({ ...shop, accountId: bob.id }, { away: 'Mine.' }), undefined);
    await store.act('setSuspension', ['ann', 'spam'], []);
    assert.equal((await resting())[0]?.away, undefined);
  });

  it('show no message where a tunnel ended while it was suspended, until it is resumed', async () => {
    await keep(ann, 'shop');
    await store.changeName({ name: 'shop', accountId: ann.id }, { away: 'Call this number.' });
    const tunnel = aTunnel(ann.id, { slug: 'shop', name: 'shop' });
    await store.insertTunnel(tunnel);
    await store.suspendTunnel(tunnel.id, 'phishing');
    await store.releaseTunnels([{ ...tunnel, heldUntil: 0 }], NOW);
    assert.deepEqual(await store.restingNames(['shop'], NOW), []);
    await store.resumeName('shop', 0);
    assert.equal((await store.restingNames(['shop'], NOW))[0]?.away?.text, 'Call this number.');
  });

  it('stay held after they were let go, as long as the hold of their last tunnel', async () => {
    await keep(ann, 'shop');
    const tunnel = aTunnel(ann.id, { slug: 'shop', name: 'shop' });
    await store.insertTunnel(tunnel);
    await store.releaseTunnels([{ ...tunnel, heldUntil: NOW + 1000 }], NOW);
    const shop = { name: 'shop', accountId: ann.id };
    assert.equal(await store.act('releaseName', [shop, 2000], []), true);
    assert.equal(await store.act('releaseName', [shop, 2000], []), false);
    assert.equal((await store.restingNames(['shop'], NOW + 999)).length, 1);
    assert.equal((await store.restingNames(['shop'], NOW + 1000)).length, 0);
    assert.equal(await keep(bob, 'shop'), 'slug');
  });

  it('come with their tunnel', async () => {
    await keep(ann, 'shop');
    await store.changeName({ name: 'shop', accountId: ann.id }, { away: 'At lunch.' });
    const tunnel = aTunnel(ann.id, { slug: 'shop', name: 'shop' });
    assert.equal((await store.insertTunnel(tunnel)).kept?.away, 'At lunch.');
    assert.equal((await store.findTunnel(tunnel.id))?.kept?.away, 'At lunch.');
  });
});

/** `done`, or why not. */
async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'done';
  } catch (error) {
    if (error instanceof FullError) return 'full';
    assert.ok(error instanceof ConflictError, String(error));
    return error.field;
  }
}
