/** A repeated event with any number of listeners. */
export class Signal<T = void> {
  readonly #listeners = new Set<(value: T) => void>();

  /** @returns call it to stop listening */
  listen(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls all current listeners in the order of their registration. */
  emit(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }
}
