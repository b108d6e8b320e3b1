/** Relays that are killed while they make their database. */
import assert from 'node:assert/strict';
import { type Environment, newApiKey, spawnRelay } from './programs.ts';
import type { Scope } from './scope.ts';

/** No start has this many statements; without a limit a mistake here would never end. */
const STATEMENTS_MAX = 200;

/** How the relays under test are started. */
export interface Starts<Place> {
  /** URL of what is loaded into a relay so that it dies behind statement number `DIE_AT` */
  readonly killer: string;
  /** @returns where a new database is to be */
  readonly place: () => Place | Promise<Place>;
  readonly settings: (place: Place) => Environment;
  /** @returns what is in it after a whole start, the same each time */
  readonly schema: (place: Place) => unknown[] | Promise<unknown[]>;
}

/**
 * Kills a first start behind each of its statements in turn, and asserts that the next start completes what it has left.
 *
 * @returns the number of statements
 */
export async function killAtEachStatement<Place>(scope: Scope, starts: Starts<Place>): Promise<number> {
  const { killer, place, settings, schema } = starts;
  const complete = await place();
  assert.equal(await start(scope, settings(complete)), 'listening');
  const expected = await schema(complete);
  assert.ok(expected.length > 5);
  for (let killed = 1; killed < STATEMENTS_MAX; killed += 1) {
    const at = await place();
    const dying = { ...settings(at), NODE_OPTIONS: `--import=${killer}`, DIE_AT: String(killed) };
    if ((await start(scope, dying)) === 'listening') return killed - 1;
    assert.equal(
      await start(scope, settings(at)),
      'listening',
      `after it was killed behind statement ${killed}`,
    );
    assert.deepEqual(await schema(at), expected, `after it was killed behind statement ${killed}`);
  }
  assert.fail(`${STATEMENTS_MAX} statements`);
}

async function start(scope: Scope, settings: Environment): Promise<'listening' | 'killed'> {
  const child = spawnRelay(scope, ['serve'], {
    CULVERT_BOOTSTRAP_KEY: newApiKey(),
    CULVERT_PORT: '0',
    ...settings,
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
