/**
 * How much one end of a stream lets the other send. It starts at {@link WINDOW_START_BYTES}, which is also all that a reader
 * who takes nothing can have waiting for him, and grows where a round trip is what limits a stream
 * (docs/decisions/0016-trunk.md).
 */
import { WINDOW_MAX_BYTES } from './frames.ts';

/** Bytes that may come before the first WINDOW frame. */
export const WINDOW_START_BYTES = 64 * 1024;

/** What all streams together may have above {@link WINDOW_START_BYTES} each. */
export class WindowBudget {
  #left: number;

  /** @param bytes all there is */
  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** @returns whether there was so much left, which is taken then */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}

export class ReceiveWindow {
  readonly #budget: WindowBudget;
  #size = WINDOW_START_BYTES;
  /** bytes that the peer may still send */
  #open = WINDOW_START_BYTES;
  /** bytes that came and were not passed on */
  #held = 0;
  /** when the peer was let go on last, monotonic ms */
  #grantedAt: number;

  /** @param now monotonic ms */
  constructor(budget: WindowBudget, now: number) {
    this.#budget = budget;
    this.#grantedAt = now;
  }

  /** @returns whether the peer was allowed to send so many bytes */
  received(bytes: number): boolean {
    this.#open -= bytes;
    this.#held += bytes;
    return this.#open >= 0;
  }

  /**
   * Bytes that came were passed on.
   *
   * @returns whether the peer is to be let go on, by {@link grant}: it has used half of its window
   */
  passedOn(bytes: number): boolean {
    this.#held -= bytes;
    return this.#size - this.#open - this.#held >= this.#size / 2;
  }

  /**
   * Lets the peer go on.
   *
   * @param roundTripMs of the path; `undefined` where it is not known
   * @param now monotonic ms
   * @returns for how many more bytes; 0 where the window has just become smaller
   */
  grant(roundTripMs: number | undefined, now: number): number {
    const elapsed = now - this.#grantedAt;
    this.#grantedAt = now;
    if (roundTripMs !== undefined) this.#resize(elapsed, roundTripMs);
    const grant = Math.max(0, this.#size - this.#open - this.#held);
    this.#open += grant;
    return grant;
  }

  /** Nothing more is expected. */
  close(): void {
    this.#budget.giveBack(this.#size - WINDOW_START_BYTES);
    this.#size = WINDOW_START_BYTES;
  }

  /** Half a window in less than a round trip: the peer had to wait. Half a window in far more: it is larger than need be. */
  #resize(elapsedMs: number, roundTripMs: number): void {
    const size = this.#size;
    const most = Math.min(WINDOW_MAX_BYTES, roundTripMs * PATH_BYTES_PER_MS);
    if (elapsedMs < roundTripMs && 2 * size <= most && this.#budget.take(size)) {
      this.#size = 2 * size;
    } else if (elapsedMs > SHRINK_ROUND_TRIPS * roundTripMs && size > WINDOW_START_BYTES) {
      this.#size = size / 2;
      this.#budget.giveBack(this.#size);
    }
  }
}

/**
 * What a path is taken to carry at most, 2 Gbit/s: so windows stay small on short paths, where 64 KiB are enough for as
 * much. What the system takes for a reader who reads nothing, which is megabytes, looks like such a path.
 */
const PATH_BYTES_PER_MS = 256 * 1024;
/** Round trips that half a window lasts before it is made smaller: well above the two that it lasts at the right size. */
const SHRINK_ROUND_TRIPS = 16;
