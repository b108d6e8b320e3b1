/**
 * Looks up names in the store: of tunnels that this relay does not know, because another relay may have created them, and
 * names without a tunnel that are somebody's.
 *
 * Names that are requested while the store is busy are combined into one query, in order of arrival. So a sender who
 * requests thousands of nonexistent names makes the queries longer, but does not keep others from getting an answer.
 */
import type { Clock } from '../clock.ts';
import { StoreError } from '../store/store-errors.ts';

/** How long the relay caches the fact that a slug is unused, unless another relay reports a tunnel there. */
export const LOOKUP_MISS_MS = 5000;
/** Maximum number of unused slugs that the relay caches: about 1 MB. */
export const LOOKUP_MISSES_MAX = 10_000;
/**
 * Maximum number of concurrent queries that look up slugs: if one is slow, others can still run, but on only
 * some of the connections.
 */
export const LOOKUPS_MAX = 4;
/**
 * Number of slugs that one query looks up. It takes a few ms, so thousands of waiting slugs are looked up within
 * a second.
 */
export const LOOKUP_BATCH = 500;
/**
 * Maximum number of slugs waiting for a lookup: about 20 MB, and several times the number of visitors that may
 * be connected.
 */
export const LOOKUPS_WAITING_MAX = 50_000;
type Lookup<Found> = PromiseWithResolvers<Found | undefined>;

interface NameLookupOptions<Found> {
  /** Asks the store for what has one of the names. @throws StoreError */
  readonly ask: (names: readonly string[]) => Promise<ReadonlyMap<string, Found>>;
  /** Whether there can be anything of that name; the store is not asked for others. */
  readonly isPossible?: (name: string) => boolean;
  readonly clock: Clock;
}

export class NameLookup<Found> {
  readonly #options: NameLookupOptions<Found>;
  readonly #clock: Clock;
  /** by name, not queried yet */
  readonly #waiting = new Map<string, Lookup<Found>>();
  /** by name, being queried */
  readonly #asked = new Map<string, Lookup<Found>>();
  /** queries that the store has not answered */
  #underWay = 0;
  /** names that nothing has, and until when that is assumed, monotonic ms; oldest first */
  readonly #misses = new Map<string, number>();

  constructor(options: NameLookupOptions<Found>) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /**
   * @param name as a visitor gave it
   * @throws StoreError, also if too many wait
   */
  async find(name: string): Promise<Found | undefined> {
    if (this.#options.isPossible?.(name) === false || this.isMissing(name)) return undefined;
    const known = this.#asked.get(name) ?? this.#waiting.get(name);
    if (known !== undefined) return await known.promise;
    if (this.#waiting.size >= LOOKUPS_WAITING_MAX) throw new StoreError(new Error('too many lookups'));
    const lookup: Lookup<Found> = Promise.withResolvers();
    this.#waiting.set(name, lookup);
    this.#askNext();
    return await lookup.promise;
  }

  /** Whether nothing has the name, as found a short time ago. */
  isMissing(name: string): boolean {
    return this.#clock.monotonic() < (this.#misses.get(name) ?? -Infinity);
  }

  /** The same, but found any time ago, and no notification has said otherwise since. */
  wasMissing(name: string): boolean {
    return this.#misses.has(name);
  }

  /** Something now has the name. */
  forget(name: string): void {
    this.#misses.delete(name);
    this.#asked.delete(name);
  }

  /** Tunnels may exist now that did not before. */
  clear(): void {
    this.#misses.clear();
    this.#asked.clear();
  }

  #askNext(): void {
    while (this.#underWay < LOOKUPS_MAX && this.#waiting.size > 0) void this.#ask(this.#takeWaiting());
  }

  #takeWaiting(): ReadonlyMap<string, Lookup<Found>> {
    const batch = new Map<string, Lookup<Found>>();
    for (const [name, lookup] of this.#waiting) {
      if (batch.size === LOOKUP_BATCH) break;
      this.#waiting.delete(name);
      this.#asked.set(name, lookup);
      batch.set(name, lookup);
    }
    return batch;
  }

  async #ask(batch: ReadonlyMap<string, Lookup<Found>>): Promise<void> {
    this.#underWay += 1;
    try {
      const byName = await this.#options.ask([...batch.keys()]);
      for (const [name, lookup] of batch) {
        // What was stored in the meantime has replaced the lookup.
        if (!byName.has(name) && this.#asked.get(name) === lookup) this.#remember(name);
        lookup.resolve(byName.get(name));
      }
    } catch (error) {
      for (const lookup of batch.values()) lookup.reject(error);
    } finally {
      for (const [name, lookup] of batch) if (this.#asked.get(name) === lookup) this.#asked.delete(name);
      this.#underWay -= 1;
      this.#askNext();
    }
  }

  #remember(name: string): void {
    this.#misses.delete(name);
    this.#misses.set(name, this.#clock.monotonic() + LOOKUP_MISS_MS);
    if (this.#misses.size <= LOOKUP_MISSES_MAX) return;
    const [oldest] = this.#misses.keys();
    if (oldest !== undefined) this.#misses.delete(oldest);
  }
}
