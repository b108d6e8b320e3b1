/** Calls to another thread or process that were not answered yet. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from './clock.ts';

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: Timer;
}

export class PendingCalls {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** by number */
  readonly #pending = new Map<number, Pending>();
  #calls = 0;

  /** @param timeoutMs how long an answer may take */
  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** How many were not answered. */
  get size(): number {
    return this.#pending.size;
  }

  /**
   * @param send sends the call, whose answer has the same number
   * @param late the error for a call that was not answered in time
   * @param timeoutMs for one that may take another time
   * @throws what {@link reject} and {@link rejectAll} are given, or that error
   */
  call(
    send: (call: number) => void,
    late: () => Error,
    timeoutMs: number = this.#timeoutMs,
  ): Promise<unknown> {
    const call = (this.#calls += 1);
    return new Promise((resolve, reject) => {
      const timer = this.#clock.setTimeout(() => void this.#giveUp(call, late), timeoutMs);
      this.#pending.set(call, { resolve, reject, timer });
      send(call);
    });
  }

  resolve(call: number, value: unknown): void {
    this.#take(call)?.resolve(value);
  }

  reject(call: number, error: Error): void {
    this.#take(call)?.reject(error);
  }

  rejectAll(error: Error): void {
    for (const call of this.#pending.keys()) this.reject(call, error);
  }

  /** If this process itself was suspended, reads the answers that arrived in the meantime first. */
  async #giveUp(call: number, late: () => Error): Promise<void> {
    await nextTurn();
    this.reject(call, late());
  }

  #take(call: number): Pending | undefined {
    const pending = this.#pending.get(call);
    pending?.timer.cancel();
    this.#pending.delete(call);
    return pending;
  }
}
