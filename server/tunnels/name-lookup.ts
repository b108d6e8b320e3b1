/**
 * Looks up tunnels that this relay does not know in the store, by their names: another relay may have created them.
 *
 * Names that are requested while the store is busy are combined into one query, in order of arrival. So a sender who
 * requests thousands of nonexistent names makes the queries longer, but does not keep others from getting an answer.
 */
import { NAME_PATTERN } from '../../shared/value-rules.ts';
import type { Clock } from '../clock.ts';
import type { OwnedTunnel } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';

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
type Lookup = PromiseWithResolvers<OwnedTunnel | undefined>;

export class NameLookup {
  readonly #store: Pick<Store, 'findTunnels'>;
  readonly #by: 'slug' | 'domain';
  readonly #clock: Clock;
  /** by name, not queried yet */
  readonly #waiting = new Map<string, Lookup>();
  /** by name, being queried */
  readonly #asked = new Map<string, Lookup>();
  /** queries that the store has not answered */
  #underWay = 0;
  /** names without a tunnel, and until when that is assumed, monotonic ms; oldest first */
  readonly #misses = new Map<string, number>();

  /** @param by what the names are; only verified domains are looked up, and the relay knows all of those */
  constructor(store: Pick<Store, 'findTunnels'>, by: 'slug' | 'domain', clock: Clock) {
    this.#store = store;
    this.#by = by;
    this.#clock = clock;
  }

  /**
   * @param name as a visitor gave it
   * @throws StoreError, also if too many wait
   */
  async find(name: string): Promise<OwnedTunnel | undefined> {
    if ((this.#by === 'slug' && !NAME_PATTERN.test(name)) || this.isMissing(name)) return undefined;
    const known = this.#asked.get(name) ?? this.#waiting.get(name);
    if (known !== undefined) return await known.promise;
    if (this.#waiting.size >= LOOKUPS_WAITING_MAX) throw new StoreError(new Error('too many lookups'));
    const lookup: Lookup = Promise.withResolvers();
    this.#waiting.set(name, lookup);
    this.#askNext();
    return await lookup.promise;
  }

  /** Whether no tunnel has the name, as found a short time ago. */
  isMissing(name: string): boolean {
    return this.#clock.monotonic() < (this.#misses.get(name) ?? -Infinity);
  }

  /** The same, but found any time ago, and no notification has said otherwise since. */
  wasMissing(name: string): boolean {
    return this.#misses.has(name);
  }

  /** A tunnel now has the name. */
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

  #takeWaiting(): ReadonlyMap<string, Lookup> {
    const batch = new Map<string, Lookup>();
    for (const [name, lookup] of this.#waiting) {
      if (batch.size === LOOKUP_BATCH) break;
      this.#waiting.delete(name);
      this.#asked.set(name, lookup);
      batch.set(name, lookup);
    }
    return batch;
  }

  async #ask(batch: ReadonlyMap<string, Lookup>): Promise<void> {
    this.#underWay += 1;
    try {
      const found = await this.#store.findTunnels(this.#by, [...batch.keys()]);
      const byName = new Map(found.map((owned) => [owned.tunnel[this.#by] ?? '', owned]));
      for (const [name, lookup] of batch) {
        // A tunnel created in the meantime has replaced the lookup.
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
