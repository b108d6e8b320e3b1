/** An event that happens again and again, sent to all listeners. */
export class Signal<T = void> {
  readonly #listeners = new Set<(value: T) => void>();

  /** @returns call it to stop listening */
  listen(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Tells all current listeners, in the order in which they came. */
  emit(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }
}
