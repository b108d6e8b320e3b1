/**
 * Turns of the event loop that a test takes one by one, and a clock that stands still. Mocks of the runner would write down
 * each of many thousand calls.
 */
import { mock } from 'node:test';

const { setImmediate } = globalThis;
const now = performance.now.bind(performance);

export class FakeTurns {
  /** monotonic ms */
  now = 0;
  #waiting: (() => void)[] = [];

  constructor() {
    globalThis.setImmediate = ((callback: () => void) => this.#waiting.push(callback)) as never;
    performance.now = () => this.now;
    mock.timers.enable({ apis: ['setTimeout'] });
  }

  /** Runs what waits for the end of this turn. */
  end(): void {
    for (const callback of this.#waiting.splice(0)) callback();
  }

  /** Whether anything waits for the end of this turn. */
  get isBusy(): boolean {
    return this.#waiting.length > 0;
  }

  /** Lets time pass, for the clock and for timers. */
  pass(ms: number): void {
    this.now += ms;
    mock.timers.tick(ms);
  }

  /** Puts everything back. */
  reset(): void {
    globalThis.setImmediate = setImmediate;
    performance.now = now;
    mock.timers.reset();
  }
}
