/** A program of this folder in its own process, which executes orders one after the other. */
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
   * @param file next to this one
   * @param nice how much it yields the processor to others: from 0 to 19
   */
  constructor(scope: Scope, file: string, nice = 0) {
    this.#process = fork(fileURLToPath(new URL(file, import.meta.url)), { stdio: 'inherit' });
    reapProcess(this.#process);
    scope.defer(() => this.#process.kill('SIGKILL'));
    if (this.#process.pid !== undefined) setPriority(this.#process.pid, nice);
  }

  /**
   * @param ms time limit
   * @returns its answer
   */
  async tell(order: Order, ms: number): Promise<Reply> {
    const answered = once(this.#process, 'message') as Promise<[Reply]>;
    this.#process.send(order as object);
    return (await within(ms, `answer to ${JSON.stringify(order).slice(0, 100)}`, answered))[0];
  }
}

/** The other side of {@link Forked}: executes each order and answers it. */
export function obey(act: (order: unknown) => Promise<object | number>): void {
  process.on('message', (order: unknown) => {
    void act(order).then((reply) => process.send?.(reply));
  });
}
