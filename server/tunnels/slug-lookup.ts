/** Asks the store for tunnels that visitors name and this relay has not met, without letting visitors drown it. */
import { NAME_PATTERN } from '../../shared/tunnel.ts';
import type { Clock } from '../clock.ts';
import { LOOKUP_MISS_MS, LOOKUP_MISSES_MAX, LOOKUPS_MAX } from '../limits.ts';
import { type OwnedTunnel, type Store, StoreError } from '../store/store.ts';

export class SlugLookup {
  readonly #store: Pick<Store, 'findTunnel'>;
  readonly #clock: Clock;
  /** by slug */
  readonly #underWay = new Map<string, Promise<OwnedTunnel | undefined>>();
  /** slugs that no tunnel has, with the monotonic ms until which that is believed; oldest first */
  readonly #misses = new Map<string, number>();

  constructor(store: Pick<Store, 'findTunnel'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * @param slug as a visitor gave it
   * @throws StoreError also where too many are asked for at once
   */
  async find(slug: string): Promise<OwnedTunnel | undefined> {
    if (!NAME_PATTERN.test(slug) || this.#isMissing(slug)) return undefined;
    const underWay = this.#underWay.get(slug);
    if (underWay !== undefined) return await underWay;
    if (this.#underWay.size >= LOOKUPS_MAX) throw new StoreError(new Error('too many lookups'));
    const lookup = this.#store.findTunnel({ slug });
    this.#underWay.set(slug, lookup);
    try {
      const found = await lookup;
      // A tunnel that was made meanwhile has taken the lookup's place away.
      if (found === undefined && this.#underWay.get(slug) === lookup) this.#remember(slug);
      return found;
    } finally {
      if (this.#underWay.get(slug) === lookup) this.#underWay.delete(slug);
    }
  }

  /** A tunnel has the slug now. */
  forget(slug: string): void {
    this.#misses.delete(slug);
    this.#underWay.delete(slug);
  }

  /** Whatever was not there may be there now. */
  clear(): void {
    this.#misses.clear();
    this.#underWay.clear();
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
