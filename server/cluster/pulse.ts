/**
 * Notices that the process has stood still: stopped, suspended, or starved. Others may have taken over what it held, so
 * nothing of it may be used until that has been checked.
 */
import type { Clock, Timer } from '../clock.ts';
import { PULSE_LEAP_MS, PULSE_MS } from '../limits.ts';

export interface PulseEvents {
  /** It stood still for this many ms; it is steady again when the promise is fulfilled. */
  leapt(ms: number): Promise<void>;
  /** It is steady again. */
  steady(): void;
}

export class Pulse {
  readonly #clock: Clock;
  readonly #events: PulseEvents;
  #at: number;
  #timer: Timer | undefined;
  #checking = false;

  constructor(clock: Clock, events: PulseEvents) {
    this.#clock = clock;
    this.#events = events;
    this.#at = clock.monotonic();
  }

  /** Checked before each use, because the event that woke the process may come before any timer. */
  get isSteady(): boolean {
    this.#look();
    return !this.#checking;
  }

  start(): void {
    this.#look();
    this.#timer = this.#clock.setTimeout(() => this.start(), PULSE_MS);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #look(): void {
    const now = this.#clock.monotonic();
    const gap = now - this.#at;
    this.#at = now;
    if (gap < PULSE_LEAP_MS || this.#checking) return;
    this.#checking = true;
    void this.#check(gap);
  }

  async #check(gap: number): Promise<void> {
    await this.#events.leapt(gap);
    this.#checking = false;
    this.#events.steady();
  }
}
