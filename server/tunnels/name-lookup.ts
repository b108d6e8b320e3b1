/**
 * Looks up tunnels that visitors name and this relay does not know yet, without letting visitors overload the store.
 */
import { NAME_PATTERN } from '../../shared/constraints.ts';
import type { Clock } from '../clock.ts';
import {
  LOOKUP_BATCH,
  LOOKUP_MISS_MS,
  LOOKUP_MISSES_MAX,
  LOOKUPS_MAX,
  LOOKUPS_WAITING_MAX,
} from '../limits.ts';
import type { OwnedTunnel } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';

type Lookup = PromiseWithResolvers<OwnedTunnel | undefined>;

/** One kind of tunnel name: slugs or domains. */
export interface Naming {
  /** Whether a tunnel may have such a name. */
  readonly isName: (text: string) => boolean;
  /** The existing tunnels with these names, in any order; rejects with StoreError. */
  readonly ask: (names: readonly string[]) => Promise<OwnedTunnel[]>;
  readonly nameOf: (owned: OwnedTunnel) => string;
}

export function bySlug(store: Pick<Store, 'findTunnelsBySlug'>): Naming {
  return {
    isName: (text) => NAME_PATTERN.test(text),
    ask: (slugs) => store.findTunnelsBySlug(slugs),
    nameOf: ({ tunnel }) => tunnel.slug,
  };
}

/** Only verified domains are looked up, and the relay knows all of those. */
export function byDomain(store: Pick<Store, 'findTunnelsByDomain'>): Naming {
  return {
    isName: () => true,
    ask: (domains) => store.findTunnelsByDomain(domains),
    nameOf: ({ tunnel }) => tunnel.domain ?? '',
  };
}

/**
 * Names that are requested while the store is busy are combined into one query, in order of arrival. So a sender who
 * requests thousands of nonexistent names makes the queries longer, but does not keep others from getting an answer.
 */
export class NameLookup {
  readonly #naming: Naming;
  readonly #clock: Clock;
  /** by name, not queried yet */
  readonly #waiting = new Map<string, Lookup>();
  /** by name, being queried */
  readonly #asked = new Map<string, Lookup>();
  /** queries that the store has not answered */
  #underWay = 0;
  /** names without a tunnel, and until when that is assumed, monotonic ms; oldest first */
  readonly #misses = new Map<string, number>();

  constructor(naming: Naming, clock: Clock) {
    this.#naming = naming;
    this.#clock = clock;
  }

  /**
   * @param name as a visitor gave it
   * @throws StoreError, also if too many wait
   */
  async find(name: string): Promise<OwnedTunnel | undefined> {
    if (!this.#naming.isName(name) || this.isMissing(name)) return undefined;
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
      const found = await this.#naming.ask([...batch.keys()]);
      const byName = new Map(found.map((owned) => [this.#naming.nameOf(owned), owned]));
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
