/** Ends the processes of a relay that hang: they serve nobody, and keep the clients and visitors that they have. */

/** ms between two questions. */
export const WORKER_WATCH_MS = 2000;
/**
 * How long a process may not answer: longer than it is ever busy without a pause.
 * @limit operator: Time for each process of a relay to respond | it is killed and replaced
 */
export const WORKER_SILENT_MS = 10_000;

export class WorkerWatch<W extends object> {
  readonly #ask: (worker: W) => void;
  readonly #end: (worker: W) => void;
  /** how long each that was asked has not answered, in ms */
  readonly #silent = new WeakMap<W, number>();

  /** @param ask whose answer is {@link heard} */
  constructor(ask: (worker: W) => void, end: (worker: W) => void) {
    this.#ask = ask;
    this.#end = end;
  }

  /** It has answered. */
  heard(worker: W): void {
    this.#silent.delete(worker);
  }

  /**
   * To be called every {@link WORKER_WATCH_MS}. Late calls count as much as others: while this process could not run, the
   * others often could not either, because the machine was suspended or overloaded.
   */
  tick(workers: Iterable<W>): void {
    for (const worker of workers) {
      const silentMs = this.#silent.get(worker);
      this.#silent.set(worker, silentMs === undefined ? 0 : silentMs + WORKER_WATCH_MS);
      if (silentMs === undefined) this.#ask(worker);
      else if (silentMs >= WORKER_SILENT_MS) this.#end(worker);
    }
  }
}
