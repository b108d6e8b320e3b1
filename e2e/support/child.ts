import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { deferred } from './deferred.ts';
import { within } from './deadline.ts';
import { reapProcess } from './reaper.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** ms within which a line comes on the busiest of machines. */
const LINE_MS = 60_000;

const running = new Set<Child>();

/** A program under test, run by this Node as a process of its own. */
export class Child {
  /** Complete lines of standard output so far. */
  readonly lines: string[] = [];
  stderr = '';
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };
  readonly #listeners = new Set<() => void>();
  #rest = '';

  /**
   * @param script path of the JavaScript file to run
   * @param environment added to this process's own, from which every `CULVERT_*` is removed
   * @param input what it gets as standard input, which then ends; nothing is empty input
   * @param folder its working directory; this process's own unless given
   */
  constructor(
    script: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
    input = '',
    folder?: string,
  ) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CULVERT_'));
    this.#process = spawn(process.execPath, [script, ...args], {
      env: { ...Object.fromEntries(inherited), ...environment },
      cwd: folder,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    // A program that reads nothing may be gone before this is written.
    this.#process.stdin?.on('error', () => {}).end(input);
    running.add(this);
    reapProcess(this.#process);
    const exit = deferred<Exit>();
    this.exited = exit.promise;
    this.#process.once('error', exit.reject);
    this.#process.once('close', (code, signal) => {
      running.delete(this);
      exit.resolve({ code, signal });
      this.#notify();
    });
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
  }

  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('the program did not start');
    return this.#process.pid;
  }

  get hasExited(): boolean {
    return !running.has(this);
  }

  /**
   * Waits for a line of standard output, past ones included.
   *
   * @param match returns what it makes of a line, or `undefined` for a line that is not meant
   * @param ms how long to wait
   * @throws Error with what the program said instead
   */
  async line<T>(match: (line: string) => T | undefined, ms = LINE_MS): Promise<T> {
    const found = deferred<T>();
    let seen = 0;
    const look = (): void => {
      for (; seen < this.lines.length; seen += 1) {
        const value = match(this.lines[seen] ?? '');
        if (value !== undefined) return found.resolve(value);
      }
      if (this.hasExited) found.reject(new Error('the program ended'));
    };
    this.#listeners.add(look);
    look();
    try {
      return await within(ms, 'such line', found.promise);
    } catch (error) {
      throw new Error(`${String(error)}\nstdout: ${this.lines.join('\n')}\nstderr: ${this.stderr}`, {
        cause: error,
      });
    } finally {
      this.#listeners.delete(look);
    }
  }

  /** Sends a signal, if the program still runs. */
  kill(signal: NodeJS.Signals): void {
    if (!this.hasExited) this.#process.kill(signal);
  }

  /** Waits up to `ms` for the program to end by itself. */
  async exit(ms = 20_000): Promise<Exit> {
    return await within(ms, `end of the program (stderr: ${this.stderr})`, this.exited);
  }

  /**
   * Sends a signal and waits for the end.
   *
   * @param ms how long the program may take before it is killed
   * @throws Error when it had to be killed
   */
  async stop(signal: NodeJS.Signals = 'SIGTERM', ms = 10_000): Promise<Exit> {
    this.kill(signal);
    try {
      return await this.exit(ms);
    } catch (error) {
      this.kill('SIGKILL');
      await this.exited;
      throw error;
    }
  }

  #read(text: string): void {
    const parts = (this.#rest + text).split('\n');
    this.#rest = parts.pop() ?? '';
    this.lines.push(...parts);
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
