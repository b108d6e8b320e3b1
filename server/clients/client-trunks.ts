/** The trunks of one tunnel: which of them gets the next visitor, and how they end. */
import { CloseCode, type KeyEnd } from '../../shared/control.ts';
import type { LargeFrom, TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import { Trunk } from '../../shared/trunk/trunk.ts';
import type { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import type { Clock, Timer } from '../clock.ts';
import { TrunkLife } from './trunk-life.ts';

/**
 * How long a tunnel's trunks can go without visitors before the relay closes them. Only the relay knows that no
 * visitor is on the way.
 */
export const TRUNK_IDLE_MS = 60_000;
/**
 * Number of bytes sent in only one direction after which a distant client's stream moves to its own connection:
 * more than a page. A move takes three round trips, and the new connection starts slowly, so that only transfers of
 * several times that gain time.
 */
export const LARGE_FROM_FAR_BYTES = 512 * 1024;
/**
 * Number of bytes sent in only one direction after which a distant client's stream moves to its own connection
 * if it competes for a slow trunk. Where packets are lost, all streams of a trunk share the speed of one connection.
 */
export const LARGE_AMONG_OTHERS_BYTES = 8 * 1024;
/** Number of bytes that the other streams of such a trunk have carried in the same time. */
export const OTHERS_BYTES = 128 * 1024;
/** Time after which a trunk is judged to be slow: every trunk is slow at first. */
export const SLOW_TRUNK_MS = 1000;
/** Bytes per millisecond of such a trunk's streams below which it is slow: 4 Mbit/s. */
export const SLOW_TRUNK_RATE = 500;
/**
 * Number of bytes sent in only one direction after which a nearby client's stream moves to its own connection.
 * Only very large transfers gain anything there: this is more than the system buffers for a visitor that reads nothing,
 * which is better served on a trunk.
 */
export const LARGE_BYTES = 8 * 1024 * 1024;
/**
 * How long a client has to accept each additional 16 KiB of a stream that has ended, or the rest of it: as long
 * as for what precedes the Close frame of a data socket.
 */
export const TRUNK_FLUSH_MS = 60_000;
/**
 * How long a client has to respond on each trunk that it opened under an earlier control socket, after it has
 * opened a new control socket. The client has most likely lost its network in between, and visitors are waiting.
 */
export const EARLIER_TRUNK_ANSWER_MS = 1000;
/**
 * Maximum number of trunks from a client's previous control sockets that may still carry visitors; the oldest is
 * closed first.
 */
export const RETIRED_TRUNKS_MAX = 8;

const LARGE_FROM_NEAR: LargeFrom = { bytes: LARGE_BYTES };
const LARGE_FROM_FAR: LargeFrom = {
  bytes: LARGE_FROM_FAR_BYTES,
  crowded: {
    bytes: LARGE_AMONG_OTHERS_BYTES,
    others: OTHERS_BYTES,
    rate: SLOW_TRUNK_RATE,
    ms: SLOW_TRUNK_MS,
  },
};

/** A stream to the client, the key of its trunk, and what justifies a data socket of its own. */
export interface KeyedStream {
  readonly stream: TrunkStream;
  readonly keyId: string;
  readonly largeFrom: LargeFrom;
}

interface TunnelTrunksOptions {
  readonly clock: Clock;
  /** called when a trunk broke, or was given up */
  readonly lost: () => void;
}

export class TunnelTrunks {
  readonly #options: TunnelTrunksOptions;
  /** those of the client's current control socket */
  readonly #current = new Set<HeldTrunk>();
  /** earlier trunks, oldest first; they only keep their present visitors */
  readonly #retired = new Set<HeldTrunk>();
  /** since when they have no visitor, monotonic ms, as seen by {@link tick} */
  #unusedSince: number | undefined;

  constructor(options: TunnelTrunksOptions) {
    this.#options = options;
  }

  /** Number of trunks that accept visitors. */
  get size(): number {
    return this.#current.size;
  }

  /** Whether there is none, not even of an earlier control socket. */
  get isEmpty(): boolean {
    return this.#current.size + this.#retired.size === 0;
  }

  /** Streams of all trunks, including those of earlier control sockets. */
  get streams(): number {
    return this.#all().reduce((sum, trunk) => sum + trunk.size, 0);
  }

  /** @param via incarnation of the relay that it arrives through, if it does not arrive directly */
  add(socket: WebSocketByteStream, keyId: string, via?: string): void {
    const ended = (trunk: HeldTrunk, code: number): void => {
      this.#current.delete(trunk);
      this.#retired.delete(trunk);
      if (code === CloseCode.abnormal) this.#options.lost();
    };
    this.#unusedSince = undefined;
    this.#current.add(new HeldTrunk({ socket, keyId, via, ended }));
  }

  /**
   * Opens a stream on the trunk with the fewest streams.
   *
   * @param peers as in {@link Trunk.open}
   * @returns `undefined` if none accepts any
   */
  open(peers = ''): KeyedStream | undefined {
    let least: HeldTrunk | undefined;
    for (const trunk of this.#current) {
      if (trunk.takesVisitors && (least === undefined || trunk.size < least.size)) least = trunk;
    }
    if (least === undefined) return undefined;
    this.#unusedSince = undefined;
    return { stream: least.open(peers), keyId: least.keyId, largeFrom: this.#largeFrom };
  }

  /**
   * All trunks connect to the same client, and the second is opened with the first visitors: if these are many, the
   * answer to its ping waits behind them and does not reflect the distance.
   */
  get #largeFrom(): LargeFrom {
    for (const trunk of this.#current) if (trunk.isNear) return LARGE_FROM_NEAR;
    return LARGE_FROM_FAR;
  }

  /**
   * They only keep their present visitors, because their control socket has ended, or the relay that they arrive through
   * shuts down.
   *
   * @param via incarnation of that relay; all of them without it
   */
  retire(via?: string): void {
    for (const trunk of this.#current) {
      if (via !== undefined && trunk.via !== via) continue;
      this.#current.delete(trunk);
      this.#retired.add(trunk);
      trunk.retire();
    }
    // A client that reconnects again and again must not accumulate trunks with old visitors.
    for (const trunk of this.#retired) {
      if (this.#retired.size <= RETIRED_TRUNKS_MAX) break;
      trunk.close(CloseCode.goingAway);
    }
  }

  /** The client has another control socket: they accept no further visitors, and those that do not answer are given up. */
  question(): void {
    this.retire();
    for (const trunk of this.#retired) trunk.mustAnswer(this.#options.clock);
  }

  /** Ends all of them immediately. */
  close(code: number): void {
    for (const trunk of this.#all()) trunk.close(code);
  }

  /** Ends those whose keys are no longer valid. */
  revoke(keys: ReadonlyMap<string, KeyEnd>): void {
    for (const trunk of this.#all()) if (keys.has(trunk.keyId)) trunk.close(CloseCode.keyRevoked);
  }

  /** Ids of the keys that they were opened with. */
  *keysInUse(): Generator<string> {
    for (const trunk of this.#all()) yield trunk.keyId;
  }

  /**
   * Closes the trunks if they had no visitor for {@link TRUNK_IDLE_MS}, and checks that the client is still there.
   *
   * @param now monotonic ms; to be called about every second
   */
  tick(now: number): void {
    let isInDoubt = false;
    for (const trunk of this.#all()) if (trunk.tick(now)) isInDoubt = true;
    // The others may be dead as well, and its requests are repeated on one of them.
    if (isInDoubt) for (const trunk of this.#current) trunk.ask(now);
    this.#closeUnused(now);
  }

  /** While one trunk is in use, the next visitors may need all of them. */
  #closeUnused(now: number): void {
    if (this.streams > 0) this.#unusedSince = undefined;
    else this.#unusedSince ??= now;
    if (this.#unusedSince === undefined || now - this.#unusedSince < TRUNK_IDLE_MS) return;
    for (const trunk of this.#current) trunk.retire();
  }

  #all(): HeldTrunk[] {
    return [...this.#current, ...this.#retired];
  }
}

/* A trunk of a tunnel's client, and whether the client is still at its other end (protocol.md section 10). */

interface HeldTrunkOptions {
  readonly socket: WebSocketByteStream;
  /** id of the key that it was opened with */
  readonly keyId: string;
  readonly via: string | undefined;
  /** called once, when it has ended from either side, with the close code */
  readonly ended: (trunk: HeldTrunk, code: number) => void;
}

export class HeldTrunk {
  readonly keyId: string;
  /** incarnation of the relay that it arrives through; `undefined` for a direct one */
  readonly via: string | undefined;
  readonly #trunk: Trunk;
  readonly #life: TrunkLife;
  /** until it is given up, unless the client gives a sign of life */
  #lastChance: Timer | undefined;

  constructor({ socket, keyId, via, ended }: HeldTrunkOptions) {
    this.keyId = keyId;
    this.via = via;
    this.#trunk = new Trunk(socket, {
      begins: 'this',
      flushMs: TRUNK_FLUSH_MS,
      owner: {
        // No client may open streams: `Trunk` ends with a protocol error.
        begun: (stream) => stream.destroy(),
        moveAsked: (stream) => stream.destroy(),
        closed: (code) => {
          this.#lastChance?.cancel();
          ended(this, code);
        },
      },
    });
    this.#life = new TrunkLife(this.#trunk);
    this.#trunk.measurePath();
  }

  /** Whether the client has answered a ping as fast as a nearby one. */
  get isNear(): boolean {
    return this.#trunk.isNear;
  }

  /** Streams that it carries. */
  get size(): number {
    return this.#trunk.size;
  }

  /** Whether it accepts visitors: not while the client owes a sign of life. */
  get takesVisitors(): boolean {
    return this.#trunk.takesStreams && this.#life.isTrusted;
  }

  open(peers = ''): TrunkStream {
    return this.#trunk.open(peers);
  }

  /** It accepts no further visitors, and closes after its last one. */
  retire(): void {
    this.#trunk.retire();
  }

  /** Asks for a sign of life, and gives the trunk up without one within {@link EARLIER_TRUNK_ANSWER_MS}. */
  mustAnswer(clock: Clock): void {
    if (this.#lastChance !== undefined && this.#trunk.isSilent) return;
    this.#lastChance?.cancel();
    this.#trunk.probe();
    this.#lastChance = clock.setTimeout(() => {
      this.#lastChance = undefined;
      if (this.#trunk.isSilent) this.#trunk.close(CloseCode.abnormal);
    }, EARLIER_TRUNK_ANSWER_MS);
  }

  /** Ends it for both sides, with all of its streams. */
  close(code: number): void {
    this.#trunk.close(code);
  }

  /**
   * Checks that the client is still there.
   *
   * @param now monotonic ms; to be called about every second
   * @returns whether the client was asked for a sign of life
   */
  tick(now: number): boolean {
    this.#trunk.measurePath();
    return this.#life.tick(now);
  }

  /** Asks the client for a sign of life, unless it owes one already. It gets no visitors until it gives one. */
  ask(now: number): void {
    this.#life.ask(now);
  }
}
