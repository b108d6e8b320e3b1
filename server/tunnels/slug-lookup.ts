/** Asks the store for tunnels that visitors name and this relay has not met, without letting visitors overload it. */
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
import { type Store, StoreError } from '../store/store.ts';

type Lookup = PromiseWithResolvers<OwnedTunnel | undefined>;

/**
 * Slugs that are asked for while the store is busy are combined into one question, in the order in which they came. So
 * whoever names thousands of slugs that do not exist makes the questions longer, but keeps nobody else from getting an
 * answer.
 */
export class SlugLookup {
  readonly #store: Pick<Store, 'findTunnelsBySlug'>;
  readonly #clock: Clock;
  /** by slug, not asked for yet */
  readonly #waiting = new Map<string, Lookup>();
  /** by slug, asked for */
  readonly #asked = new Map<string, Lookup>();
  /** questions the store has not answered */
  #underWay = 0;
  /** slugs that no tunnel has, with the monotonic ms until which that is believed; oldest first */
  readonly #misses = new Map<string, number>();

  constructor(store: Pick<Store, 'findTunnelsBySlug'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * @param slug as a visitor gave it
   * @throws StoreError, also if too many wait
   */
  async find(slug: string): Promise<OwnedTunnel | undefined> {
    if (!NAME_PATTERN.test(slug) || this.#isMissing(slug)) return undefined;
    const known = this.#asked.get(slug) ?? this.#waiting.get(slug);
    if (known !== undefined) return await known.promise;
    if (this.#waiting.size >= LOOKUPS_WAITING_MAX) throw new StoreError(new Error('too many lookups'));
    const lookup: Lookup = Promise.withResolvers();
    this.#waiting.set(slug, lookup);
    this.#askNext();
    return await lookup.promise;
  }

  /** A tunnel has the slug now. */
  forget(slug: string): void {
    this.#misses.delete(slug);
    this.#asked.delete(slug);
  }

  /** A tunnel that was not there may be there now. */
  clear(): void {
    this.#misses.clear();
    this.#asked.clear();
  }

  #askNext(): void {
    while (this.#underWay < LOOKUPS_MAX && this.#waiting.size > 0) void this.#ask(this.#takeWaiting());
  }

  #takeWaiting(): ReadonlyMap<string, Lookup> {
    const batch = new Map<string, Lookup>();
    for (const [slug, lookup] of this.#waiting) {
      if (batch.size === LOOKUP_BATCH) break;
      this.#waiting.delete(slug);
      this.#asked.set(slug, lookup);
      batch.set(slug, lookup);
    }
    return batch;
  }

  async #ask(batch: ReadonlyMap<string, Lookup>): Promise<void> {
    this.#underWay += 1;
    try {
      const found = await this.#store.findTunnelsBySlug([...batch.keys()]);
      const bySlug = new Map(found.map((owned) => [owned.tunnel.slug, owned]));
      for (const [slug, lookup] of batch) {
        // A tunnel created meanwhile has taken the lookup's place.
        if (!bySlug.has(slug) && this.#asked.get(slug) === lookup) this.#remember(slug);
        lookup.resolve(bySlug.get(slug));
      }
    } catch (error) {
      for (const lookup of batch.values()) lookup.reject(error);
    } finally {
      for (const [slug, lookup] of batch) if (this.#asked.get(slug) === lookup) this.#asked.delete(slug);
      this.#underWay -= 1;
      this.#askNext();
    }
  }

  #isMissing(slug: string): boolean {
    return this.#clock.monotonic() < (this.#misses.get(slug) ?? -Infinity);
  }

  #remember(slug: string): void {
    this.#misses.delete(slug);
    this.#misses.set(slug, this.#clock.monotonic() + LOOKUP_MISS_MS);
    if (this.#misses.size <= LOOKUP_MISSES_MAX) return;
    const [oldest] = this.#misses.keys();
    if (oldest !== undefined) this.#misses.delete(oldest);
  }
}
