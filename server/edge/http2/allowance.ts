/** How often a visitor of HTTP/2 may do what serves no request. */

/**
 * Maximum number of streams that a visitor may reset in a burst on one HTTP/2 connection: a browser that leaves
 * a page resets all of its streams. More resets end the connection (CVE-2023-44487).
 */
export const HTTP2_RESETS_BURST = 1000;
/** Maximum average number of streams that a visitor may reset per second on one HTTP/2 connection. */
export const HTTP2_RESETS_PER_SECOND = 100;
/**
 * Maximum number of frames in a burst on one HTTP/2 connection that carry nothing of a request: PING, SETTINGS,
 * PRIORITY, empty DATA, and WINDOW_UPDATE beyond two for each frame of a response. More end the connection.
 */
export const HTTP2_CONTROL_BURST = 2000;
/** Maximum average number of such frames per second on one HTTP/2 connection. */
export const HTTP2_CONTROL_PER_SECOND = 200;
/** How often a visitor may do something that costs the relay more than the visitor. */
export class Allowance {
  readonly #now: () => number;
  readonly #burst: number;
  readonly #perMs: number;
  #left: number;
  #at: number;

  constructor(now: () => number, burst: number, perSecond: number) {
    this.#now = now;
    this.#burst = burst;
    this.#perMs = perSecond / 1000;
    this.#left = burst;
    this.#at = now();
  }

  /** @returns whether it may */
  spend(): boolean {
    if (this.#left < 1) {
      const now = this.#now();
      this.#left = Math.min(this.#burst, this.#left + (now - this.#at) * this.#perMs);
      this.#at = now;
    }
    this.#left -= 1;
    return this.#left >= 0;
  }

  /** It may that much more often. */
  earn(times: number): void {
    this.#left = Math.min(this.#burst, this.#left + times);
  }
}

/** How many streams are remembered. */
const REMEMBERED = 200;

/** Streams that the relay has reset: the visitor may have sent frames of them before it knew. */
export class ResetStreams {
  readonly #ids = new Set<number>();

  has(id: number): boolean {
    return this.#ids.has(id);
  }

  add(id: number): void {
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (this.#ids.size > REMEMBERED && oldest !== undefined) this.#ids.delete(oldest);
  }
}
