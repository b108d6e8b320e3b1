import assert from 'node:assert/strict';
import type { Kysely } from 'kysely';
import { aDomain, aKeyRecord, anAccount, aTunnel, PUBLIC, theTerms } from '../testing/fixtures.ts';
import {
  ENDED_DOMAIN_KEPT_MS,
  ENDED_DOMAINS_MAX,
  ENDED_TAKEN_OVER_KEPT_MS,
  FOREVER,
} from './queries/ending-queries.ts';
import type { Database } from './records.ts';
import { openSqliteDatabase } from './sqlite/open-sqlite.ts';
import { kyselyStore, type Store } from './store.ts';

describe('the endings that the store remembers', () => {
  const account = anAccount({ name: 'acme' });
  let db: Kysely<Database>;
  let store: Store;

  beforeEach(async () => {
    db = await openSqliteDatabase(':memory:');
    store = kyselyStore(db, () => {});
    await store.insertAccounts([account]);
  });

  afterEach(() => store.close());

  async function ends(): Promise<(readonly [string, string, number])[]> {
    const rows = await db.selectFrom('endings').selectAll().orderBy('kind').orderBy('endedAt').execute();
    return rows.map((row) => [row.kind, row.id, row.keptUntil]);
  }

  it('include a closed tunnel until its expiry, and one that was taken over for 30 days', async () => {
    const [closed, taken, expired] = [2000, 3000, 4000].map((expiresAt) =>
      aTunnel(account.id, { expiresAt }),
    );
    assert.ok(closed !== undefined && taken !== undefined && expired !== undefined);
    for (const tunnel of [closed, taken, expired]) await store.insertTunnel(tunnel);
    await store.setTerms(taken.id, theTerms({ expiresAt: 1500 }), PUBLIC, { now: 1000, nameHold: 0 });
    const released = { accountId: account.id, heldUntil: 0 };
    await store.releaseTunnels([{ ...closed, ...released }], 1000);
    await store.releaseTunnels([{ ...taken, ...released }], 1100);
    await store.releaseTunnels([{ ...expired, ...released, expiredAt: 4000 }], 4000);
    assert.deepEqual(
      new Set(await ends()),
      new Set([
        ['tunnel', closed.id, 2000],
        ['tunnel', taken.id, 1100 + ENDED_TAKEN_OVER_KEPT_MS],
      ]),
    );
    const late = aTunnel(account.id, { expiresAt: 9000 });
    await store.insertTunnel(late);
    await store.releaseTunnels([{ ...late, ...released }], 5000);
    assert.deepEqual(new Set((await ends()).map(([, id]) => id)), new Set([taken.id, late.id]));
  });

  it('include a removed domain for 400 days, and 1,000 of them per account', async () => {
    const release = { now: 5, nameHold: 0, checkAt: 0, instead: null };
    const claim = aDomain(account.id, 'claimed.test');
    await store.insertDomain(claim, null);
    await store.removeDomain({ id: claim.id, accountId: account.id }, release);
    assert.deepEqual(await ends(), [], 'a claim gives nothing, so nothing ends with it');
    for (let one = 0; one <= ENDED_DOMAINS_MAX; one += 1) {
      const domain = aDomain(account.id, 'verified.test', { id: `domain-${one}` });
      await store.insertDomain(domain, null);
      await store.verifyDomain({ id: domain.id, ...release });
      await store.removeDomain({ id: domain.id, accountId: account.id }, { ...release, now: one });
    }
    const kept = await ends();
    assert.equal(kept.length, ENDED_DOMAINS_MAX);
    assert.deepEqual(kept[0], ['domain', 'domain-1', 1 + ENDED_DOMAIN_KEPT_MS]);
  });

  it('include a removed account and its keys permanently', async () => {
    const key = aKeyRecord({ accountId: account.id });
    await store.insertKey(key);
    await store.removeAccount('acme', 5);
    assert.deepEqual(await ends(), [
      ['account', account.id, FOREVER],
      ['key', key.hash, FOREVER],
    ]);
  });
});
