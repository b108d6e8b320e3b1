/**
 * Schedules the processing of large reads: for a limited time in each turn of the event loop, with owners taking turns.
 * So a flood of one owner does not delay small data of others, or their floods.
 */
import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { joined } from '../http1/fields.ts';

type Waiting<T> = Set<{ readonly item: T }>;

/**
 * A queue in which no group gets more than its share: groups take turns, and so do the parts of a group. Items of a part
 * leave in their order. `G` is the key of a group, compared by identity.
 */
export class FairQueue<T, G = string> {
  /** waiting items by group and by part; those whose turn is next come first */
  readonly #groups = new Map<G, Map<string, Waiting<T>>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many items of a group wait, or of one of its parts. */
  sizeOf(group: G, part?: string): number {
    const parts = this.#groups.get(group);
    return part === undefined ? total(parts) : (parts?.get(part)?.size ?? 0);
  }

  /** @returns a function that removes the item if it is still waiting */
  push(group: G, item: T, part = ''): () => void {
    const entry = { item };
    const parts = this.#groups.get(group) ?? new Map<string, Waiting<T>>();
    const waiting = parts.get(part) ?? new Set();
    this.#groups.set(group, parts.set(part, waiting.add(entry)));
    this.#size += 1;
    return () => this.#remove(group, part, entry);
  }

  /**
   * Removes the next item. The next turn of its group comes after those of all other waiting groups.
   *
   * @param mayGo groups for which it returns false are skipped, and keep their place
   */
  shift(mayGo: (group: G) => boolean = () => true): { group: G; item: T } | undefined {
    for (const [group, parts] of this.#groups) {
      const [next] = parts;
      const [entry] = next?.[1] ?? [];
      if (next === undefined || entry === undefined || !mayGo(group)) continue;
      this.#groups.delete(group);
      this.#groups.set(group, parts);
      parts.delete(next[0]);
      parts.set(...next);
      this.#remove(group, next[0], entry);
      return { group, item: entry.item };
    }
    return undefined;
  }

  /** The group with the most waiting items. */
  largestGroup(): G | undefined {
    return keyOfMost(this.#groups, total);
  }

  /**
   * Removes the latest item of the part with the most of a group.
   *
   * @param moreThan nothing is removed unless the part has more items than this
   */
  popLatest(group: G, moreThan = 0): T | undefined {
    const parts = this.#groups.get(group) ?? new Map<string, Waiting<T>>();
    const most = keyOfMost(parts, ({ size }) => size) ?? '';
    const waiting = [...(parts.get(most) ?? [])];
    const entry = waiting.length > moreThan ? waiting.at(-1) : undefined;
    if (entry !== undefined) this.#remove(group, most, entry);
    return entry?.item;
  }

  #remove(group: G, part: string, entry: { readonly item: T }): void {
    const parts = this.#groups.get(group);
    const waiting = parts?.get(part);
    if (waiting?.delete(entry) !== true) return;
    this.#size -= 1;
    if (waiting.size === 0) parts?.delete(part);
    if (parts?.size === 0) this.#groups.delete(group);
  }
}

function total(parts: ReadonlyMap<string, Waiting<unknown>> | undefined): number {
  let count = 0;
  for (const { size } of parts?.values() ?? []) count += size;
  return count;
}

function keyOfMost<K, V>(lines: ReadonlyMap<K, V>, sizeOf: (line: V) => number): K | undefined {
  let [found] = lines;
  for (const line of lines) if (found !== undefined && sizeOf(line[1]) > sizeOf(found[1])) found = line;
  return found?.[0];
}

/** Duration of an event-loop iteration after which it processes no further large reads. */
export const BULK_TURN_MS = 1;
/**
 * Duration of an event-loop iteration after which it processes no further large reads while small ones arrive
 * as well. Each of these waits for about one iteration at each end, and a request and its response are four.
 */
export const BULK_TURN_BESIDE_SMALL_MS = 0.25;
/** Number of iterations with large reads, but without small ones, after which only large ones are expected. */
export const QUIET_TURNS = 100;

interface LoopSchedulerDeps {
  /** monotonic ms */
  readonly now: () => number;
  /** Calls back in the next turn of the loop. */
  readonly nextTurn: (callback: () => void) => void;
}

/** Either the work has begun, or a function that cancels it. */
type Begun = 'begun' | (() => void);

export class LoopScheduler {
  readonly #now: () => number;
  readonly #nextTurn: LoopSchedulerDeps['nextTurn'];
  /** waiting work by owner */
  readonly #queue = new FairQueue<() => void, unknown>();
  /** ms used in this turn */
  #spent = 0;
  #turnComes = false;
  /** iterations with large reads since the latest small one */
  #quietTurns = QUIET_TURNS;

  constructor({ now, nextTurn }: LoopSchedulerDeps) {
    this.#now = now;
    this.#nextTurn = nextTurn;
  }

  /** A small read was processed, which does not need {@link run}. */
  noteSmall(): void {
    this.#quietTurns = 0;
  }

  get #turnMs(): number {
    return this.#quietTurns < QUIET_TURNS ? BULK_TURN_BESIDE_SMALL_MS : BULK_TURN_MS;
  }

  /**
   * Does the work now, or in a later turn if this one has no time left.
   *
   * @param group the owner of the work, by identity: a tunnel, or the address of a visitor that has not requested one
   *   yet
   * @returns `'begun'` if it is done, otherwise a function that cancels it
   */
  run(group: unknown, work: () => void): Begun {
    if (!this.#turnComes) {
      this.#turnComes = true;
      this.#nextTurn(this.#begin);
    }
    if (this.#queue.size > 0 || this.#spent >= this.#turnMs) return this.#queue.push(group, work);
    this.#do(work);
    return 'begun';
  }

  #do(work: () => void): void {
    const begin = this.#now();
    work();
    this.#spent += this.#now() - begin;
  }

  readonly #begin = (): void => {
    this.#spent = 0;
    this.#quietTurns += 1;
    while (this.#spent < this.#turnMs) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      this.#do(next.item);
    }
    this.#turnComes = this.#queue.size > 0;
    if (this.#turnComes) this.#nextTurn(this.#begin);
  };
}

/** The scheduler of this program's event loop. */
export const loopScheduler = new LoopScheduler({
  now: () => performance.now(),
  nextTurn: (callback) => void setImmediate(callback),
});

/*
 * Reads a connection so that large data takes turns with that of others. While data waits for its turn, nothing more is
 * read.
 */

/**
 * Size above which a read from a socket takes turns with other reads (docs/decisions/0014-turns-of-the-loop.md):
 * more than nearly every head, less than the pieces of a body or a flood.
 */
export const BULK_READ_BYTES = 4096;

/** What is read. */
export interface Pausable {
  pause(): unknown;
  resume(): unknown;
  isPaused(): boolean;
}

interface ReadsHandler {
  onChunk(chunk: Buffer): void;
  /** The other side has ended, and all its data was handed over. */
  onEnd?(): void;
}

/** The input of a connection, whose reader calls {@link push} and {@link pushEnd}. */
export class ScheduledInput implements SocketReads {
  readonly #source: Pausable;
  readonly #group: () => unknown;
  readonly #handler: ReadsHandler;
  readonly #turns: LoopScheduler;
  /** data that waits for its turn */
  #held: Buffer | undefined;
  #leave: (() => void) | undefined;
  #paused = false;
  /** Whether the end has arrived after waiting data: a socket ends even while it is paused. */
  #endWaits = false;

  /** @param group the owner, asked for each large chunk */
  constructor(
    source: Pausable,
    group: () => unknown,
    handler: ReadsHandler,
    turns: LoopScheduler = loopScheduler,
  ) {
    this.#source = source;
    this.#group = group;
    this.#handler = handler;
    this.#turns = turns;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Whether received data waits for its turn. */
  get holds(): boolean {
    return this.#held !== undefined;
  }

  pause(): void {
    this.#paused = true;
    this.#source.pause();
  }

  resume(): void {
    this.#paused = false;
    if (this.#held === undefined && this.#source.isPaused()) this.#source.resume();
  }

  flush(): void {
    const held = this.#takeHeld();
    if (held !== undefined) this.#handler.onChunk(held);
    if (!this.#endWaits) return;
    this.#endWaits = false;
    this.#handler.onEnd?.();
  }

  stop(): void {
    this.flush();
    // The owner may have given the socket away because of the held data.
    this.#paused = true;
  }

  push(chunk: Buffer): void {
    if (this.#held !== undefined) this.#held = joined(this.#held, chunk);
    else if (chunk.length < BULK_READ_BYTES) {
      this.#turns.noteSmall();
      this.#handler.onChunk(chunk);
    } else this.#waitForTurn(chunk);
  }

  pushEnd(): void {
    if (this.#held === undefined) this.#handler.onEnd?.();
    else this.#endWaits = true;
  }

  #waitForTurn(chunk: Buffer): void {
    const begun = this.#turns.run(this.#group(), () => {
      if (this.#held === undefined) return this.#handler.onChunk(chunk);
      this.flush();
      if (!this.#paused) this.#source.resume();
    });
    if (begun === 'begun') return;
    this.#held = chunk;
    this.#leave = begun;
    this.#source.pause();
  }

  #takeHeld(): Buffer | undefined {
    const held = this.#held;
    this.#held = undefined;
    this.#leave?.();
    this.#leave = undefined;
    return held;
  }
}

/** The same of a socket that has no other reader. */
export class ScheduledReads extends ScheduledInput {
  readonly #socket: Pausable & EventEmitter;

  constructor(
    socket: Pausable & EventEmitter,
    group: () => unknown,
    handler: ReadsHandler,
    turns: LoopScheduler = loopScheduler,
  ) {
    super(socket, group, handler, turns);
    this.#socket = socket;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
  }

  override stop(): void {
    super.stop();
    this.#socket.off('data', this.#onData);
    this.#socket.off('end', this.#onEnd);
  }

  readonly #onData = (chunk: Buffer): void => this.push(chunk);
  readonly #onEnd = (): void => this.pushEnd();
}

/* How data is read from a socket. */

export interface SocketReads {
  /** Whether {@link pause} is in force. */
  readonly isPaused: boolean;
  /** Stops reading, which stops the peer once the system's buffers are full. */
  pause(): void;
  resume(): void;
  /** Immediately hands over data that was read and held back. */
  flush(): void;
}

/** Starts to read a socket, and hands over the data. */
export type ReadSocket = (socket: Duplex, onChunk: (chunk: Buffer) => void) => SocketReads;

/** Hands over all data as it arrives. */
export const readAtOnce: ReadSocket = (socket, onChunk) => {
  socket.on('data', onChunk);
  return new DirectReads(socket);
};

class DirectReads implements SocketReads {
  readonly #socket: Duplex;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  get isPaused(): boolean {
    return this.#socket.isPaused();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  flush(): void {}
}
