/** The relay's side of the thread that the embedded database runs on. */
import { Worker } from 'node:worker_threads';
import { partThread } from '../../own-program.ts';
import { PendingCalls } from '../../pending-calls.ts';
import type { Clock } from '../../clock.ts';
import { describeError, type Log } from '../../log.ts';
import type { Creation } from '../schema.ts';
import { StoreError, UnansweredError } from '../store-errors.ts';
import type { Store } from '../store.ts';
import { type Call, errorOf, type Report } from './messages.ts';

/**
 * Maximum number of operations waiting for the thread of an embedded database; further ones are refused with
 * 503. The thread handles about 20,000 a second.
 */
export const STORE_CALLS_MAX = 5000;
/**
 * How long the thread of an embedded database may stay silent before the relay considers it stuck, including
 * anything it may itself wait for.
 */
export const STORE_ANSWER_TIMEOUT_MS = 10_000;
/** Delay before the thread of an embedded database is restarted after a crash. */
export const STORE_THREAD_RETRY_MS = 1000;

class StoreConnection {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Log;
  /** names of the operations, as the thread reports them */
  operations: readonly (keyof Store)[] = [];
  /** `undefined` while there is no thread */
  #worker: Worker | undefined;
  /** operations that were requested and not answered */
  readonly #pending: PendingCalls;
  #closing = false;

  private constructor(path: string, clock: Clock, log: Log) {
    this.#path = path;
    this.#clock = clock;
    this.#pending = new PendingCalls(clock, STORE_ANSWER_TIMEOUT_MS);
    this.#log = log;
  }

  /**
   * Starts the thread, which opens the database and brings it up to date.
   *
   * @param path of a SQLite file
   * @param log gets the store's log entries, and one when the thread was lost
   * @throws Error with a text for the operator
   */
  static async open(path: string, clock: Clock, log: Log): Promise<StoreConnection> {
    const connection = new StoreConnection(path, clock, log);
    await connection.#start('make');
    return connection;
  }

  /**
   * Runs an operation in the thread. If the thread exits in the meantime, or is silent for {@link
   * STORE_ANSWER_TIMEOUT_MS}, it is unknown whether the operation was done.
   *
   * @throws StoreError; what the operation throws
   */
  call(operation: keyof Store, args: readonly unknown[]): Promise<unknown> {
    if (operation === 'close') this.#closing = true;
    if (this.#worker === undefined && this.#closing) return Promise.resolve();
    if (this.#worker === undefined) return failed('the thread of the database was lost');
    if (this.#pending.size >= STORE_CALLS_MAX) return failed('too much waits for the database');
    const worker = this.#worker;
    return this.#pending.call(
      (call) => worker.postMessage({ call, operation, args } satisfies Call),
      () => unanswered(`${operation} was not answered`),
    );
  }

  async #start(creation: Creation): Promise<void> {
    const { program, eval: isSource } = partThread('store-thread', import.meta.url);
    const worker = new Worker(program, { eval: isSource, workerData: { path: this.#path, creation } });
    let failure: unknown = 'it has ended';
    await new Promise<void>((resolve, reject) => {
      worker.on('error', (error) => (failure = error));
      worker.on('exit', () => {
        reject(new Error(`the thread of the database ${this.#path} was lost: ${describeError(failure)}`));
        this.#lost(worker, failure);
      });
      worker.on('message', (report: Report) => {
        if (report.kind === 'refused') reject(new Error(report.text));
        else if (report.kind === 'opened') {
          this.#worker = worker;
          this.operations = report.operations;
          resolve();
        } else this.#hear(report);
      });
    });
  }

  #hear(report: Exclude<Report, { kind: 'opened' | 'refused' }>): void {
    if (report.kind === 'log') return this.#log(report.event, report.fields);
    if (report.kind === 'done') this.#pending.resolve(report.call, report.value);
    else this.#pending.reject(report.call, errorOf(report.failure));
  }

  #lost(worker: Worker, failure: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#pending.rejectAll(unanswered('the thread of the database was lost'));
    if (this.#closing) return;
    this.#log('store thread lost', { error: describeError(failure) });
    this.#startAgainSoon();
  }

  #startAgainSoon(): void {
    this.#clock.setTimeout(() => {
      if (this.#closing) return;
      // A file that has gone is not replaced under a relay that serves.
      this.#start('must-exist').then(
        () => this.#log('store thread back'),
        () => this.#startAgainSoon(),
      );
    }, STORE_THREAD_RETRY_MS);
  }
}

function failed(text: string): Promise<never> {
  return Promise.reject(new StoreError(new Error(text)));
}

function unanswered(text: string): StoreError {
  return new StoreError(new UnansweredError(new Error(text)));
}

/* The embedded database of a relay that serves: on a thread of its own, so that no visitor waits for its disk. */

/**
 * Opens a SQLite file on a thread of its own, creates it if missing, and brings it up to date.
 *
 * @param log told when the database begins to fail and when it works again
 * @throws Error with a text for the operator
 */
export async function openThreaded(path: string, clock: Clock, log: Log): Promise<Store> {
  const connection = await StoreConnection.open(path, clock, log);
  return storeOf(connection.operations, (operation, args) => connection.call(operation, args));
}

/** @returns a store each of whose operations is called elsewhere */
export function storeOf(
  operations: readonly (keyof Store)[],
  call: (operation: keyof Store, args: readonly unknown[]) => Promise<unknown>,
): Store {
  const methods = operations.map((operation) => [
    operation,
    (...args: readonly unknown[]) => call(operation, args),
  ]);
  return Object.fromEntries(methods) as Store;
}
