import assert from 'node:assert/strict';
import { newDatabase, query } from '../support/postgres.ts';
import { POSTGRES_URL, temporaryDirectory } from '../support/programs.ts';
import { killAtStatements } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';

describe('a first start on PostgreSQL that is killed after one of its statements', () => {
  const scope = suiteScope();

  it('leaves a database that the next start completes', async () => {
    const killed = await killAtStatements(scope, {
      place: () => newDatabase(scope, POSTGRES_URL ?? ''),
      settings: (url) => ({ CULVERT_DATABASE_URL: url, CULVERT_DATA_DIR: temporaryDirectory(scope) }),
      schema: schemaOf,
    });
    console.log(`      killed after ${killed} different statements`);
    assert.ok(killed > 10, `${killed} statements`);
  }).timeout(600_000);
});

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
