/**
 * Whose bytes leave next. Who has just begun to send goes before those who have been sending for longer, who take turns; so
 * what is small leaves before what is large (as in FQ-CoDel, RFC 8290 section 4.2). Who has had a turn keeps a place in the
 * round, also with nothing to send: so while one waits, each other has one turn at most.
 */
export class SendRounds<T> {
  readonly #fresh = new Set<T>();
  /** those that have had a turn, the next one first, and whether they have something to send */
  readonly #round = new Map<T, boolean>();
  #size = 0;

  /** How many have something to send. */
  get size(): number {
    return this.#size;
  }

  /** It has something to send, or has more. One that waits already keeps its place. */
  add(item: T): void {
    const waits = this.#round.get(item);
    if (waits === true || this.#fresh.has(item)) return;
    this.#size += 1;
    if (waits === undefined) this.#fresh.add(item);
    else this.#round.set(item, true);
  }

  /** Gives whose turn it is. */
  next(): T | undefined {
    for (const item of this.#fresh) {
      this.#fresh.delete(item);
      return this.#turn(item);
    }
    for (const [item, waits] of this.#round) {
      this.#round.delete(item);
      if (waits) return this.#turn(item);
    }
    return undefined;
  }

  /** It has nothing to send any more. */
  delete(item: T): void {
    if (this.#fresh.delete(item) || this.#round.get(item) === true) this.#size -= 1;
    this.#round.delete(item);
  }

  #turn(item: T): T {
    this.#size -= 1;
    this.#round.set(item, false);
    return item;
  }
}
