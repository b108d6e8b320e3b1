import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { temporaryDirectory } from '../support/programs.ts';
import { killAtStatements } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';

describe('a first start that is killed after one of its statements', () => {
  const scope = suiteScope();

  it('leaves a database that the next start completes', async () => {
    const killed = await killAtStatements(scope, {
      place: () => temporaryDirectory(scope),
      settings: (folder) => ({ CULVERT_DATA_DIR: folder }),
      schema: schemaOf,
    });
    console.log(`      killed after ${killed} different statements`);
    assert.ok(killed > 10, `${killed} statements`);
  }).timeout(600_000);
});

function schemaOf(folder: string): unknown[] {
  const database = new DatabaseSync(join(folder, 'culvert.db'));
  try {
    return [
      ...database.prepare('select name, sql from sqlite_schema order by name').all(),
      ...database.prepare('select name from kysely_migration order by name').all(),
    ];
  } finally {
    database.close();
  }
}
