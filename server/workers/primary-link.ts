/** A worker's side of the channel to the first process of its relay, which it does not outlive. */
import { Socket, type SocketConstructorOpts } from 'node:net';
import type { Registry } from 'prom-client';
import type { ClusterLink, OpenLink } from '../cluster/redis-client.ts';
import { RedisError } from '../cluster/redis-client.ts';
import { systemClock } from '../clock.ts';
import { HANDOFF_READY_MS, HANDOFF_STEP_MS } from '../handoff/conversation.ts';
import { PassedVisitors, type Replaceable } from '../handoff/give.ts';
import type { Takeover } from '../handoff/take.ts';
import type { Lend } from '../listeners.ts';
import type { Gauges } from '../observe/counters.ts';
import type { Log, LogEvent } from '../log.ts';
import { PendingCalls } from '../pending-calls.ts';
import { SharedCounts } from '../shared-counts.ts';
import { STORE_ANSWER_TIMEOUT_MS, STORE_CALLS_MAX, storeOf } from '../store/thread/store-connection.ts';
import { errorOf, failureOf } from '../store/thread/messages.ts';
import { StoreError, UnansweredError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import {
  type Ask,
  type Issued,
  type Leaving,
  type Lent,
  type Moved,
  type PrimaryMessage,
  type Start,
  systemErrorOf,
  systemFailureOf,
  type WorkerMessage,
  type WorkerTask,
} from './messages.ts';

/** How long a worker waits until all have loaded, and the relay that they replace has handed over. */
const STEP_MS = HANDOFF_READY_MS + HANDOFF_STEP_MS;

/** How long a change waits for other workers to follow it. */
export const HEARD_MS = 1000;

/** What every worker notices by itself. */
const SHARED_EVENTS: ReadonlySet<LogEvent> = new Set<LogEvent>([
  'account resumed',
  'account suspended',
  'certificate loaded',
  'certificate refused',
  'clock off',
  'delegation missing',
  'delegation seen',
  'dns listening',
  'http listening',
  'identity provider failing',
  'identity provider found',
  'identity provider missing',
  'keys revoked',
  'tunnel closed',
  'tunnel displaced',
  'tunnel expired',
  'tunnel removed',
]);

/** The process of a worker, as far as it is used here. */
type Channel = Pick<NodeJS.Process, 'send' | 'on' | 'once' | 'off' | 'exit'>;

/** The relay of a worker, as far as the first process asks for it. */
interface Served {
  readonly url: string;
  stop(deadlineMs: number): Promise<void>;
  readonly gauges: Gauges;
  followed(): Promise<void>;
  readAccess(): Promise<void>;
  followAccess(): Promise<void>;
  followCertificate(issued: Issued): Promise<void>;
  turnAway(): Promise<void>;
  readonly replaceable: Replaceable;
}

export class PrimaryLink {
  readonly #channel: Channel;
  readonly #calls = new PendingCalls(systemClock, STORE_ANSWER_TIMEOUT_MS);
  /** handles that came with an answer, by its number */
  readonly #handles = new Map<number, object>();
  readonly counts: SharedCounts;
  readonly #settled = Promise.withResolvers<void>();
  #hearNews: (text: string) => void = () => {};
  #served: { readonly relay: Served; readonly reload: () => void } | undefined;
  /** the exit code, when it has been asked to end */
  readonly #ended = Promise.withResolvers<number>();
  /** fulfilled when the relay that this one has replaced has ended */
  readonly #over = Promise.withResolvers<void>();
  /** visitors who continue on the relay that has replaced this one */
  #passed: PassedVisitors | undefined;
  /** what it counts, once that was asked for */
  #registry: Promise<Registry> | undefined;
  /** The database, which the first process has. */
  readonly store: Store;
  /** known only to the processes of this relay */
  readonly secret: string;

  /** the relay that this one takes over from, if there is one */
  readonly takeover: Takeover | undefined;
  /** whether this process renews certificates, which the others follow */
  readonly renews: boolean;

  private constructor(channel: Channel, { secret, operations, workers, replaces, renews }: Start) {
    this.#channel = channel;
    this.renews = renews;
    this.counts = new SharedCounts(workers, (changes) => this.#send({ kind: 'counts', changes }));
    this.secret = secret;
    this.store = storeOf(operations, (operation, args) => this.#callStore(operation, args));
    this.takeover = replaces ? this.#takeover() : undefined;
    channel.on('message', (message: PrimaryMessage, handle?: object) => this.#hear(message, handle));
  }

  /** Waits for the first message. From the start, this process ends with the first one. */
  static async open(channel: Channel): Promise<PrimaryLink> {
    channel.once('disconnect', () => channel.exit(1));
    const { promise, resolve } = Promise.withResolvers<Start>();
    channel.once('message', resolve);
    return new PrimaryLink(channel, await promise);
  }

  /** Connects this process to what all of them know together. */
  readonly openBoard: OpenLink = ({ incarnation, channels, onMessage }) => {
    this.#hearNews = onMessage;
    this.#send({ kind: 'subscribe', incarnation, channels });
    const link: ClusterLink = {
      isUp: true,
      run: async ({ name }, ...args) => {
        try {
          return await this.#ask({ script: name, args });
        } catch (error) {
          throw new RedisError(error);
        }
      },
      publish: (channel, text) => this.#send({ kind: 'publish', channel, text }),
      close: () => (this.#hearNews = () => {}),
    };
    return Promise.resolve(link);
  };

  readonly lend: Lend = async (listener, host, port) => {
    let number = 0;
    const lent = (await this.#ask({ listener, host, port }, { onCall: (call) => (number = call) })) as Lent;
    const handle = this.#handles.get(number);
    this.#handles.delete(number);
    if (lent.kind === 'refused') throw systemErrorOf(lent.failure);
    if (handle === undefined) throw new Error('the first process of the relay sent no listener');
    return { passedAs: lent.passedAs, handle };
  };

  /**
   * Reports that it serves.
   *
   * @param reload called when certificates and log files are to be opened again
   * @returns the exit code, once the first process has asked it to end and it has stopped
   */
  serve(relay: Served, reload = (): void => {}): Promise<number> {
    this.#served = { relay, reload };
    this.#send({ kind: 'serving', url: relay.url, port: Number(new URL(relay.url).port) });
    return this.#ended.promise;
  }

  /** Fulfilled when all other workers follow what this one has told them, at the latest after {@link HEARD_MS}. */
  async heard(): Promise<void> {
    await this.#ask({ heard: true }, { timeoutMs: HEARD_MS }).catch(() => undefined);
  }

  /** @returns a log that writes once what all workers write, and the rest to the given one */
  logOf(own: Log): Log {
    return (event, fields) => {
      if (event === 'cluster joined') return;
      if (SHARED_EVENTS.has(event)) this.#send({ kind: 'log', event, fields });
      else own(event, fields);
    };
  }

  /** It cannot serve. */
  refused(error: unknown): void {
    this.#send({ kind: 'refused', failure: systemFailureOf(error) });
  }

  /** Visitors of this worker no longer need other workers' clients. @returns fulfilled when that is so for all workers */
  settle(): Promise<void> {
    this.#send({ kind: 'settled' });
    return this.#settled.promise;
  }

  #hear(message: PrimaryMessage, handle: object | undefined): void {
    switch (message.kind) {
      case 'done':
        if (handle !== undefined) this.#handles.set(message.call, handle);
        return this.#calls.resolve(message.call, message.value);
      case 'failed':
        return this.#calls.reject(message.call, errorOf(message.failure));
      case 'news':
        return this.#hearNews(message.text);
      case 'counts':
        return this.counts.hear(message.changes);
      case 'alive':
        return this.#send(message);
      case 'reload':
        return this.#served?.reload();
      case 'settled':
        return this.#settled.resolve();
      case 'task':
        return void this.#work(message.call, message.task);
      case 'stop':
        return void this.#stop(message.deadlineMs);
      case 'adopt':
        return this.#adopt(message, handle);
      case 'over':
        return this.#over.resolve();
      case 'ended':
        return this.#served?.relay.replaceable.hearEnded(message.tunnelId, message.reason);
      case 'access':
        return this.#served?.relay.replaceable.hearAccess(message.tunnelId);
      case 'reset':
        return this.#passed?.reset(message.id);
      case 'start':
    }
  }

  /** The steps are those of all workers together. */
  #takeover(): Takeover {
    return {
      listeners: new Map(),
      move: async () => (await this.#ask({ step: 'move' }, { timeoutMs: STEP_MS })) as Moved,
      commit: async () => void (await this.#ask({ step: 'commit' }, { timeoutMs: STEP_MS })),
      serving: () => Promise.resolve(),
      // A process that shares its tunnels finds it in the database.
      onCounted: () => {},
      tellEnded: (tunnelId, reason) => this.#send({ kind: 'ended', tunnelId, reason }),
      tellAccess: (tunnelId) => this.#send({ kind: 'access', tunnelId }),
      reset: (socket, id) => {
        this.#send({ kind: 'reset', id });
        void this.#over.promise.then(() => socket.destroy());
      },
      abandon: () => {},
    };
  }

  #adopt({ visitor, head }: Extract<PrimaryMessage, { kind: 'adopt' }>, handle: object | undefined): void {
    if (handle === undefined || this.#served === undefined) return;
    const socket = new Socket({ handle, allowHalfOpen: true, pauseOnCreate: true } as SocketConstructorOpts);
    socket.on('error', () => socket.destroy());
    if (head.length > 0) socket.unshift(Buffer.from(head));
    this.#served.relay.replaceable.adopt(socket, visitor);
  }

  async #leave(replaceable: Replaceable, { path, first }: Leaving): Promise<void> {
    const passed = (this.#passed = new PassedVisitors(path, first));
    await replaceable.leave({
      pass: (visitor, onReset) => passed.pass(visitor, onReset),
      tellCounted: (deltas) => this.#send({ kind: 'counted', deltas }),
      end() {},
    });
  }

  async #work(call: number, task: WorkerTask): Promise<void> {
    try {
      this.#send({ kind: 'done', call, value: await this.#do(task) });
    } catch (error) {
      this.#send({ kind: 'failed', call, failure: failureOf(error) });
    }
  }

  async #do(task: WorkerTask): Promise<unknown> {
    if (this.#served === undefined) throw new Error('a process of the relay does not serve yet');
    const { gauges, replaceable } = this.#served.relay;
    if (task === 'followed') return await this.#served.relay.followed();
    if (task === 'keys') return await this.#served.relay.readAccess();
    if (task === 'access') return await this.#served.relay.followAccess();
    if (task === 'turn away') return await this.#served.relay.turnAway();
    if (task === 'release') return void (await replaceable.release());
    if (task === 'resume') return await replaceable.resume();
    if (task !== 'metrics')
      return await ('certificate' in task
        ? this.#served.relay.followCertificate(task)
        : this.#leave(replaceable, task));
    // The metrics library takes about 20 MB, so it is loaded only if metrics are asked for.
    this.#registry ??= import('../observe/metrics.ts').then(({ createMetrics }) => createMetrics(gauges));
    return await (await this.#registry).getMetricsAsJSON();
  }

  async #stop(deadlineMs: number): Promise<void> {
    try {
      await this.#served?.relay.stop(deadlineMs);
      this.#ended.resolve(0);
    } catch (error) {
      this.#ended.reject(error);
    }
    // It has not begun to serve.
    if (this.#served === undefined) this.#channel.exit(1);
  }

  #callStore(operation: keyof Store, args: readonly unknown[]): Promise<unknown> {
    if (this.#calls.size >= STORE_CALLS_MAX)
      return Promise.reject(new StoreError(new Error('too much waits for the database')));
    return this.#ask({ operation, args });
  }

  #ask(
    ask: Ask,
    { onCall, timeoutMs }: { onCall?: (call: number) => void; timeoutMs?: number } = {},
  ): Promise<unknown> {
    return this.#calls.call(
      (call) => {
        onCall?.(call);
        this.#send({ kind: 'ask', call, ask });
      },
      () => new StoreError(new UnansweredError(new Error('the first process of the relay did not answer'))),
      timeoutMs,
    );
  }

  /** Whatever cannot be sent any more is lost with this process, which ends then. */
  #send(message: WorkerMessage): void {
    this.#channel.send?.(message, undefined, undefined, () => {});
  }
}
