import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { AccountPool } from './accounts.ts';
import { eventually } from './deadline.ts';
import { type Environment, newApiKey, Relay, spawnRelay, standIn } from './programs.ts';
import type { Response } from './raw-http.ts';
import { runScope, type Scope, suiteScope } from './scope.ts';

/** Shared by the tests of a `describe`. */
export interface RelaySuite {
  readonly scope: Scope;
  readonly relay: Relay;
  readonly pool: AccountPool;
}

/**
 * Starts a relay before the tests of the enclosing `describe`, and stops it after them. The result is returned
 * immediately, and can be used once hooks run.
 *
 * @param settings environment of the relay
 */
export function relaySuite(settings: Environment = {}): RelaySuite {
  return suiteWith((scope) => Relay.start(scope, settings));
}

/** The same with a {@link sharedRelay}. */
export function sharedRelaySuite(settings: Environment = {}): RelaySuite {
  return suiteWith(() => sharedRelay(settings));
}

function suiteWith(start: (scope: Scope) => Promise<Relay>): RelaySuite {
  const scope = suiteScope();
  let started: Relay | undefined;
  const relay = standIn(() => started ?? assert.fail('the relay is there once hooks run'));
  before(async () => {
    started = await start(scope);
  });
  return { scope, relay, pool: new AccountPool(relay) };
}

/** by their settings */
const shared = new Map<string, Promise<Relay>>();

/**
 * A relay that all suites of this process share, which saves them a start. It is for tests with their own accounts and
 * names; those about the program, its output, its settings or its limits for an address need their own relay.
 */
export async function sharedRelay(settings: Environment = {}): Promise<Relay> {
  const name = JSON.stringify(settings);
  const starting = shared.get(name) ?? Relay.start(runScope, settings);
  shared.set(name, starting);
  const started = await starting;
  return standIn(() => started, {
    get child() {
      return refuse();
    },
    stop: refuse,
    restart: refuse,
  });
}

function refuse(): never {
  assert.fail('other suites use this relay');
}

/**
 * Waits until a relay that was told to stop disconnects its visitors: until a response announces that it is the last
 * one on its connection, or the listener is closed. On a busy machine that takes up to a second after the signal,
 * because waiting connections are accepted first.
 *
 * @param ask requests `/readyz` on a new connection
 */
export async function draining(ask: () => Promise<Response>): Promise<void> {
  await eventually(20_000, async () => {
    const seen = await ask().then(
      ({ status, head }) => `${status}, ${head.field('connection')}`,
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );
    assert.ok(seen === '503, close' || seen === 'ECONNREFUSED', seen);
  });
}

/* Relays that are killed while they create their database. */

/** No start executes this many statements. Without a limit, a mistake here would never end. */
const STATEMENTS_MAX = 400;
/** One statement in this many is tried, beginning with a random one of them: each takes two starts. */
const STRIDE = 8;

/** Makes a relay die after statement number `DIE_AT`. */
const KILLER = new URL('die-at.ts', import.meta.url).href;

/** How the relays under test are started. */
export interface Starts<Place> {
  /** @returns the location of a new database */
  readonly place: () => Place | Promise<Place>;
  readonly settings: (place: Place) => Environment;
  /** @returns the schema after a complete start, the same each time */
  readonly schema: (place: Place) => unknown[] | Promise<unknown[]>;
}

/**
 * Kills a first start after some of its statements, one by one, and asserts that the next start completes the
 * database.
 *
 * @returns how often one was killed
 */
export async function killAtStatements<Place>(scope: Scope, starts: Starts<Place>): Promise<number> {
  const { place, settings, schema } = starts;
  const complete = await place();
  assert.equal(await startOnce(scope, settings(complete)), 'listening');
  const expected = await schema(complete);
  assert.ok(expected.length > 5);
  let kills = 0;
  for (let killed = 1 + randomInt(STRIDE); killed < STATEMENTS_MAX; killed += STRIDE) {
    const at = await place();
    const dying = { ...settings(at), NODE_OPTIONS: `--import=${KILLER}`, DIE_AT: String(killed) };
    if ((await startOnce(scope, dying)) === 'listening') return kills;
    kills += 1;
    assert.equal(
      await startOnce(scope, settings(at)),
      'listening',
      `after it was killed behind statement ${killed}`,
    );
    assert.deepEqual(await schema(at), expected, `after it was killed behind statement ${killed}`);
  }
  assert.fail(`${STATEMENTS_MAX} statements`);
}

async function startOnce(scope: Scope, settings: Environment): Promise<'listening' | 'killed'> {
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
