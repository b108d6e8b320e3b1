/** The programs the demo runs, and how it ends them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** ms a program has to end by itself. */
const STOP_TIMEOUT_MS = 12_000;

export class Child {
  readonly name: string;
  readonly #process: ChildProcess;
  /** Settles when the program has ended, with a sentence that says how. */
  readonly ended: Promise<string>;

  /**
   * Starts a Node program in a process group of its own: Ctrl-C in a terminal reaches the demo alone, which then ends
   * the client before the relay.
   *
   * @param onLine called for each line of its standard output; its standard error is shown as it is
   */
  constructor(
    name: string,
    args: readonly string[],
    env: Readonly<Record<string, string | undefined>>,
    onLine: (line: string) => void,
  ) {
    this.name = name;
    this.#process = spawn(process.execPath, [...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    if (this.#process.stdout !== null) createInterface({ input: this.#process.stdout }).on('line', onLine);
    this.ended = new Promise((resolve) => {
      this.#process.once('error', (error) => resolve(`${name} could not be started: ${error.message}`));
      this.#process.once('exit', (code, signal) =>
        resolve(`${name} ended with ${signal ?? `exit code ${code}`}`),
      );
    });
  }

  /** Asks the program to end, and ends it after {@link STOP_TIMEOUT_MS} if it does not. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), STOP_TIMEOUT_MS);
    this.#process.kill('SIGTERM');
    await this.ended;
    clearTimeout(timer);
  }
}

/** Runs a program to its end and gives its standard output; throws with its standard error when it fails. */
export function runToEnd(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: STOP_TIMEOUT_MS,
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(out) : reject(new Error(err.trim()))));
  });
}
