import assert from 'node:assert/strict';
import {
  allTunnels,
  anAccount,
  aTunnel,
  isTaken,
  ofTunnels,
  PUBLIC,
  theTerms,
  useStore,
} from '../../testing/fixtures.ts';
import type { TunnelRecord } from '../records.ts';
import { ConflictError } from '../store-errors.ts';

/** Rounds of a race; each side may lose one. */
const RACES = 20;

describe('names of tunnels and subdomains of accounts', () => {
  const owner = anAccount({ subdomain: 'acme' });
  const other = anAccount({ subdomain: 'other' });
  const store = useStore(owner, other);

  it("refuse a tunnel any account's subdomain, including its own", async () => {
    for (const { id } of [owner, other])
      await assert.rejects(store.insertTunnel(aTunnel(id, { slug: 'acme' })), isTaken('slug'));
    assert.deepEqual(await allTunnels(store), []);
  });

  it('refuse an account the name of a live tunnel as its subdomain', async () => {
    const tunnel = aTunnel(owner.id, { slug: 'web' });
    await store.insertTunnel(tunnel);
    const wanted = anAccount({ subdomain: 'web' });
    await assert.rejects(store.insertAccount(wanted), isTaken('subdomain'));
    assert.equal(await store.findAccount(wanted.name), undefined);
    const held = { id: tunnel.id, slug: 'web', accountId: owner.id, heldUntil: 0 };
    await store.releaseTunnels([held], 1000);
    await store.insertAccount(wanted);
  });

  it('refuse an account a name reserved for another one', async () => {
    await store.releaseTunnels([{ id: 'x', slug: 'web', accountId: owner.id, heldUntil: 5000 }], 1000);
    await assert.rejects(
      store.insertAccount(anAccount({ subdomain: 'web', createdAt: 4999 })),
      isTaken('subdomain'),
    );
    await store.insertAccount(anAccount({ subdomain: 'web', createdAt: 5000 }));
  });

  it('ignore an expired tunnel left by a relay that died', async () => {
    await store.insertTunnel(aTunnel(owner.id, { slug: 'web', expiresAt: 100_000 }));
    await assert.rejects(
      store.insertAccount(anAccount({ subdomain: 'web', createdAt: 159_999 })),
      isTaken('subdomain'),
    );
    await store.insertAccount(anAccount({ subdomain: 'web', createdAt: 160_000 }));
  });

  it('give a subdomain back when its account is removed', async () => {
    await store.removeAccount(owner.name, 0);
    await store.insertTunnel(aTunnel(other.id, { slug: 'acme' }));
    assert.deepEqual(await ofTunnels(store, 'slug'), ['acme']);
  });

  it('go to one side if both request them at the same moment', async () => {
    for (let race = 0; race < RACES; race += 1) {
      const name = `race-${race}`;
      const sides = [
        () => store.insertTunnel(aTunnel(owner.id, { slug: name })),
        () => store.insertAccount(anAccount({ subdomain: name })),
      ];
      if (race % 2 === 1) sides.reverse();
      const results = await Promise.allSettled(sides.map((ask) => ask()));
      const failures = results.filter((result) => result.status === 'rejected');
      assert.equal(failures.length, 1, name);
      assert.ok(failures[0]?.reason instanceof ConflictError, String(failures[0]?.reason));
    }
  });
});

describe('hosts of wildcard tunnels', () => {
  const owner = anAccount();
  const other = anAccount();
  const store = useStore(owner, other);

  const wild = (slug: string, fields: Partial<TunnelRecord> = {}) =>
    store.insertTunnel(aTunnel(owner.id, { slug, wildcard: true, ...fields }));
  const name = (slug: string, fields: Partial<TunnelRecord> = {}) =>
    store.insertTunnel(aTunnel(other.id, { slug, ...fields }));

  it('are refused as names of other accounts, whatever stands before the name', async () => {
    await wild('web');
    for (const slug of ['a--web', 'a-b--web', 'a--b--web', 'a---web'])
      await assert.rejects(name(slug), isTaken('slug'), slug);
    await name('a--webs');
    await name('a-web');
    await name('web--a');
    await name('b--web-site');
  });

  it('are names that the account itself may use', async () => {
    await wild('web');
    await store.insertTunnel(aTunnel(owner.id, { slug: 'a--web' }));
    await wild('b--web');
  });

  it('keep a wildcard tunnel from covering a name of another account', async () => {
    await name('a--web');
    await assert.rejects(wild('web'), isTaken('slug'));
    assert.equal((await allTunnels(store)).length, 1);
    await wild('site');
    await wild('b--web');
  });

  it('are not reserved without `wildcard`', async () => {
    await store.insertTunnel(aTunnel(owner.id, { slug: 'web' }));
    await name('a--web');
  });

  it('are refused as subdomains of other accounts, and the other way around', async () => {
    await wild('web');
    await assert.rejects(store.insertAccount(anAccount({ subdomain: 'a--web' })), isTaken('subdomain'));
    await assert.rejects(store.setSubdomain(other.name, 'a--web', 1000), isTaken('subdomain'));
    await store.setSubdomain(owner.name, 'a--web', 1000);
    await store.setSubdomain(other.name, 'a--site', 1000);
    await assert.rejects(wild('site'), isTaken('slug'));
  });

  it('are free again when the wildcard tunnel has ended, unless its name is held', async () => {
    const tunnel = aTunnel(owner.id, { slug: 'web', wildcard: true });
    await store.insertTunnel(tunnel);
    const { id } = tunnel;
    await store.releaseTunnels([{ id, slug: 'web', accountId: owner.id, heldUntil: 5000 }], 1000);
    await assert.rejects(name('a--web', { createdAt: 4999 }), isTaken('slug'));
    await name('a--web', { createdAt: 5000 });
  });

  it('include names that are held for another account', async () => {
    await store.releaseTunnels([{ id: 'x', slug: 'a--web', accountId: other.id, heldUntil: 5000 }], 1000);
    await assert.rejects(wild('web', { createdAt: 4999 }), isTaken('slug'));
    await wild('web', { createdAt: 5000 });
  });

  it('are those of the tunnel that has been taken over as a wildcard one', async () => {
    const tunnel = aTunnel(owner.id, { slug: 'web' });
    await store.insertTunnel(tunnel);
    await name('a--web');
    const takeOver = { now: 1000, nameHold: 0 };
    await assert.rejects(
      store.setTerms(tunnel.id, theTerms({ wildcard: true }), PUBLIC, takeOver),
      isTaken('slug'),
    );
    assert.equal((await store.findTunnel(tunnel.id))?.tunnel.termsRevision, 0);
    await store.setTerms(tunnel.id, theTerms(), PUBLIC, takeOver);
    assert.equal((await store.findTunnel(tunnel.id))?.tunnel.wildcard, false);
  });
});
