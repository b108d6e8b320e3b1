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

  /** It no longer keeps the process alive, at most {@link TIMER_STEP_MAX_MS} from now on. */
  unref(): void {
    this.#handle?.unref();
  }

  #wait(callback: () => void, ms: number, isHolding: boolean): void {
    this.#handle =
      ms > TIMER_STEP_MAX_MS
        ? setTimeout(() => this.#wait(callback, ms - TIMER_STEP_MAX_MS, isHolding), TIMER_STEP_MAX_MS)
        : setTimeout(callback, ms);
    if (!isHolding) this.#handle.unref();
  }
}

/** How long to wait before trying again after a failure. */

interface Backoff {
  /** consecutive failed tries before this one, from 0 */
  readonly attempt: number;
  /** longest first wait, in ms */
  readonly baseMs: number;
  /** longest wait of all, in ms */
  readonly capMs: number;
  /** from 0 up to 1 */
  readonly random: number;
}

/**
 * "Full jitter": a random wait between nothing and a ceiling that doubles with each failure, so that many clients that
 * lost the same peer do not all return at the same time.
 *
 * @returns whole ms
 */
export function fullJitter({ attempt, baseMs, capMs, random }: Backoff): number {
  return Math.floor(random * Math.min(capMs, baseMs * 2 ** attempt));
}
