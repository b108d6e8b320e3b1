/** Resources of a suite that must be released, whether its tests and hooks succeed or not. */
export class Scope {
  readonly #actions: (() => unknown)[] = [];

  /** Registers a cleanup action. Actions run once, in reverse order. */
  defer(action: () => unknown): void {
    this.#actions.push(action);
  }

  /**
   * Runs every registered action.
   *
   * @throws AggregateError after all have run, if some failed
   */
  async end(): Promise<void> {
    const errors: unknown[] = [];
    for (let action = this.#actions.pop(); action !== undefined; action = this.#actions.pop()) {
      try {
        await action();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, `cleaning up failed: ${errors.join('; ')}`);
  }
}

/** A scope that ends with the run (end-of-run.ts); in a worker of `mocha --parallel`, with the process (reaper.ts). */
export const runScope = new Scope();

/** A scope that ends after the tests of the enclosing `describe`. */
export function suiteScope(): Scope {
  const scope = new Scope();
  after(() => scope.end());
  return scope;
}

/** A scope that ends after each test of the enclosing `describe`. */
export function testScope(): Scope {
  const scope = new Scope();
  afterEach(() => scope.end());
  return scope;
}
