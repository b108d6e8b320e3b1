/** The connection to Redis: one for commands, one for messages; both reconnect by themselves. */
import type { Redis } from 'ioredis';
import { fullJitter } from '../../shared/timer.ts';
import { describeError, type Log } from '../log.ts';
import { type Script, SCRIPTS } from './scripts.ts';

/** How long Redis may take to accept a connection or to respond: thousands of times the usual duration. */
export const REDIS_TIMEOUT_MS = 2000;
/** Longest pause before the next attempt to reach Redis, so that a restarted Redis is used again within 5 s. */
export const REDIS_RETRY_MAX_MS = 2000;
/**
 * How long a connection to Redis may be silent before TCP probes whether Redis is still reachable: nothing is
 * sent on the connection for messages.
 */
const REDIS_KEEP_ALIVE_MS = 10_000;

/** Redis cannot be reached, or did not reply in time. */
export class RedisError extends Error {
  constructor(cause?: unknown) {
    super('redis cannot be reached', { cause });
    this.name = 'RedisError';
  }
}

export interface RedisLinkOptions {
  /** `redis://` or `rediss://` */
  readonly url: string;
  /** those to subscribe to */
  readonly channels: readonly string[];
  readonly log: Log;
  /** called when both connections are open, again after each time they were lost */
  readonly onUp: () => void;
  /** called with each message that has arrived */
  readonly onMessage: (text: string) => void;
  /** called when a message was not sent, or may not have been */
  readonly onUnsent: () => void;
}

type ScriptCall = (...args: (string | number)[]) => Promise<unknown>;

/** What other modules use of it. */
export type RedisCommands = Pick<RedisLink, 'run'>;

/** What a member of a cluster needs: Redis, or the first process of a relay that has several. */
export type ClusterLink = Pick<RedisLink, 'isUp' | 'run' | 'publish' | 'close'>;

/** Connects to it; the address counts for Redis only. */
export type OpenLink = (
  options: RedisLinkOptions & { /** identifies this run of the relay */ readonly incarnation: string },
) => Promise<ClusterLink>;

export class RedisLink {
  readonly #commands: Redis;
  readonly #messages: Redis;
  readonly #options: RedisLinkOptions;
  #isUp = false;
  /** Whether it has been logged that Redis is down. */
  #reported = false;
  #closed = false;
  #corked = false;

  private constructor(commands: Redis, messages: Redis, options: RedisLinkOptions) {
    this.#commands = commands;
    this.#messages = messages;
    this.#options = options;
    for (const connection of [commands, messages]) {
      connection.on('error', (error: unknown) => this.#failed(error));
      connection.on('close', () => this.#failed());
      connection.on('ready', () => this.#becameReady());
    }
    messages.on('message', (_channel: string, text: string) => options.onMessage(text));
  }

  /** Starts to connect, which may take until Redis is up. The client library is loaded only now. */
  static async open(given: RedisLinkOptions): Promise<RedisLink> {
    const { url, channels } = given;
    // A CommonJS module: in a bundle it has no named exports.
    const { Redis: Client } = (await import('ioredis')).default;
    const options = {
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: REDIS_TIMEOUT_MS,
      commandTimeout: REDIS_TIMEOUT_MS,
      socketTimeout: REDIS_TIMEOUT_MS,
      keepAlive: REDIS_KEEP_ALIVE_MS,
      retryStrategy: (attempt: number) => redisRetryDelay(attempt),
    };
    const scripts = Object.fromEntries(SCRIPTS.map(({ name, lua }) => [name, { lua, numberOfKeys: 0 }]));
    const commands = new Client(url, { ...options, scripts });
    const messages = new Client(url, { ...options, autoResubscribe: false });
    const link = new RedisLink(commands, messages, given);
    link.#subscribeTo(channels);
    // Neither waits for Redis: a relay also starts without it.
    for (const connection of [commands, messages]) connection.connect().catch(() => {});
    return link;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /**
   * Runs one of {@link SCRIPTS}.
   *
   * @throws RedisError immediately while there is no connection, otherwise after {@link REDIS_TIMEOUT_MS}
   */
  async run(script: Script, ...args: readonly (string | number)[]): Promise<unknown> {
    if (!this.#isUp) throw new RedisError();
    // The library has added each script as a method under its name.
    const call = (this.#commands as unknown as Record<string, ScriptCall>)[script.name];
    this.#corkForThisTurn();
    try {
      return await call?.apply(this.#commands, [...args]);
    } catch (error) {
      throw new RedisError(error);
    }
  }

  /** Notifies every relay, if possible: see {@link RedisLinkOptions.onUnsent}. */
  publish(channel: string, text: string): void {
    if (!this.#isUp) return this.#options.onUnsent();
    this.#commands.publish(channel, text).catch((error: unknown) => {
      this.#options.onUnsent();
      this.#failed(error);
    });
  }

  /** Commands of one iteration of the event loop are sent in one write: under load, many visitors arrive in each. */
  #corkForThisTurn(): void {
    if (this.#corked) return;
    this.#corked = true;
    const { stream } = this.#commands;
    stream.cork();
    setImmediate(() => {
      this.#corked = false;
      stream.uncork();
    });
  }

  close(): void {
    this.#closed = true;
    this.#commands.disconnect();
    this.#messages.disconnect();
  }

  #subscribeTo(channels: readonly string[]): void {
    this.#messages.on('ready', () => {
      this.#messages.subscribe(...channels).then(
        () => this.#becameReady(true),
        () => this.#messages.disconnect(true),
      );
    });
  }

  #subscribed = false;

  #becameReady(subscribed = this.#subscribed): void {
    this.#subscribed = subscribed;
    if (this.#isUp || !subscribed || this.#commands.status !== 'ready') return;
    this.#isUp = true;
    if (this.#reported) this.#options.log('redis recovered');
    this.#reported = false;
    this.#options.onUp();
  }

  #failed(error?: unknown): void {
    this.#subscribed &&= this.#messages.status === 'ready';
    this.#isUp &&= this.#subscribed && this.#commands.status === 'ready';
    if (this.#isUp || this.#closed || this.#reported) return;
    this.#reported = true;
    this.#options.log('redis failing', {
      error: error === undefined ? 'the connection was lost' : describeError(error),
    });
  }
}

/**
 * @param attempt from 1
 * @returns ms until the next attempt to reach Redis
 */
export function redisRetryDelay(attempt: number, random: () => number = Math.random): number {
  return fullJitter({ attempt, baseMs: 100, capMs: REDIS_RETRY_MAX_MS, random: random() });
}
