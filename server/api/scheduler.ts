/**
 * When requests of the API begin: one in each turn of the event loop, groups of callers one after the other, and only
 * for a share of the loop while visitors need it (docs/decisions/0012-fair-api.md). Nothing more is read from those who
 * wait. Each admitted request gets its own in-process stream to Node's HTTP server, so that the API is just another
 * upstream.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import { FairQueue } from '../../shared/scheduler/fair-reads.ts';
import type { Clock } from '../clock.ts';
import type { ByteStream, Dial, DialHandler, StreamHandler } from '../tunnels/stream.ts';

/**
 * Average number of create requests that an account may make per minute (protocol.md section 3.2).
 * @limit owner: Tunnels that an account creates | 429 `rate-limited`; `culvert` waits and tries again
 */
export const CREATES_PER_MINUTE = 10;
/** Maximum number of create requests that an account may make in one burst (protocol.md section 3.2). */
export const CREATE_BURST = 5;
/**
 * Share of event-loop time that the API may use while visitors are being served; visitors keep three quarters.
 */
export const API_LOOP_SHARE = 0.25;
/** Event-loop time that the API may use in one burst: a few requests. */
const API_LOOP_BURST_MS = 1;
/**
 * Estimated ratio of the total event-loop time of an API request to the time it uses before its first database
 * call. The total includes head and response. Measured: 1.3 for requests that need no store, up to 3 for those that do.
 */
export const API_COST_FACTOR = 3;
/** How long visitors still count as busy after the event loop last did work for them. */
export const VISITORS_RECENT_MS = 20;
/**
 * Maximum number of API writes that the database processes at the same time: enough to keep it busy, few enough
 * to finish soon.
 */
export const API_WRITES_MAX = 8;
/** Maximum number of API writes from one account that the database processes at the same time. */
export const ACCOUNT_WRITES_MAX = 2;
/** Average number of domains that an account may add or check per minute. */
export const DOMAIN_CALLS_PER_MINUTE = 20;
/** Maximum number of domains that an account may add or check in one burst. */
export const DOMAIN_CALLS_BURST = 10;

interface RequestSchedulerDeps {
  readonly clock: Clock;
  /** a number that has changed if visitors have used the loop */
  readonly visitorsWork: () => number;
  /** Calls both in the next turn of the loop, and between them what the first one leaves to microtasks. */
  readonly nextTurn: (first: () => void, second: () => void) => void;
}

export class RequestScheduler {
  readonly #deps: RequestSchedulerDeps;
  readonly #queue = new FairQueue<() => void>();
  readonly #share = new LoopShare(API_LOOP_SHARE, API_LOOP_BURST_MS);
  /** whether a turn is coming */
  #running = false;
  #began = 0;
  #seenWork = 0;
  #seenAt = -Infinity;

  constructor(deps: RequestSchedulerDeps) {
    this.#deps = deps;
  }

  /**
   * Waits for a turn.
   *
   * @param group whose turn it is: an address or an account
   * @param begin called when it has come, never before this has returned
   * @returns call it to give the place up
   */
  take(group: string, begin: () => void): () => void {
    const leave = this.#queue.push(group, begin);
    if (!this.#running) this.#beginNext();
    return leave;
  }

  /** The same for a request that has begun and is to continue. */
  next(group: string): Promise<void> {
    return new Promise((resolve) => {
      this.take(group, resolve);
    });
  }

  #beginNext(): void {
    this.#running = this.#queue.size > 0;
    if (!this.#running) return;
    const now = this.#deps.clock.monotonic();
    const wait = this.#share.wait(now, this.#isContended(now));
    if (wait > 0) this.#deps.clock.setTimeout(this.#look, wait);
    else this.#deps.nextTurn(this.#begin, this.#end);
  }

  readonly #look = (): void => this.#beginNext();

  readonly #begin = (): void => {
    this.#began = this.#deps.clock.monotonic();
    this.#queue.shift()?.item();
  };

  readonly #end = (): void => {
    this.#share.spend((this.#deps.clock.monotonic() - this.#began) * API_COST_FACTOR);
    this.#beginNext();
  };

  #isContended(now: number): boolean {
    const work = this.#deps.visitorsWork();
    if (work !== this.#seenWork) this.#seenAt = now;
    this.#seenWork = work;
    return now - this.#seenAt < VISITORS_RECENT_MS;
  }
}

/** How much of the event loop the API may use while visitors need it: a bucket of time that fills at that share. */

export class LoopShare {
  readonly #share: number;
  readonly #burst: number;
  /** ms that may be spent; a negative value must be earned back first */
  #credit: number;
  #filledAt = -Infinity;

  /**
   * @param share the part of passing time that it may use, from 0 to 1
   * @param burst ms that may be spent in one go
   */
  constructor(share: number, burst: number) {
    this.#share = share;
    this.#burst = burst;
    this.#credit = burst;
  }

  /**
   * @param now monotonic ms
   * @param contended whether visitors need the loop; if not, what was spent does not count
   * @returns ms until the next may begin, 0 for now
   */
  wait(now: number, contended: boolean): number {
    if (!contended) this.#credit = this.#burst;
    else this.#credit = Math.min(this.#burst, this.#credit + (now - this.#filledAt) * this.#share);
    this.#filledAt = now;
    return this.#credit > 0 ? 0 : Math.max(1, -this.#credit / this.#share);
  }

  /** @param ms the loop has been busy with the API */
  spend(ms: number): void {
    this.#credit -= ms;
  }
}

export class InProcessApi {
  readonly #server: Server;
  readonly #turns: Pick<RequestScheduler, 'take'>;

  constructor(listener: RequestListener, turns: Pick<RequestScheduler, 'take'>) {
    this.#server = createServer(listener);
    // A persistent connection would let the next request bypass the scheduler.
    this.#server.maxRequestsPerSocket = 1;
    this.#turns = turns;
  }

  /** @param group group of visitors, whose requests take turns with those of other groups */
  dial(handler: DialHandler, group: string): Dial {
    const cancel = this.#turns.take(group, () => {
      const [near, far] = duplexPair();
      far.on('error', () => far.destroy());
      this.#server.emit('connection', far);
      handler.opened(new DuplexStream(near, far));
    });
    return { cancel };
  }
}

/** A Node stream as a byte stream. */
class DuplexStream implements ByteStream {
  readonly #duplex: Duplex;
  readonly #server: Duplex;
  #handler: StreamHandler | undefined;
  #ended = false;

  /** @param server the other side, which is not notified when this one is destroyed */
  constructor(duplex: Duplex, server: Duplex) {
    this.#duplex = duplex;
    this.#server = server;
    duplex.on('error', () => duplex.destroy());
    duplex.on('drain', () => this.#handler?.onRoom());
    duplex.on('end', () => this.#close(true));
    duplex.on('close', () => this.#close(false));
  }

  attach(handler: StreamHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (isFirst) this.#duplex.on('data', (piece: Buffer) => this.#handler?.onBytes(piece));
  }

  write(chunk: Buffer): boolean {
    return this.#duplex.write(chunk);
  }

  pause(): void {
    this.#duplex.pause();
  }

  resume(): void {
    this.#duplex.resume();
  }

  finish(): void {
    this.#ended = true;
    this.#duplex.end();
  }

  abort(): void {
    this.#ended = true;
    this.#duplex.destroy();
    this.#server.destroy();
  }

  #close(clean: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#handler?.onEnded(clean);
    this.#duplex.destroy();
  }
}
