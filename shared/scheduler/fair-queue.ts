/**
 * A queue in which no group gets more than its share: groups take turns, and items of a group leave in their order.
 */

/** `G`: the key of a group, compared by identity. */
export class FairQueue<T, G = string> {
  /** waiting items by group; the group whose turn is next comes first */
  readonly #groups = new Map<G, Set<{ readonly item: T }>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @returns a function that removes the item if it is still waiting */
  push(group: G, item: T): () => void {
    const entry = { item };
    const waiting = this.#groups.get(group) ?? new Set();
    this.#groups.set(group, waiting.add(entry));
    this.#size += 1;
    return () => this.#remove(group, waiting, entry);
  }

  /**
   * Removes the next item. The next turn of its group comes after those of all other waiting groups.
   *
   * @param mayGo groups for which it returns false are skipped, and keep their place
   */
  shift(mayGo: (group: G) => boolean = () => true): { group: G; item: T } | undefined {
    for (const [group, waiting] of this.#groups) {
      const [entry] = waiting;
      if (entry === undefined || !mayGo(group)) continue;
      this.#groups.delete(group);
      this.#groups.set(group, waiting);
      this.#remove(group, waiting, entry);
      return { group, item: entry.item };
    }
    return undefined;
  }

  #remove(group: G, waiting: Set<{ readonly item: T }>, entry: { readonly item: T }): void {
    if (!waiting.delete(entry)) return;
    this.#size -= 1;
    if (waiting.size === 0) this.#groups.delete(group);
  }
}
