/** Reports when the process was blocked: a blocked event loop, or a suspended machine. */
import type { Clock, Timer } from '../clock.ts';
import type { Log } from '../log.ts';
import { LOG_REPEAT_MS } from './logger.ts';

/** How long the event loop may be blocked before the relay reports it; visitors notice less. */
export const LOOP_STALL_MS = 1000;

const INTERVAL_MS = 500;

export class StallDetector {
  readonly #clock: Clock;
  readonly #log: Log;
  #timer: Timer | undefined;
  #lastReport = -Infinity;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  start(): void {
    const due = this.#clock.monotonic() + INTERVAL_MS;
    this.#timer = this.#clock.setTimeout(() => {
      this.#check(due);
      this.start();
    }, INTERVAL_MS);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** @param due when the timer should have fired, monotonic ms */
  #check(due: number): void {
    const now = this.#clock.monotonic();
    if (now - due < LOOP_STALL_MS || now - this.#lastReport < LOG_REPEAT_MS) return;
    this.#lastReport = now;
    this.#log('event loop stalled', { ms: Math.round(now - due) });
  }
}
