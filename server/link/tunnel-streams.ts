/** The data sockets of one tunnel, and whether there is still a client at their other ends. */
import { LIFE_SIGN_MS } from '../limits.ts';
import type { DataStream, DataStreamOwner } from './data-stream.ts';

/** Of all tunnels that never had one, which are most: a set takes memory while it is empty. */
const NONE = new Set<DataStream>();

export class TunnelStreams implements DataStreamOwner {
  #open = NONE;
  /** those that visitors' connections keep for a next request, longest first */
  #idle = NONE;

  /** When the signs of life that were asked for are due, monotonic ms. */
  #due = Infinity;
  #clientIsLost = false;
  /** Whether the client was lost again meanwhile, and with it streams on which it was not asked. */
  #asksAgain = false;

  get size(): number {
    return this.#open.size;
  }

  [Symbol.iterator](): IterableIterator<DataStream> {
    return this.#open.values();
  }

  add(stream: DataStream): void {
    if (this.#open === NONE) this.#open = new Set();
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

  /** The client that they lead to is online no more: visitors' connections keep none of them. */
  retireAllIdle(): void {
    for (const stream of this.#idle) stream.retire();
  }

  /**
   * A control socket of the client was lost. That may be all that it lost: so it is asked on each stream whether it is there,
   * and again until it is back.
   *
   * @param now monotonic ms
   * @param isBack whether it has another control socket
   */
  clientLost(now: number, isBack: boolean): void {
    this.#clientIsLost = !isBack;
    this.#question(now);
  }

  clientCame(): void {
    this.#clientIsLost = false;
  }

  /**
   * Ends the streams on which the client owes a sign of life. To be called about every second.
   *
   * @param now monotonic ms
   */
  tick(now: number): void {
    if (now < this.#due) return;
    this.#due = Infinity;
    let isUnknown = false;
    for (const stream of this.#open) {
      if (stream.life === 'none') stream.lose();
      else if (stream.life === 'unknown') isUnknown = true;
    }
    if (isUnknown || this.#clientIsLost || this.#asksAgain) this.#question(now);
  }

  rests(stream: DataStream): void {
    if (this.#idle === NONE) this.#idle = new Set();
    this.#idle.add(stream);
  }

  serves(stream: DataStream): void {
    this.#idle.delete(stream);
  }

  ended(stream: DataStream): void {
    this.#open.delete(stream);
    this.#idle.delete(stream);
  }
  #question(now: number): void {
    this.#asksAgain = this.#due !== Infinity;
    if (this.#open.size === 0 || this.#asksAgain) return;
    this.#due = now + LIFE_SIGN_MS;
    for (const stream of this.#open) stream.probe();
  }
}
