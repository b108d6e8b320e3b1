/** Loaded by every mocha process (.mocharc.json). */
import { runScope } from './scope.ts';

/** In the first process only: workers end without it. */
export async function mochaGlobalTeardown(): Promise<void> {
  await runScope.end();
}

/**
 * Ends the process immediately when nothing is left to do: Node 24 otherwise tears down its environment first, and was
 * seen to wait there indefinitely, using a whole core, for a handle that never closes. A test that leaves something
 * behind still keeps the process alive, because this hook runs only once nothing is left.
 */
process.once('beforeExit', () => process.exit());
