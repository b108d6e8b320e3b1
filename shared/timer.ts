/** Timers for durations as long as the life of a tunnel or a certificate. */

/** The longest wait of Node and browsers (2^31 - 1 ms, 24.8 days). A longer timer would fire immediately. */
export const TIMER_STEP_MAX_MS = 2_147_483_647;

/**
 * A running timer. A class, because each tunnel has one, and a function that cancels it would use five times as much
 * memory.
 */
export class LongTimer {
  #handle: ReturnType<typeof setTimeout> | undefined;

  /**
   * Calls back once, after one or more waits.
   *
   * @param ms any duration; `Infinity` for never
   * @param isHolding whether it keeps the process alive until then
   */
  constructor(callback: () => void, ms: number, isHolding: boolean) {
    this.#wait(callback, ms, isHolding);
  }

  /** Has no effect once the timer has fired or was cancelled. */
  cancel(): void {
    clearTimeout(this.#handle);
  }

  #wait(callback: () => void, ms: number, isHolding: boolean): void {
    this.#handle =
      ms > TIMER_STEP_MAX_MS
        ? setTimeout(() => this.#wait(callback, ms - TIMER_STEP_MAX_MS, isHolding), TIMER_STEP_MAX_MS)
        : setTimeout(callback, ms);
    if (!isHolding) this.#handle.unref();
  }
}
