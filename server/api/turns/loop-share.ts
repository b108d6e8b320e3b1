/** How much of the event loop the API may use while visitors need it: a bucket of time that fills at that share. */

export class LoopShare {
  readonly #share: number;
  readonly #burst: number;
  /** ms that may be spent; what was spent beyond it must be made up for first */
  #credit: number;
  #filledAt = -Infinity;

  /**
   * @param share the part of passing time that it may use, from 0 to 1
   * @param burst ms that may be spent at once
   */
  constructor(share: number, burst: number) {
    this.#share = share;
    this.#burst = burst;
    this.#credit = burst;
  }

  /**
   * @param now monotonic ms
   * @param contended whether visitors need the loop; if not, what was spent does not count
   * @returns ms until the next may begin, 0 for now
   */
  wait(now: number, contended: boolean): number {
    if (!contended) this.#credit = this.#burst;
    else this.#credit = Math.min(this.#burst, this.#credit + (now - this.#filledAt) * this.#share);
    this.#filledAt = now;
    return this.#credit > 0 ? 0 : Math.max(1, -this.#credit / this.#share);
  }

  /** @param ms the loop has been busy with the API */
  spend(ms: number): void {
    this.#credit -= ms;
  }
}
