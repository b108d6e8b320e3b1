import assert from 'node:assert/strict';
import { allTunnels, anAccount, aTunnel, openTestStore } from '../../testing/fixtures.ts';
import { openSqliteDatabase } from '../sqlite/open-sqlite.ts';
import { ConflictError } from '../store-errors.ts';
import { kyselyStore, type Store } from '../store.ts';

/** Rounds of a race; each side may lose one. */
const RACES = 20;

function taken(field: ConflictError['field']) {
  return (error: unknown) => error instanceof ConflictError && error.field === field;
}

describe('names of tunnels and subdomains of accounts', () => {
  const owner = anAccount({ subdomain: 'acme' });
  const other = anAccount({ subdomain: 'other' });
  let store: Store;

  beforeEach(async () => {
    store = await openTestStore(() => {});
    for (const account of [owner, other]) await store.insertAccount(account);
  });

  afterEach(() => store.close());

  it("refuse a tunnel any account's subdomain, including its own", async () => {
    for (const { id } of [owner, other])
      await assert.rejects(store.insertTunnel(aTunnel(id, { slug: 'acme' })), taken('slug'));
    assert.deepEqual(await allTunnels(store), []);
  });

  it('refuse an account the name of a live tunnel as its subdomain', async () => {
    const tunnel = aTunnel(owner.id, { slug: 'web' });
    await store.insertTunnel(tunnel);
    const wanted = anAccount({ subdomain: 'web' });
    await assert.rejects(store.insertAccount(wanted), taken('subdomain'));
    assert.equal(await store.findAccount(wanted.name), undefined);
    const held = { id: tunnel.id, slug: 'web', accountId: owner.id, heldUntil: 0 };
    await store.releaseTunnels([held], 1000);
    await store.insertAccount(wanted);
  });

  it('refuse an account a name reserved for another one', async () => {
    await store.releaseTunnels([{ id: 'x', slug: 'web', accountId: owner.id, heldUntil: 5000 }], 1000);
    await assert.rejects(
      store.insertAccount(anAccount({ subdomain: 'web', createdAt: 4999 })),
      taken('subdomain'),
    );
    await store.insertAccount(anAccount({ subdomain: 'web', createdAt: 5000 }));
  });

  it('ignore an expired tunnel left by a relay that died', async () => {
    await store.insertTunnel(aTunnel(owner.id, { slug: 'web', expiresAt: 100_000 }));
    await assert.rejects(
      store.insertAccount(anAccount({ subdomain: 'web', createdAt: 159_999 })),
      taken('subdomain'),
    );
    await store.insertAccount(anAccount({ subdomain: 'web', createdAt: 160_000 }));
  });

  it('give a subdomain back when its account is removed', async () => {
    await store.removeAccount(owner.name, 0);
    await store.insertTunnel(aTunnel(other.id, { slug: 'acme' }));
    assert.deepEqual(
      (await allTunnels(store)).map(({ tunnel }) => tunnel.slug),
      ['acme'],
    );
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

describe('an older database with a tunnel and an account of the same name', () => {
  it('is opened, keeps both, and logs it', async () => {
    const db = await openSqliteDatabase(':memory:');
    const store = kyselyStore(db, () => {});
    const owner = anAccount({ subdomain: 'acme' });
    await store.insertAccount(owner);
    await store.insertTunnel(aTunnel(owner.id, { slug: 'web' }));
    assert.deepEqual(await store.nameClashes(), []);
    await db.updateTable('tunnels').set({ slug: 'acme' }).execute();
    assert.deepEqual(await store.nameClashes(), ['acme']);
    assert.equal((await allTunnels(store)).length, 1);
    await store.close();
  });
});
