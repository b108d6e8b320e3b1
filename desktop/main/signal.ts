/** Something that happens again and again, told to whoever listens. */
export class Signal<T = void> {
  readonly #listeners = new Set<(value: T) => void>();

  /** @returns what ends it */
  listen(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Tells all who listen now, in the order in which they came. */
  emit(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }
}
