/** Freezes `performance.now` until a test advances it, for code without an injected clock. */

const now = performance.now.bind(performance);

export class HeldTime {
  #now = 0;

  constructor() {
    performance.now = () => this.#now;
  }

  pass(ms: number): void {
    this.#now += ms;
  }

  /** Restores the system's. */
  reset(): void {
    performance.now = now;
  }
}
