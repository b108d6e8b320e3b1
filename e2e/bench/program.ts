/** Programs the benchmark runs: started with a command line, found ready by what they print, ended by their pid. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../support/deadline.ts';
import type { Scope } from '../support/scope.ts';

/** Characters of output kept, for matching and for error messages. */
const OUTPUT_KEPT = 20_000;
const STOP_TIMEOUT_MS = 5000;

const running = new Set<Program>();
// The last resort: whatever ends the benchmark ends what it started.
process.once('exit', () => {
  for (const program of running) program.signal('SIGKILL');
});

export class Program {
  readonly #process;
  #output = '';

  /**
   * Starts a program that ends with the scope.
   *
   * @param environment added to this process's own
   */
  constructor(scope: Scope, command: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    this.#process = spawn(command, args, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(this);
    const keep = (text: string): void => {
      this.#output = (this.#output + text).slice(-OUTPUT_KEPT);
    };
    this.#process.on('error', (error) => keep(String(error)));
    this.#process.once('close', () => running.delete(this));
    this.#process.stdout.setEncoding('utf8').on('data', keep);
    this.#process.stderr.setEncoding('utf8').on('data', keep);
    scope.defer(() => this.stop());
  }

  /** @throws Error when the program did not start */
  get pid(): number {
    if (this.#process.pid === undefined) throw new Error(`not started: ${this.#output}`);
    return this.#process.pid;
  }

  /** Standard output and error output, together; the end of it, if it is long. */
  get output(): string {
    return this.#output;
  }

  signal(signal: NodeJS.Signals): void {
    if (running.has(this)) this.#process.kill(signal);
  }

  /**
   * Waits for output.
   *
   * @param ms how long to wait
   * @throws Error with the output there is instead
   */
  async printed(pattern: RegExp, ms = 10_000): Promise<RegExpExecArray> {
    const end = performance.now() + ms;
    for (;;) {
      const match = pattern.exec(this.#output);
      if (match !== null) return match;
      if (!running.has(this) || performance.now() > end) throw new Error(`no ${pattern}: ${this.#output}`);
      await delay(20);
    }
  }

  /**
   * Waits until the program ends by itself.
   *
   * @param ms how long it may take
   * @returns its output
   * @throws Error when it takes longer or ends with another code than 0
   */
  async finished(ms: number): Promise<string> {
    if (running.has(this)) await within(ms, 'end of a program', once(this.#process, 'close'));
    if (this.#process.exitCode !== 0)
      throw new Error(`ended with ${this.#process.exitCode}: ${this.#output}`);
    return this.#output;
  }

  /** Ends the program, by force when it does not listen. */
  async stop(): Promise<void> {
    if (!running.has(this)) return;
    const closed = once(this.#process, 'close');
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), STOP_TIMEOUT_MS);
    await closed;
    clearTimeout(timer);
  }
}
