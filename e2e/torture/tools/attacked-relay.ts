/** A relay with many tunnels of an attacker. */
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { giveTunnels } from '../../support/database.ts';
import { eventually, timed, within } from '../../support/deadline.ts';
import { memoryOf } from '../../support/memory.ts';
import { type Environment, Relay } from '../../support/programs.ts';
import type { Random } from '../../support/random.ts';
import { visit } from '../../support/raw-http.ts';
import type { Scope } from '../../support/scope.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { type Front, straight } from './fronts.ts';

export interface AttackedRelay {
  readonly relay: Relay;
  readonly front: Front;
  readonly attacker: TestAccount;
  /** @throws Error if there are not that many */
  tunnel(index: number): Tunnel;
}

export interface AttackedRelayOptions {
  /** number of tunnels, each for one attack at a time */
  readonly count: number;
  /** prefix of their names */
  readonly name: string;
  readonly settings?: Environment;
}

export async function startAttackedRelay(
  scope: Scope,
  { count, name, settings = {} }: AttackedRelayOptions,
): Promise<AttackedRelay> {
  const { CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN } = SHIPPED.settings;
  const relay = await Relay.start(scope, { ...settings, CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN });
  const attacker = await createAccount(relay, { plan: 'team' });
  const given = Array.from({ length: count }, (_, index) => ({ slug: `${name}-${index}`, localPort: 9 }));
  await giveTunnels(scope, relay, attacker, given);
  const tunnels = await attacker.api.list();
  return {
    relay,
    front: straight(relay.port),
    attacker,
    tunnel(index) {
      const tunnel = tunnels[index];
      if (tunnel === undefined) throw new Error(`there is no tunnel ${index}`);
      return tunnel;
    },
  };
}

const LOOK_MS = 100;
const MEBIBYTE = 1024 * 1024;

/** Watches how much the resident memory of a process grows from now on. */
export class ResidentWatch {
  readonly #pid: number;
  readonly #base: number;
  #most = 0;

  constructor(scope: Scope, pid: number) {
    this.#pid = pid;
    this.#base = memoryOf(pid).resident;
    const timer = setInterval(() => this.#look(), LOOK_MS);
    scope.defer(() => clearInterval(timer));
  }

  /** The maximum growth so far, in MiB. */
  get growthMib(): number {
    this.#look();
    return this.#most / MEBIBYTE;
  }

  #look(): void {
    this.#most = Math.max(this.#most, memoryOf(this.#pid).resident - this.#base);
  }
}

/** Whether a promise settles in time, either way. */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await within(ms, 'end', settled);
  } catch {
    return false;
  }
}

/* Measures with new visitors how long it takes until a tunnel serves. */

/** ms after which visitors give up: more than any row allows. */
const GIVE_UP_MS = 40_000;

/**
 * Sends requests to a tunnel whose service responds with `ok`, until it does.
 *
 * @returns the seconds it took, and the last outcome if it never did
 */
export async function secondsUntilServed(
  relay: { readonly port: number },
  host: string,
): Promise<{ readonly seconds: number; readonly faults: readonly string[] }> {
  const served = async (): Promise<void> => {
    const { status, text } = await visit(relay.port, { host });
    if (status !== 200 || text !== 'ok') throw new Error(`answered ${status}: ${text}`);
  };
  const { value, ms } = await timed(() =>
    eventually(GIVE_UP_MS, served).then(
      () => [],
      (error: unknown) => [String(error)],
    ),
  );
  return { seconds: ms / 1000, faults: value };
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
