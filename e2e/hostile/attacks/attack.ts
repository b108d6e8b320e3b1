/** What attacks have in common: random choices, what goes wrong, the relay's memory, and the visitors beside them. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually, within } from '../../support/deadline.ts';
import { residentOf } from '../../support/memory.ts';
import { familyOf } from '../../support/processes.ts';
import type { Relay } from '../../support/programs.ts';
import type { Random } from '../../support/random.ts';
import { Scope } from '../../support/scope.ts';

/** The same in each run, so that a change alone decides whether an attack succeeds. `SEED=7` makes other choices. */
export const SEED = Number(process.env['SEED'] ?? 724_210);

const KEPT = 5;
const MAX_CHARS = 2000;
const LOOK_MS = 100;
const MEBIBYTE = 1024 ** 2;
/** ms between two requests of a visitor that keeps sending them. */
const BREATH_MS = 50;
/** ms until a visitor beside an attack is served: both share this program's event loop. */
const SERVED_MS = 60_000;

/** What went wrong: the first few of each kind, in words. */
export class Faults {
  readonly #counts = new Map<string, number>();
  readonly #first: string[] = [];

  add(kind: string, what: string): void {
    const count = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, count + 1);
    if (count < KEPT) this.#first.push(`${kind}: ${what}`.slice(0, MAX_CHARS));
  }

  assertNone(): void {
    assert.deepEqual(this.#first, [], `${JSON.stringify([...this.#counts])}, with SEED=${SEED}`);
  }
}

/** Watches how much the resident memory of a relay grows from now on, and asserts it at the end of an attack. */
export function watchMemory(scope: Scope, { child }: Relay): (maxMib: number) => void {
  // Once, because to look for them takes as long as a request. None of them may end.
  const processes = familyOf(child.pid);
  const base = residentOf(processes);
  let most = 0;
  const look = (): void => {
    if (!child.hasExited) most = Math.max(most, residentOf(processes) - base);
  };
  const timer = setInterval(look, LOOK_MS);
  scope.defer(() => clearInterval(timer));
  return (maxMib) => {
    look();
    assert.ok(most / MEBIBYTE <= maxMib, `the relay's memory grew by ${Math.round(most / MEBIBYTE)} MiB`);
  };
}

/** A visitor of another tunnel. */
interface Beside {
  /** whole responses that were its own */
  readonly served: number;
  /** @param after the preceding action, for the report */
  ask(after: string): Promise<void>;
}

/** Attacks a relay in turn while a visitor of another tunnel keeps asking, who must be served beside each of them. */
export async function attackBeside(
  relay: Relay,
  visitor: Beside,
  attacks: Iterable<readonly [what: string, attack: (scope: Scope) => Promise<void>]>,
): Promise<void> {
  for (const [what, attack] of attacks) {
    const scope = new Scope();
    const before = visitor.served;
    const attacking = new AbortController();
    const asking = (async () => {
      for (; !attacking.signal.aborted; await delay(BREATH_MS)) await visitor.ask(`beside ${what}`);
    })();
    try {
      await attack(scope);
      await eventually(SERVED_MS, () =>
        assert.ok(visitor.served > before, `nobody is served beside ${what}`),
      );
    } finally {
      attacking.abort();
      await scope.end();
    }
    await asking;
    assert.ok(!relay.child.hasExited, `the relay ended: ${relay.child.stderr.slice(-MAX_CHARS)}`);
  }
}

/** Whether a promise settles in time, either way. */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return await within(ms, 'end', settled).catch(() => false);
}

/** A given number of items, or all, in an order that depends only on the random numbers. */
export function sample<T>(all: readonly T[], count: number, random: Random): T[] {
  const keyed = all.map((each) => ({ each, key: random.below(0x1_0000_0000) }));
  return keyed
    .sort((one, other) => one.key - other.key)
    .slice(0, count)
    .map(({ each }) => each);
}

/**
 * Processes each item, with limited concurrency.
 *
 * @param items consumed as needed
 */
export async function inParallel<T>(
  atATime: number,
  items: Iterable<T>,
  action: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) await action(next.value);
  };
  await Promise.all(Array.from({ length: atATime }, work));
}
