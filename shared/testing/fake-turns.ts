/**
 * Turns of the event loop that a test controls one by one, and a clock that stands still. The runner's mocks would
 * record each of many thousand calls.
 */

const { setImmediate, queueMicrotask, setTimeout: realSetTimeout, clearTimeout } = globalThis;
const now = performance.now.bind(performance);

export class FakeScheduler {
  /** monotonic ms */
  now = 0;
  #microtasks: (() => void)[] = [];
  #immediates: (() => void)[] = [];
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  constructor() {
    globalThis.setImmediate = ((callback: () => void) => this.#immediates.push(callback)) as never;
    globalThis.queueMicrotask = (callback) => void this.#microtasks.push(callback);
    performance.now = () => this.now;
    globalThis.setTimeout = ((callback: () => void, ms: number) => {
      const timer = { at: this.now + ms, callback };
      this.#timers.add(timer);
      return timer;
    }) as never;
    globalThis.clearTimeout = (timer) => void this.#timers.delete(timer as never);
  }

  /** Runs microtasks. */
  settle(): void {
    for (let next = this.#microtasks.shift(); next !== undefined; next = this.#microtasks.shift()) next();
  }

  /** Runs the callbacks for the end of this turn. */
  end(): void {
    this.settle();
    for (const callback of this.#immediates.splice(0)) {
      callback();
      this.settle();
    }
  }

  /** Whether anything is waiting. */
  get isBusy(): boolean {
    return this.#microtasks.length + this.#immediates.length > 0;
  }

  /** Advances time, for the clock and for timers. */
  pass(ms: number): void {
    this.now += ms;
    for (const timer of this.#timers) {
      if (timer.at > this.now) continue;
      this.#timers.delete(timer);
      timer.callback();
    }
    this.settle();
  }

  /** The number of waiting timers. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Restores everything. */
  reset(): void {
    globalThis.setImmediate = setImmediate;
    globalThis.queueMicrotask = queueMicrotask;
    performance.now = now;
    globalThis.setTimeout = realSetTimeout;
    globalThis.clearTimeout = clearTimeout;
  }
}

/** Captures timers so that a test can fire them, for code without a clock parameter. */

interface HeldTimer {
  readonly callback: () => void;
  readonly ms: number;
}

/** @returns the timers that are set while `run` runs; none of them is really started */
export function timersSetBy(run: () => void): HeldTimer[] {
  const { setTimeout } = globalThis;
  const timers: HeldTimer[] = [];
  globalThis.setTimeout = ((callback: () => void, ms: number) => timers.push({ callback, ms })) as never;
  try {
    run();
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  return timers;
}
