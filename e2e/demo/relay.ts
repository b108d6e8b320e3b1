/** The relay of the demo, and the account its tunnel belongs to. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Child } from '../support/child.ts';

const RELAY_PROGRAM = join(import.meta.dirname, '../../dist/server/cli.js');
const DEFAULT_PORT = 8080;
const START_TIMEOUT_MS = 15_000;
const ACCOUNT = 'demo';

export interface DemoRelay {
  readonly child: DemoProgram;
  /** address for the client */
  readonly url: string;
}

/**
 * Starts the relay with the settings of the environment, and waits until it accepts requests.
 *
 * @throws Error when it ends or is not ready within {@link START_TIMEOUT_MS}; it is ended then
 */
export async function startRelay(dataDir: string): Promise<DemoRelay> {
  const env = {
    CULVERT_BOOTSTRAP_KEY: process.env['CULVERT_BOOTSTRAP_KEY'] ?? `cvt_${randomBytes(20).toString('hex')}`,
    CULVERT_PORT: process.env['CULVERT_PORT'] ?? String(await choosePort()),
    CULVERT_DATA_DIR: dataDir,
  };
  let onReady: ((url: string) => void) | undefined;
  const ready = new Promise<string>((resolve) => (onReady = resolve));
  const child = startProgram('The relay', [RELAY_PROGRAM], env, (line) => {
    const url = /^listening on (\S+)$/.exec(line)?.[1];
    if (url !== undefined) onReady?.(reachable(url));
  });
  const failed = child.ended.then((how) => Promise.reject(new Error(how)));
  try {
    return { child, url: await withTimeout(Promise.race([ready, failed])) };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

/**
 * Creates a key of the account `demo`, with an account subdomain. The account is created on first use of a data folder.
 */
export async function createKey(dataDir: string): Promise<string> {
  const env = { CULVERT_DATA_DIR: dataDir };
  const createKeyArgs = [RELAY_PROGRAM, 'key', 'create', '--account', ACCOUNT, '--json'];
  const account = ['--name', ACCOUNT, '--plan', 'dev', '--subdomain', ACCOUNT, '--json'];
  let answer: string;
  try {
    answer = await runToEnd(createKeyArgs, env);
  } catch {
    await runToEnd([RELAY_PROGRAM, 'account', 'create', ...account], env);
    answer = await runToEnd(createKeyArgs, env);
  }
  return (JSON.parse(answer) as { key: string }).key;
}

/** The default port, or 0 for a free one if another program is using it. */
function choosePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(0));
    probe.listen(DEFAULT_PORT, process.env['CULVERT_HOST'] ?? '127.0.0.1', () =>
      probe.close(() => resolve(DEFAULT_PORT)),
    );
  });
}

/** A relay that listens on every address is reached via loopback. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

async function withTimeout<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('The relay did not start in time')), START_TIMEOUT_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

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
 * Starts a Node program that Ctrl-C in a terminal does not reach: only the demo is told, and it ends the client before
 * the relay. Its standard error is shown as it is.
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
