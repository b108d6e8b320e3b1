import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { newApiKey, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { type Scope, suiteScope } from '../support/scope.ts';

const DIE_AT_STATEMENT = new URL('../support/die-at-statement.ts', import.meta.url).href;
/** No start has this many statements; without a limit a mistake here would never end. */
const STATEMENTS_MAX = 200;

describe('a first start that is killed after each of its statements in turn', () => {
  const scope = suiteScope();

  it('leaves a database that the next start completes', async () => {
    const complete = temporaryDirectory(scope);
    assert.equal(await start(scope, complete), 'listening');
    const expected = schemaOf(complete);
    assert.ok(expected.length > 5);
    let killed = 0;
    while (killed < STATEMENTS_MAX) {
      const folder = temporaryDirectory(scope);
      if ((await start(scope, folder, killed + 1)) === 'listening') break;
      killed += 1;
      assert.equal(await start(scope, folder), 'listening', `after it was killed behind statement ${killed}`);
      assert.deepEqual(schemaOf(folder), expected, `after it was killed behind statement ${killed}`);
    }
    console.log(`      killed after each of ${killed} statements`);
    assert.ok(killed > 10 && killed < STATEMENTS_MAX, `${killed} statements`);
  }).timeout(600_000);
});

async function start(scope: Scope, folder: string, dieAt = 0): Promise<'listening' | 'killed'> {
  const child = spawnRelay(scope, ['serve'], {
    CULVERT_DATA_DIR: folder,
    CULVERT_BOOTSTRAP_KEY: newApiKey(),
    CULVERT_PORT: '0',
    ...(dieAt === 0 ? {} : { NODE_OPTIONS: `--import=${DIE_AT_STATEMENT}`, DIE_AT: String(dieAt) }),
  });
  const listening = child.line((line) => (line.startsWith('listening') ? line : undefined));
  const outcome = await Promise.race([
    listening.then(() => 'listening' as const),
    child.exited.then(({ signal }) => {
      assert.equal(signal, 'SIGKILL', child.stderr);
      return 'killed' as const;
    }),
  ]);
  listening.catch(() => undefined);
  await child.stop('SIGKILL');
  return outcome;
}

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
