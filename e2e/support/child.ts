import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { within } from './deadline.ts';
import { reapProcess } from './reaper.ts';
import type { Scope } from './scope.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** ms within which a line arrives even on the busiest machine. */
const LINE_MS = 120_000;

const running = new Set<Child>();

export interface ChildOptions {
  /** its whole environment; this process's by default */
  readonly environment?: NodeJS.ProcessEnv;
  /** its standard input, which ends after that; empty by default */
  readonly input?: string | undefined;
  /** its working directory; this process's by default */
  readonly folder?: string | undefined;
  /** the user that it runs as; this process's by default */
  readonly owner?: { readonly uid?: number; readonly gid?: number };
  /** whether it runs in its own process group, which Ctrl-C in a terminal does not reach */
  readonly isApart?: boolean;
  /** whether its standard error is this process's, and is not recorded */
  readonly showsErrors?: boolean;
  /** called for each line of its standard output */
  readonly onLine?: (line: string) => void;
}

/** A program that runs in its own process. */
export class Child {
  /** Complete lines of standard output so far. */
  readonly lines: string[] = [];
  stderr = '';
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcess & { readonly stdout: Readable };
  readonly #onLine: (line: string) => void;
  readonly #listeners = new Set<() => void>();
  #rest = '';

  constructor(program: string, args: readonly string[], options: ChildOptions = {}) {
    this.#onLine = options.onLine ?? (() => {});
    const child = spawn(program, args, {
      env: options.environment ?? process.env,
      cwd: options.folder,
      ...options.owner,
      detached: options.isApart ?? false,
      stdio: ['pipe', 'pipe', options.showsErrors === true ? 'inherit' : 'pipe'],
    });
    const { stdin, stdout, stderr } = child;
    if (stdin === null || stdout === null) throw new TypeError('a child without pipes');
    this.#process = Object.assign(child, { stdout });
    // A program that reads no input may have ended before this is written.
    stdin.on('error', () => {}).end(options.input ?? '');
    running.add(this);
    reapProcess(child);
    const exit = Promise.withResolvers<Exit>();
    this.exited = exit.promise;
    // Callers of {@link exit} get the failure.
    this.exited.catch(() => undefined);
    child.once('error', (error) => {
      this.stderr += error.message;
      running.delete(this);
      exit.reject(error);
      this.#notify();
    });
    child.once('close', (code, signal) => {
      running.delete(this);
      exit.resolve({ code, signal });
      this.#notify();
    });
    stdout.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.#notify();
    });
  }

  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('the program did not start');
    return this.#process.pid;
  }

  get hasExited(): boolean {
    return !running.has(this);
  }

  /** Its output so far: standard output, then standard error. */
  get output(): string {
    return `${[...this.lines, this.#rest].join('\n')}${this.stderr}`;
  }

  /**
   * Waits for a line of standard output, past ones included.
   *
   * @param match returns a value for the wanted line, and `undefined` for any other
   * @param ms how long to wait
   * @throws Error with the program's output instead
   */
  async line<T>(match: (line: string) => T | undefined, ms = LINE_MS): Promise<T> {
    let seen = 0;
    return await this.#said(ms, 'such line', () => {
      for (; seen < this.lines.length; seen += 1) {
        const value = match(this.lines[seen] ?? '');
        if (value !== undefined) return value;
      }
      return undefined;
    });
  }

  /**
   * Waits for output of either kind, past one included.
   *
   * @throws Error with the program's output instead
   */
  async printed(pattern: RegExp, ms = LINE_MS): Promise<RegExpExecArray> {
    return await this.#said(ms, String(pattern), () => pattern.exec(this.output) ?? undefined);
  }

  /** Waits until `look` returns a value. It is called whenever there is more output. */
  async #said<T>(ms: number, what: string, look: () => T | undefined): Promise<T> {
    const found = Promise.withResolvers<T>();
    const listener = (): void => {
      const value = look();
      if (value !== undefined) found.resolve(value);
      else if (this.hasExited) found.reject(new Error('the program ended'));
    };
    this.#listeners.add(listener);
    listener();
    try {
      return await within(ms, what, found.promise);
    } catch (error) {
      throw new Error(`${String(error)}\nstdout: ${this.lines.join('\n')}\nstderr: ${this.stderr}`, {
        cause: error,
      });
    } finally {
      this.#listeners.delete(listener);
    }
  }

  /** Sends a signal if the program is still running. */
  kill(signal: NodeJS.Signals): void {
    if (!this.hasExited) this.#process.kill(signal);
  }

  /** Waits up to `ms` for the program to exit by itself. */
  async exit(ms = 60_000): Promise<Exit> {
    return await within(ms, `end of the program (stderr: ${this.stderr})`, this.exited);
  }

  /**
   * Sends a signal and waits for the exit.
   *
   * @param ms how long the program may take before it is killed
   * @throws Error when it had to be killed
   */
  async stop(signal: NodeJS.Signals = 'SIGTERM', ms = 20_000): Promise<Exit> {
    this.kill(signal);
    try {
      return await this.exit(ms);
    } catch (error) {
      this.kill('SIGKILL');
      await this.exited;
      throw error;
    }
  }

  /**
   * Waits until the program exits successfully.
   *
   * @returns its output
   * @throws Error when it takes longer or fails
   */
  async finished(ms: number): Promise<string> {
    const { code, signal } = await this.exit(ms);
    if (code !== 0) throw new Error(`ended with ${signal ?? code}: ${this.output.trim()}`);
    return this.output;
  }

  /** Asks the program to exit, and kills it if it does not. */
  async end(ms = 10_000): Promise<void> {
    await this.stop('SIGTERM', ms).catch(() => undefined);
  }

  #read(text: string): void {
    const parts = (this.#rest + text).split('\n');
    this.#rest = parts.pop() ?? '';
    this.lines.push(...parts);
    for (const line of parts) this.#onLine(line);
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Runs a script with this Node, without the settings (`CULVERT_*`) of this process. */
export function runScript(
  script: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  input?: string,
  folder?: string,
): Child {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CULVERT_'));
  return new Child(process.execPath, [script, ...args], {
    environment: { ...Object.fromEntries(inherited), ...environment },
    input,
    folder,
  });
}

/** Starts a program that ends with the scope. */
export function startProgram(scope: Scope, program: string, args: readonly string[]): Child {
  const child = new Child(program, args);
  scope.defer(() => child.end());
  return child;
}
