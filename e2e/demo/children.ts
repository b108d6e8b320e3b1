/** The programs the demo runs, and how it ends them. */
import { Child } from '../support/child.ts';

/** ms a program has to end by itself. */
const STOP_TIMEOUT_MS = 12_000;

/** A program of the demo. */
export interface DemoProgram {
  /** Settles once the program has ended, with a sentence that says how. */
  readonly ended: Promise<string>;
  /** Asks the program to end, and ends it if it does not. */
  stop(): Promise<void>;
}

/**
 * Starts a Node program that Ctrl-C in a terminal does not reach: only the demo is told, and it ends the client before the
 * relay. Its standard error is shown as it is.
 *
 * @param onLine called for each line of its standard output
 */
export function startProgram(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  onLine: (line: string) => void,
): DemoProgram {
  const environment = { ...process.env, ...env };
  const child = new Child(process.execPath, args, { environment, onLine, isApart: true, showsErrors: true });
  const ended = child.exited.then(
    ({ code, signal }) => `${name} ended with ${signal ?? `exit code ${code}`}`,
    (error: unknown) => `${name} could not be started: ${String(error)}`,
  );
  return { ended, stop: () => child.end(STOP_TIMEOUT_MS) };
}

/** Runs a program to its end and returns its standard output; throws with its standard error if it fails. */
export async function runToEnd(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const child = new Child(process.execPath, args, { environment: { ...process.env, ...env } });
  try {
    const { code } = await child.exit(STOP_TIMEOUT_MS);
    if (code !== 0) throw new Error(child.stderr.trim());
    return child.lines.join('\n');
  } finally {
    child.kill('SIGKILL');
  }
}
