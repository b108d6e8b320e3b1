import assert from 'node:assert/strict';
import { openPostgres, openPostgresDatabase } from '../../server/store/postgres/open-postgres.ts';
import { ConflictError, FullError, StoreError } from '../../server/store/store-errors.ts';
import type { Store } from '../../server/store/store.ts';
import { aTunnel, anAccount } from '../../server/testing/fixtures.ts';
import { assertAtLimit, timed } from '../support/deadline.ts';
import { newDatabase, query } from '../support/postgres.ts';
import { POSTGRES_URL } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

/** The advisory lock that Kysely takes while it changes a schema. */

describe('two stores on one PostgreSQL database', () => {
  const scope = suiteScope();
  const owner = anAccount();
  let url: string;
  let stores: [Store, Store];

  before(async () => {
    if (POSTGRES_URL === undefined) throw new Error('run it with npm test -- cluster');
    url = await newDatabase(scope, POSTGRES_URL);
    const open = async () => await openPostgres({ kind: 'postgres', url }, () => {});
    // Both start on an empty database at the same time: they take turns to create the tables.
    stores = await Promise.all([open(), open()]);
    scope.defer(() => Promise.all(stores.map((store) => store.close())));
    await stores[0].insertAccounts([owner]);
  });

  /** What each store does at the same time. */
  async function both(act: (store: Store, index: number) => Promise<unknown>): Promise<unknown[]> {
    const results = await Promise.allSettled(stores.map(act));
    return results.map((result) => (result.status === 'fulfilled' ? undefined : (result.reason as unknown)));
  }

  it('give a name to one of them', async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      const slug = `name-${turn}`;
      const results = await both((store) => store.insertTunnel(aTunnel(owner.id, { slug })));
      const refused = results.filter((result) => result instanceof ConflictError);
      assert.equal(refused.length, 1, String(results));
    }
  });

  it('give the hosts of a wildcard tunnel, and names among them, to one account', async () => {
    const others = Array.from({ length: 20 }, () => anAccount());
    for (const account of others) await stores[0].insertAccounts([account]);
    for (let turn = 0; turn < 20; turn += 1) {
      const results = await Promise.allSettled(
        others.map(({ id }, index) =>
          stores[index % 4 < 2 ? 0 : 1].insertTunnel(
            index % 2 === 0
              ? aTunnel(id, { slug: `wild-${turn}`, wildcard: true })
              : aTunnel(id, { slug: `x${index}--wild-${turn}` }),
          ),
        ),
      );
      const stored = results.flatMap(({ status }, index) => (status === 'fulfilled' ? [index % 2] : []));
      for (const result of results)
        if (result.status === 'rejected')
          assert.ok(result.reason instanceof ConflictError, String(result.reason));
      assert.ok(stored.length > 0);
      assert.ok(!stored.includes(0) || stored.length === 1, String(stored));
    }
  });

  it('together create at most the tunnels that an account may have', async () => {
    const account = anAccount();
    await stores[0].insertAccounts([account]);
    const rules = { maxTunnels: 5, nameHold: 0 };
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, turn) =>
        (turn % 2 === 0 ? stores[0] : stores[1]).insertTunnel(aTunnel(account.id), rules),
      ),
    );
    for (const result of results) {
      if (result.status === 'rejected') assert.ok(result.reason instanceof FullError, String(result.reason));
    }
    const [{ count } = { count: 0 }] = await query(
      url,
      'select count(*)::int as count from tunnels where "accountId" = $1',
      [account.id],
    );
    assert.equal(count, 5);
  });

  it('add traffic to the same tunnels in any order, without deadlocks', async () => {
    const account = anAccount();
    await stores[0].insertAccounts([account]);
    const tunnels = Array.from({ length: 200 }, () => aTunnel(account.id));
    for (const tunnel of tunnels) await stores[0].insertTunnel(tunnel);
    const deltas = tunnels.map(({ id }) => ({
      id,
      bytesIn: 1,
      bytesOut: 2,
      requests: 1,
      expiresAt: 0,
      termsRevision: 0,
    }));
    for (let turn = 0; turn < 20; turn += 1) {
      const results = await both((store, index) =>
        store.addTraffic(index === 0 ? deltas : deltas.toReversed()),
      );
      assert.deepEqual(results, [undefined, undefined]);
    }
    const rows = await query(
      url,
      'select distinct requests::int, "bytesOut"::int from tunnels where "accountId" = $1',
      [account.id],
    );
    assert.deepEqual(rows, [{ requests: 40, bytesOut: 80 }]);
  });

  it('notice rows that the other has deleted', async () => {
    const before = Number.parseInt(await stores[1].accessRevision(0), 10);
    await stores[0].setPlan(owner.name, 'team');
    assert.equal(Number.parseInt(await stores[1].accessRevision(0), 10), before + 1);
  });

  it('give up a statement that waits 2 s for a locked row', async () => {
    const db = await openPostgresDatabase({ kind: 'postgres', url });
    scope.defer(() => db.destroy());
    await db.transaction().execute(async (holder) => {
      await holder.selectFrom('accounts').select('id').where('id', '=', owner.id).forUpdate().execute();
      const { ms } = await timed(() => assert.rejects(stores[0].setPlan(owner.name, 'dev'), StoreError));
      assertAtLimit(ms, 2000);
    });
  });
});

describe('a store on PostgreSQL', () => {
  const scope = suiteScope();

  it('is created once by relays that start at the same time', async () => {
    const url = await newDatabase(scope, POSTGRES_URL ?? '');
    const address = { kind: 'postgres', url } as const;
    const opened = await Promise.all([1, 2, 3].map(() => openPostgres(address, () => {})));
    await Promise.all(opened.map((store) => store.close()));
    assert.deepEqual(await query(url, 'select version from schema_version'), [{ version: 1 }]);
  });
});

describe('a connection of the store', () => {
  const scope = suiteScope();

  it('has its settings: commits are on the disk, statements end after 4 s, and so do idle transactions', async () => {
    const url = await newDatabase(scope, POSTGRES_URL ?? '');
    await query(url, `alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`);
    const db = await openPostgresDatabase({ kind: 'postgres', url });
    scope.defer(() => db.destroy());
    const { sql } = await import('kysely');
    const names = [
      'synchronous_commit',
      'statement_timeout',
      'idle_in_transaction_session_timeout',
      'lock_timeout',
    ];
    const { rows } = await sql<Record<string, string>>`
      select ${sql.join(names.map((name) => sql`current_setting(${sql.lit(name)}) as ${sql.ref(name)}`))}`.execute(
      db,
    );
    assert.deepEqual(rows, [
      {
        synchronous_commit: 'on',
        statement_timeout: '4s',
        idle_in_transaction_session_timeout: '4s',
        lock_timeout: '2s',
      },
    ]);
  });
});
