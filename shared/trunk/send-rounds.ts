/**
 * Whose bytes leave next. Who has just begun to send goes before those who have been sending for longer, who take turns; so
 * what is small leaves before what is large, and nobody waits for ever (as in FQ-CoDel, RFC 8290 section 4.2).
 */
export class SendRounds<T> {
  /** those that had nothing to send before, and those that have sent and have more */
  readonly #fresh = new Set<T>();
  readonly #round = new Set<T>();

  get size(): number {
    return this.#fresh.size + this.#round.size;
  }

  /** It has something to send. One that waits already keeps its place. */
  add(item: T): void {
    if (!this.#round.has(item)) this.#fresh.add(item);
  }

  /** Takes out whose turn it is. */
  next(): T | undefined {
    return takeFirst(this.#fresh) ?? takeFirst(this.#round);
  }

  /** One that {@link next} gave has more to send. */
  again(item: T): void {
    this.#round.add(item);
  }

  /** It has nothing to send any more. */
  delete(item: T): void {
    this.#fresh.delete(item);
    this.#round.delete(item);
  }
}

function takeFirst<T>(items: Set<T>): T | undefined {
  for (const item of items) {
    items.delete(item);
    return item;
  }
  return undefined;
}
