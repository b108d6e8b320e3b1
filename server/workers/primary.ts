/**
 * The first process of a relay that has several (docs/decisions/0038-several-processes.md): it has the listeners, the
 * database and what the workers know together, starts the workers, and serves nobody itself.
 */
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { PolledAccessFeed } from '../accounts/authenticator.ts';
import { systemClock as clock } from '../clock.ts';
import { Board } from '../cluster/board.ts';
import { type Config, publicUrlOf } from '../config.ts';
import { HANDOFF_STEP_MS } from '../handoff/conversation.ts';
import type { Replaceable, Successor } from '../handoff/give.ts';
import { handoffSocketPath } from '../handoff/handoff-socket.ts';
import type { HandoffReceiver } from '../handoff/take.ts';
import { errorFields, type Log, type LogEvent, type LogFields } from '../log.ts';
import type { Operator } from '../observe/logger.ts';
import { MetricsServer } from '../observe/metrics-server.ts';
import { PendingCalls } from '../pending-calls.ts';
import { addressOf, beReplaceable } from '../relay/handoff-setup.ts';
import { openState, type State, storePublicOrigin } from '../relay/state-setup.ts';
import { CountSums } from '../shared-counts.ts';
import { StoreError, UnansweredError } from '../store/store-errors.ts';
import { errorOf, failureOf } from '../store/thread/messages.ts';
import type { CertificateRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import {
  type AdoptedVisitor,
  type Ask,
  type Lent,
  type PrimaryMessage,
  systemErrorOf,
  systemFailureOf,
  type WorkerMessage,
  type WorkerTask,
} from './messages.ts';
import { HEARD_MS } from './primary-link.ts';
import { SharedListeners } from './shared-listeners.ts';
import { WORKER_WATCH_MS, WorkerWatch } from './worker-watch.ts';

/** A worker that lived for less is replaced only after this time, so that one that cannot start does not keep a core busy. */
export const WORKER_RESTART_MS = 1000;
/** How long a worker may take to end after the deadline of its connections, to store what it has counted. */
const WORKER_STOP_MS = 5000;
/** How long a worker may take for a step of being replaced. */
const WORKER_TASK_MS = 2 * HANDOFF_STEP_MS;
/** How long a change waits for workers to learn of it. */
const WORKER_FOLLOW_MS = 1000;
/** How long all workers wait for one that reads such a change, so that they follow within a second nevertheless. */
const WORKER_READ_MS = 400;
/** How long the same entry of another worker is taken for a repetition. */
const LOG_ONCE_MS = 10_000;
/** How long a worker may take to say what it has counted; it is left out of the sum otherwise. */
const WORKER_METRICS_MS = 2000;
/** Numbers of passed visitors that belong to one worker. */
const PASSED_NUMBERS = 2 ** 40;

/**
 * @param takeover the relay that this one replaces, if there is one
 * @throws Error with a text for the operator if the database cannot be opened, the address cannot be bound, or the
 *   other relay continues
 */
export async function startPrimary(
  config: Config,
  operator: Operator,
  takeover: HandoffReceiver | undefined,
) {
  const { log } = operator;
  const state = await openState(config, operator, takeover !== undefined);
  // All earlier orders were this relay's, which starts over.
  if (config.acme !== undefined && takeover === undefined) await state.store.releaseOrders();
  const primary = new Primary(config, operator, state, takeover);
  const started = await primary.start().catch(async (error: unknown) => {
    await primary.abort();
    await state.close();
    throw error;
  });
  const { url, port } = started;
  const path = handoffSocketPath(config.dataDir, port);
  const replaced = Promise.withResolvers<void>();
  const self = primary.replaceable(addressOf(config.host, port), path, () => replaced.resolve());
  const handover = await beReplaceable(path, self, config, log);
  const announced = (async () => {
    await storePublicOrigin(state.store, publicUrlOf(config, port));
    await operator.announce();
    await primary.continueFromOther();
  })();
  announced.catch(() => undefined);
  const isReloadable = config.tls !== undefined || config.accessLog !== undefined;
  return {
    url,
    isNew: state.isNew,
    announced,
    replaced: replaced.promise,
    async stop(deadlineMs: number): Promise<void> {
      handover?.close();
      await primary.stop(deadlineMs);
      await state.close();
    },
    abort: (): void => void primary.abort(),
    reload: isReloadable ? (): void => primary.tellAll({ kind: 'reload' }) : undefined,
  };
}

interface Worker {
  readonly process: ChildProcess;
  readonly startedAt: number;
  /** whether it takes over from another relay together with the others */
  readonly replaces: boolean;
  /** see {@link Start} */
  readonly renews: boolean;
  readonly hear: (text: string) => void;
  /** tasks that it has not done yet */
  readonly tasks: PendingCalls;
  incarnation: string | undefined;
  isServing: boolean;
  hasSettled: boolean;
}

type Serving = Pick<Extract<WorkerMessage, { kind: 'serving' }>, 'url' | 'port'>;

class Primary {
  readonly #config: Config;
  readonly #operator: Operator;
  readonly #log: Log;
  readonly #state: State;
  readonly #takeover: HandoffReceiver | undefined;
  readonly #board = new Board(clock);
  readonly #sums = new CountSums<Worker>((worker, changes) => tell(worker, { kind: 'counts', changes }));
  readonly #listeners: SharedListeners;
  readonly #secret = randomBytes(32).toString('hex');
  readonly #workers = new Set<Worker>();
  readonly #watch = new WorkerWatch<Worker>(
    (worker) => tell(worker, { kind: 'alive' }),
    ({ process }) => {
      this.#log('worker hung', { pid: process.pid });
      process.kill('SIGKILL');
    },
  );
  /** entries that other workers are about to repeat */
  readonly #logged = new Set<string>();
  readonly #steps: Record<Extract<Ask, { step: unknown }>['step'], Step>;
  readonly #access: PolledAccessFeed;
  #metrics: MetricsServer | undefined;
  #successor: Successor | undefined;
  #isStopping = false;
  /** Whether a worker that ends is replaced, and the start does not fail. */
  #isCommitted = false;
  /** the first start of all workers */
  readonly #started = Promise.withResolvers<Serving>();
  readonly #ended = Promise.withResolvers<void>();

  constructor(config: Config, operator: Operator, state: State, takeover: HandoffReceiver | undefined) {
    this.#config = config;
    this.#operator = operator;
    this.#log = operator.log;
    this.#state = state;
    this.#takeover = takeover;
    this.#access = new PolledAccessFeed(state.store, clock);
    this.#listeners = new SharedListeners(takeover?.listeners ?? operator.listeners);
    this.#steps = {
      move: new Step(config.workers, () => this.#move()),
      commit: new Step(config.workers, () => this.#commit()),
    };
  }

  /** @returns once all workers serve. @throws Error with a text for the operator */
  async start(): Promise<Serving> {
    for (let count = 0; count < this.#config.workers; count += 1) this.#startWorker();
    if (this.#takeover === undefined) await this.#openMetrics();
    const serving = await this.#started.promise;
    this.#isCommitted = true;
    this.#listeners.closeOthers();
    this.#access.start(() => this.#followAccess());
    setInterval(() => this.#watch.tick(this.#serving), WORKER_WATCH_MS).unref();
    return serving;
  }

  /** The replaced relay may pass on its visitors. */
  async continueFromOther(): Promise<void> {
    this.#takeover?.onCounted(() => {});
    await this.#takeover?.serving();
    void this.#takeover?.over.then(() => this.tellAll({ kind: 'over' }));
  }

  tellAll(message: PrimaryMessage): void {
    for (const worker of this.#workers) tell(worker, message);
  }

  /** Lets all workers finish together, and ends those that do not. */
  async stop(deadlineMs: number): Promise<void> {
    this.#close();
    // None lets a visitor in while another one already reports that the relay stops.
    if (this.#successor === undefined) await Promise.allSettled(this.#each('turn away', WORKER_FOLLOW_MS));
    this.tellAll({ kind: 'stop', deadlineMs });
    this.#settle();
    const late = sleep(deadlineMs + WORKER_STOP_MS, undefined, { ref: false });
    if (this.#workers.size > 0) await Promise.race([this.#ended.promise, late]);
    await this.abort();
    this.#successor?.end();
  }

  /** Ends all workers. */
  async abort(): Promise<void> {
    this.#close();
    for (const { process } of this.#workers) process.kill('SIGKILL');
    if (this.#workers.size > 0) await this.#ended.promise;
  }

  /**
   * The relay as seen by the one that replaces it.
   *
   * @param path of the handoff socket
   * @param onReplaced called once, when another relay serves
   */
  replaceable(address: string, path: string, onReplaced: () => void): Replaceable {
    const descriptors = (): Map<string, number> => this.#listeners.descriptors;
    return {
      address,
      get descriptors() {
        return descriptors();
      },
      release: async () => {
        try {
          await this.#all('release');
        } catch (error) {
          await Promise.allSettled(this.#each('resume'));
          throw error;
        }
        this.#state.unlock();
        return this.#board.missed;
      },
      resume: async () => {
        try {
          await this.#state.lock();
        } catch {
          return false;
        }
        await this.#all('resume');
        return true;
      },
      leave: async (successor) => {
        this.#successor = successor;
        this.#close();
        const left = [...this.#workers].map((worker, index) =>
          ask(worker, { path, first: index * PASSED_NUMBERS }),
        );
        await Promise.allSettled(left);
        onReplaced();
      },
      hearEnded: (tunnelId, reason) => this.tellAll({ kind: 'ended', tunnelId, reason }),
      hearAccess: (tunnelId) => this.tellAll({ kind: 'access', tunnelId }),
      hearReset: (id) => this.tellAll({ kind: 'reset', id }),
      adopt: (socket, visitor) => this.#adopt(socket, visitor),
    };
  }

  #close(): void {
    this.#isStopping = true;
    this.#listeners.close();
    this.#metrics?.close();
    void this.#access.stop();
  }

  /** Serves the sum of what the workers count. @throws the system's error */
  async #openMetrics(): Promise<void> {
    if (this.#config.metrics === undefined) return;
    const { sumOfMetrics } = await import('../observe/metrics.ts');
    const registry = sumOfMetrics(() => this.#each('metrics', WORKER_METRICS_MS));
    this.#metrics = await MetricsServer.start(this.#config.metrics, registry, this.#log, this.#listeners.own);
  }

  /** All workers have loaded: the other relay releases the database. */
  async #move(): Promise<unknown> {
    // From here on, a relay that takes over from another must not fail.
    await this.#openMetrics();
    const missed = await this.#takeover?.move();
    await this.#state.lock();
    this.#board.begin(missed);
    return missed;
  }

  async #commit(): Promise<void> {
    await this.#operator.commit();
    await this.#takeover?.commit();
    this.#isCommitted = true;
  }

  #startWorker(): void {
    const process = this.#operator.startWorker();
    const worker: Worker = {
      process,
      startedAt: clock.monotonic(),
      replaces: this.#takeover !== undefined && !this.#isCommitted,
      renews: ![...this.#workers].some(({ renews }) => renews),
      hear: (text) => tell(worker, { kind: 'news', text }),
      tasks: new PendingCalls(clock, WORKER_TASK_MS),
      incarnation: undefined,
      isServing: false,
      hasSettled: false,
    };
    this.#workers.add(worker);
    process.on('message', (message: WorkerMessage) => this.#hear(worker, message));
    process.on('error', () => {});
    // Unlike `exit`, it also comes if the process could not be started.
    process.once('close', (code, signal) => this.#lost(worker, code, signal));
    const operations = Object.keys(this.#state.store) as (keyof Store)[];
    const { workers } = this.#config;
    const { replaces, renews } = worker;
    tell(worker, { kind: 'start', secret: this.#secret, operations, workers, replaces, renews });
    this.#sums.add(worker);
  }

  #lost(worker: Worker, code: number | null, signal: string | null): void {
    this.#workers.delete(worker);
    this.#sums.remove(worker);
    this.#board.unsubscribe(worker.hear);
    if (worker.incarnation !== undefined) this.#board.remove(worker.incarnation);
    worker.tasks.rejectAll(new StoreError(new Error('a process of the relay ended')));
    if (this.#isStopping) {
      this.#settle();
      if (this.#workers.size === 0) this.#ended.resolve();
      return;
    }
    if (!this.#isCommitted)
      return this.#started.reject(new Error('a process of the relay ended at its start'));
    this.#log('worker lost', { pid: worker.process.pid, code, signal });
    const isYoung = clock.monotonic() - worker.startedAt < WORKER_RESTART_MS;
    this.#replace(isYoung ? WORKER_RESTART_MS : 0);
  }

  #replace(delayMs: number): void {
    setTimeout(() => {
      if (this.#isStopping) return;
      try {
        this.#startWorker();
      } catch (error) {
        // There is no memory for it, for example.
        this.#log('internal error', { at: 'workers', ...errorFields(error) });
        this.#replace(WORKER_RESTART_MS);
      }
    }, delayMs);
  }

  #hear(worker: Worker, message: WorkerMessage): void {
    switch (message.kind) {
      case 'ask':
        return void this.#answer(worker, message.call, message.ask);
      case 'done':
        return worker.tasks.resolve(message.call, message.value);
      case 'failed':
        return worker.tasks.reject(message.call, errorOf(message.failure));
      case 'subscribe':
        worker.incarnation = message.incarnation;
        for (const channel of message.channels) this.#board.subscribe(channel, worker.hear);
        return;
      case 'counts':
        return this.#sums.hear(worker, message.changes);
      case 'publish':
        return this.#board.publish(message.channel, message.text);
      case 'serving':
        worker.isServing = true;
        this.#access.again();
        if (this.#workers.size < this.#config.workers) return;
        if ([...this.#workers].every(({ isServing }) => isServing)) this.#started.resolve(message);
        return;
      case 'refused': {
        const error = systemErrorOf(message.failure);
        if (this.#isCommitted) this.#log('internal error', { at: 'workers', ...errorFields(error) });
        return this.#started.reject(error);
      }
      case 'alive':
        return this.#watch.heard(worker);
      case 'log':
        return this.#logOnce(message.event, message.fields);
      case 'settled':
        worker.hasSettled = true;
        return this.#settle();
      case 'ended':
        return this.#takeover?.tellEnded(message.tunnelId, message.reason);
      case 'access':
        return this.#takeover?.tellAccess(message.tunnelId);
      case 'reset':
        return this.#takeover?.tellReset(message.id);
      case 'counted':
        return this.#successor?.tellCounted(message.deltas);
    }
  }

  /** The first worker's entry counts; those of others follow within seconds. */
  #logOnce(event: LogEvent, fields: LogFields = {}): void {
    const { requests: _requests, bytes_in: _in, bytes_out: _out, ...rest } = fields;
    const entry = `${event} ${JSON.stringify(rest)}`;
    if (this.#logged.has(entry)) return;
    this.#logged.add(entry);
    setTimeout(() => this.#logged.delete(entry), LOG_ONCE_MS).unref();
    this.#log(event, fields);
  }

  /** A worker that has ended counts as settled. */
  #settle(): void {
    if ([...this.#workers].every(({ hasSettled }) => hasSettled)) this.tellAll({ kind: 'settled' });
  }

  /**
   * Another program has changed keys, accounts or tunnels. First, all workers close what was opened with keys that have
   * ended, so that nothing of it ends for another reason, and read the rest, which then takes effect at the same moment.
   *
   * @throws StoreError if one could not follow
   */
  async #followAccess(): Promise<void> {
    const all = this.#serving;
    const read = await Promise.allSettled(all.map((worker) => ask(worker, 'keys', WORKER_READ_MS)));
    const able = all.filter((_worker, index) => read[index]?.status === 'fulfilled');
    const followed = await Promise.allSettled(able.map((worker) => ask(worker, 'access', WORKER_FOLLOW_MS)));
    for (const result of [...read, ...followed]) {
      if (result.status === 'fulfilled') continue;
      const reason: unknown = result.reason;
      if (reason instanceof StoreError) throw reason;
      this.#logOnce('internal error', { at: 'workers', ...errorFields(reason) });
      throw new StoreError(reason);
    }
  }

  get #serving(): Worker[] {
    return [...this.#workers].filter(({ isServing }) => isServing);
  }

  #each(task: WorkerTask, timeoutMs?: number): Promise<unknown>[] {
    return [...this.#workers].map((worker) => ask(worker, task, timeoutMs));
  }

  /** @throws the error of one that fails, once all have ended the task */
  async #all(task: WorkerTask): Promise<void> {
    for (const result of await Promise.allSettled(this.#each(task)))
      if (result.status === 'rejected') throw result.reason;
  }

  /** To a worker that can have it cut. */
  #adopt(socket: Socket, visitor: AdoptedVisitor): void {
    const able = [...this.#workers].filter(({ replaces }) => replaces);
    const worker = able[visitor.id % able.length];
    const { _handle: handle } = socket as unknown as { readonly _handle: { readStop(): void } | null };
    if (worker === undefined || handle === null) return void socket.destroy();
    // A paused socket continues to read; from here on, the other process reads.
    handle.readStop();
    const head = (socket.read() as Buffer | null) ?? Buffer.alloc(0);
    tell(worker, { kind: 'adopt', visitor, head }, handle, () => socket.destroy());
  }

  async #answer(worker: Worker, call: number, asked: Ask): Promise<void> {
    try {
      if ('listener' in asked) return await this.#lend(worker, call, asked);
      tell(worker, { kind: 'done', call, value: await this.#valueOf(worker, asked) });
    } catch (error) {
      tell(worker, { kind: 'failed', call, failure: failureOf(error) });
    }
  }

  #valueOf(worker: Worker, asked: Exclude<Ask, { listener: unknown }>): unknown {
    if ('script' in asked) return this.#board.run(asked.script, asked.args);
    if ('heard' in asked) {
      const others = this.#serving.filter((other) => other !== worker);
      return Promise.allSettled(others.map((other) => ask(other, 'followed', HEARD_MS))).then(
        () => undefined,
      );
    }
    if ('step' in asked) {
      const reached = this.#steps[asked.step].reached();
      // The worker reports the failure as well, but without the system's code.
      reached.catch((error: unknown) => this.#started.reject(error));
      return reached;
    }
    const { operation, args } = asked;
    if (operation === 'close') return undefined;
    const query = this.#state.store[operation] as (...given: readonly unknown[]) => Promise<unknown>;
    if (operation !== 'storeCertificate') return query(...args);
    return this.#followCertificate(args[0] as CertificateRecord, query(...args));
  }

  /** Others use a certificate before the caller, who may send visitors to any worker, and also if it is not stored. */
  async #followCertificate(certificate: CertificateRecord, storing: Promise<unknown>): Promise<unknown> {
    const [{ status }] = await Promise.allSettled([storing]);
    await Promise.allSettled(this.#each({ certificate, isStored: status === 'fulfilled' }, WORKER_FOLLOW_MS));
    return storing;
  }

  async #lend(worker: Worker, call: number, asked: Extract<Ask, { listener: unknown }>): Promise<void> {
    if (asked.listener === 'visitors') await this.#operator.commit();
    let lent: Lent;
    let handle: object | undefined;
    try {
      const found = await this.#listeners.lend(asked.listener, asked.host, asked.port);
      ({ handle } = found);
      lent = { kind: 'lent', passedAs: found.passedAs };
    } catch (error) {
      lent = { kind: 'refused', failure: systemFailureOf(error) };
    }
    tell(worker, { kind: 'done', call, value: lent }, handle);
  }
}

/** Something that is done once, when all workers have come to it. */
class Step {
  readonly #all: number;
  readonly #run: () => Promise<unknown>;
  #come = 0;
  readonly #result = Promise.withResolvers<unknown>();

  constructor(all: number, run: () => Promise<unknown>) {
    this.#all = all;
    this.#run = run;
  }

  /** One more worker has come to it. @returns the result, for all of them */
  reached(): Promise<unknown> {
    this.#come += 1;
    if (this.#come === this.#all) this.#run().then(this.#result.resolve, this.#result.reject);
    return this.#result.promise;
  }
}

function ask(worker: Worker, task: WorkerTask, timeoutMs?: number): Promise<unknown> {
  return worker.tasks.call(
    (call) => tell(worker, { kind: 'task', call, task }),
    () => new StoreError(new UnansweredError(new Error('a process of the relay does not respond'))),
    timeoutMs,
  );
}

/** What is sent to a worker that has just ended is lost with it. */
function tell(worker: Worker, message: PrimaryMessage, handle?: object, sent = (): void => {}): void {
  worker.process.send(message, handle as never, {}, sent);
}
