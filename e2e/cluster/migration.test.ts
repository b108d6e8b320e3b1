import assert from 'node:assert/strict';
import { newDatabase, query } from '../support/postgres.ts';
import { POSTGRES_URL, spawnRelay } from '../support/programs.ts';
import { type Scope, suiteScope } from '../support/scope.ts';

const DIE_AT_QUERY = new URL('../support/die-at-query.ts', import.meta.url).href;
/** No program has this many statements; without a limit a mistake here would never end. */
const STATEMENTS_MAX = 100;

describe('a program that is killed after each statement with which it creates the tables in PostgreSQL', () => {
  const scope = suiteScope();

  it('leaves a database that the next one completes', async () => {
    const complete = await emptyDatabase(scope);
    assert.equal(await listAccounts(scope, complete), 'done');
    const expected = await schemaOf(complete);
    assert.ok(expected.length > 20);
    let killed = 0;
    while (killed < STATEMENTS_MAX) {
      const url = await emptyDatabase(scope);
      if ((await listAccounts(scope, url, killed + 1)) === 'done') break;
      killed += 1;
      assert.equal(await listAccounts(scope, url), 'done', `after statement ${killed}`);
      assert.deepEqual(await schemaOf(url), expected, `after statement ${killed}`);
    }
    console.log(`      killed after each of ${killed} statements`);
    assert.ok(killed > 10 && killed < STATEMENTS_MAX, `${killed} statements`);
  }).timeout(600_000);
});

async function emptyDatabase(scope: Scope): Promise<string> {
  return await newDatabase(scope, POSTGRES_URL ?? '');
}

async function listAccounts(scope: Scope, url: string, dieAt = 0): Promise<'done' | 'killed'> {
  const child = spawnRelay(scope, ['account', 'list', '--json'], {
    CULVERT_DATABASE_URL: url,
    ...(dieAt === 0 ? {} : { NODE_OPTIONS: `--import=${DIE_AT_QUERY}`, DIE_AT: String(dieAt) }),
  });
  const { code, signal } = await child.exit();
  if (signal === 'SIGKILL') return 'killed';
  assert.equal(code, 0, child.stderr);
  return 'done';
}

async function schemaOf(url: string): Promise<unknown[]> {
  return [
    ...(await query(
      url,
      `select table_name, column_name, data_type from information_schema.columns
       where table_schema = 'public' order by 1, 2`,
    )),
    ...(await query(url, "select indexname from pg_indexes where schemaname = 'public' order by 1")),
    ...(await query(url, 'select name from kysely_migration order by name')),
    ...(await query(url, 'select * from access_revision')),
  ];
}
