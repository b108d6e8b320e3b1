/** A program of this folder in a process of its own, which does what it is told, one thing after the other. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { within } from '../../support/deadline.ts';
import { reapProcess } from '../../support/reaper.ts';
import type { Scope } from '../../support/scope.ts';

export class Forked<Order, Reply> {
  readonly #process: ChildProcess;

  /**
   * @param file beside this one
   * @param nice how much it steps back for others when they need the processor: from 0 to 19
   */
  constructor(scope: Scope, file: string, nice = 0) {
    this.#process = fork(fileURLToPath(new URL(file, import.meta.url)), { stdio: 'inherit' });
    reapProcess(this.#process);
    scope.defer(() => this.#process.kill('SIGKILL'));
    if (this.#process.pid !== undefined) setPriority(this.#process.pid, nice);
  }

  /**
   * @param ms how long it may take
   * @returns what it answers
   */
  async tell(order: Order, ms: number): Promise<Reply> {
    const answered = once(this.#process, 'message') as Promise<[Reply]>;
    this.#process.send(order as object);
    return (await within(ms, `answer to ${JSON.stringify(order).slice(0, 100)}`, answered))[0];
  }
}

/** The other side of {@link Forked}: what the program does with each order, and answers. */
export function obey(act: (order: unknown) => Promise<object | number>): void {
  process.on('message', (order: unknown) => {
    void act(order).then((reply) => process.send?.(reply));
  });
}
