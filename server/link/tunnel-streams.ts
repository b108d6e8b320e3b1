/** The data sockets of one tunnel. */
import type { DataStream, DataStreamOwner } from './data-stream.ts';

export class TunnelStreams implements DataStreamOwner {
  readonly #open = new Set<DataStream>();
  /** those that visitors' connections keep for a next request, longest first */
  readonly #idle = new Set<DataStream>();

  get size(): number {
    return this.#open.size;
  }

  [Symbol.iterator](): IterableIterator<DataStream> {
    return this.#open.values();
  }

  add(stream: DataStream): void {
    this.#open.add(stream);
  }

  /**
   * Ends the one that has been kept for longest.
   *
   * @returns whether there was one
   */
  retireIdle(): boolean {
    for (const stream of this.#idle) {
      stream.retire();
      return true;
    }
    return false;
  }

  rests(stream: DataStream): void {
    this.#idle.add(stream);
  }

  serves(stream: DataStream): void {
    this.#idle.delete(stream);
  }

  ended(stream: DataStream): void {
    this.#open.delete(stream);
    this.#idle.delete(stream);
  }
}
