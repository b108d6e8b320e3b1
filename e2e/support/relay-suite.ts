import assert from 'node:assert/strict';
import { AccountPool } from './accounts.ts';
import { eventually } from './deadline.ts';
import { type Environment, Relay, standIn } from './programs.ts';
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
