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

/** A scope that ends with the run; in a worker of `mocha --parallel`, with the process (reaper.ts). */
export const runScope = new Scope();

/** Called by mocha in its first process only (.mocharc.json): workers end without it. */
export async function mochaGlobalTeardown(): Promise<void> {
  await runScope.end();
}

/**
 * Ends the process immediately when nothing is left to do: Node 24 otherwise tears down its environment first, and was
 * seen to wait there indefinitely, using a whole core, for a handle that never closes. A test that leaves something
 * behind still keeps the process alive, because this hook runs only once nothing is left.
 */
process.once('beforeExit', () => process.exit());

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

/** Whether tests that depend on chance try as often as they can, instead of as often as needed to find what breaks. */
export const isLong = process.env['LONG'] === '1';

/**
 * For tests that mostly wait: all of them start together, after the `before` hooks declared so far, and each is
 * reported separately. They must not share mutable state or do much work: two dozen programs that start simultaneously
 * on two cores meet no deadline.
 *
 * @returns a replacement for `it`
 */
export function concurrentTests(): (title: string, test: () => Promise<void>) => void {
  const starts: (() => void)[] = [];
  before(() => {
    for (const start of starts) start();
  });
  return (title, test) => {
    const outcome = Promise.withResolvers<void>();
    // A test that fails early is reported when mocha reaches it.
    outcome.promise.catch(() => undefined);
    starts.push(() => void test().then(outcome.resolve, outcome.reject));
    it(title, () => outcome.promise);
  };
}
