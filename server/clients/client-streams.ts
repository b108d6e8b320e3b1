/** The data sockets of one tunnel, and whether its client is still at their other ends. */
import { CloseCode, PENDING_TIMEOUT_MS } from '../../shared/control.ts';
import type { MoveTarget } from '../../shared/trunk/dedicated-socket.ts';
import type { TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import { isCleanClose, type WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import type { Clock, Timer } from '../clock.ts';
import { moves, traffic } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { type ByteStream, LOST_BEYOND, type StreamHandler } from '../tunnels/stream.ts';

/**
 * How long a client that seems to be gone has to respond on each of its data sockets. Long, because a ping waits
 * behind what was sent before; including the second until the relay checks, visitors still get a response within 10 s.
 */
export const LIFE_SIGN_MS = 8000;

/** For tunnels that never had a data socket, which are most: an empty set would also take memory. */
const NONE = new Set<DataStream>();

export class TunnelStreams {
  #open = NONE;
  /** those that visitors' connections keep for a next request, longest idle first */
  #idle = NONE;
  /** how many of the open ones serve visitors of other relays */
  #forwarded = 0;

  /** When the requested signs of life are due, monotonic ms. */
  #due = Infinity;
  #clientIsLost = false;
  /** Whether the client was lost again, and with it streams that were not probed. */
  #asksAgain = false;
  readonly #changed: () => void;

  /** @param changed called when there are more or fewer of them, or of those that are idle */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** How many are kept for a next request. */
  get idle(): number {
    return this.#idle.size;
  }

  /** Streams of this relay's visitors. */
  get size(): number {
    return this.#open.size - this.#forwarded;
  }

  /** Streams of other relays' visitors, who are counted there. */
  get forwarded(): number {
    return this.#forwarded;
  }

  [Symbol.iterator](): IterableIterator<DataStream> {
    return this.#open.values();
  }

  add(stream: DataStream): void {
    if (this.#open === NONE) this.#open = new Set();
    this.#open.add(stream);
    if (stream.isForwarded) this.#forwarded += 1;
    this.#changed();
  }

  /**
   * Ends the longest idle one.
   *
   * @returns whether there was one
   */
  retireIdle(): boolean {
    for (const stream of this.#idle) {
      stream.retire();
      return true;
    }
    return false;
  }

  /** Their client is no longer online: visitors' connections keep none of them. */
  retireAllIdle(): void {
    for (const stream of this.#idle) stream.retire();
  }

  /** The client is elsewhere now: the request in progress on each of them is its last one. */
  retireAll(): void {
    for (const stream of this.#open) stream.retire();
  }

  /**
   * A control socket of the client was lost, and perhaps its streams as well: so the client is probed on each stream,
   * and again until it is back.
   *
   * @param now monotonic ms
   * @param isBack whether it has another control socket
   */
  clientLost(now: number, isBack: boolean): void {
    this.#clientIsLost = !isBack;
    this.#question(now);
  }

  clientCame(): void {
    this.#clientIsLost = false;
  }

  /**
   * Ends the streams without the requested sign of life. To be called about every second.
   *
   * @param now monotonic ms
   */
  tick(now: number): void {
    if (now < this.#due) return;
    this.#due = Infinity;
    let isUnknown = false;
    for (const stream of this.#open) {
      if (stream.life === 'none') stream.lose();
      else if (stream.life === 'unknown') isUnknown = true;
    }
    if (isUnknown || this.#clientIsLost || this.#asksAgain) this.#question(now);
  }

  /** A visitor's connection keeps the stream, with no request in progress. */
  rests(stream: DataStream): void {
    if (this.#idle === NONE) this.#idle = new Set();
    this.#idle.add(stream);
    this.#changed();
  }

  /** It is in use again. */
  serves(stream: DataStream): void {
    this.#idle.delete(stream);
    this.#changed();
  }

  /** It has ended from either side; called once. */
  ended(stream: DataStream): void {
    if (this.#open.delete(stream) && stream.isForwarded) this.#forwarded -= 1;
    this.#idle.delete(stream);
    this.#changed();
  }

  #question(now: number): void {
    this.#asksAgain = this.#due !== Infinity;
    if (this.#open.size === 0 || this.#asksAgain) return;
    this.#due = now + LIFE_SIGN_MS;
    for (const stream of this.#open) stream.probe();
  }
}

/* A large stream of a trunk, while it waits to continue on a data socket (protocol.md section 10.3). */

/** A stream of a trunk, and the byte stream that wraps it for its visitor. */
export interface LargeStream {
  readonly trunk: TrunkStream;
  readonly data: DataStream;
}

interface MoveOptions {
  /** id that opens the data socket */
  readonly id: string;
  readonly tunnel: LiveTunnel;
  readonly stream: LargeStream;
  readonly clock: Clock;
  /** called when the id is no longer valid */
  readonly over: () => void;
}

export class Move {
  readonly tunnel: LiveTunnel;
  readonly #stream: LargeStream;
  readonly #timer: Timer;
  readonly #over: () => void;

  /** Asks the client to open the data socket. */
  constructor({ id, tunnel, stream, clock, over }: MoveOptions) {
    this.tunnel = tunnel;
    this.#stream = stream;
    this.#over = over;
    this.#timer = clock.setTimeout(() => this.#end(), PENDING_TIMEOUT_MS);
    stream.trunk.offerMove(id);
  }

  /** Whether a visitor still needs the data socket. */
  get isOpen(): boolean {
    return this.#stream.data.isOpen;
  }

  /**
   * The data socket is connected.
   *
   * @param keyId id of the key it was opened with; without one, that of the trunk
   * @param via incarnation of the relay that forwards it, if one does
   */
  open(socket: MoveTarget, keyId: string | undefined, via: string | undefined): void {
    const { trunk, data } = this.#stream;
    this.#timer.cancel();
    this.#over();
    traffic.dataSockets += 1;
    moves.moved += 1;
    if (keyId !== undefined) data.keyId = keyId;
    data.via = via;
    trunk.moveTo(socket);
  }

  /**
   * No data socket has been opened. If the client nevertheless continues on one, its stream has nowhere to continue.
   */
  #end(): void {
    this.#over();
    if (this.isOpen) moves.timeout += 1;
    this.#stream.trunk.moveFailed();
  }
}

/*
 * A data socket, or a stream of a trunk, as the byte stream of one inbound connection; its bytes are counted for the
 * tunnel.
 */

/** The underlying data socket, or stream of a trunk. */
export type StreamSocket = Pick<
  WebSocketByteStream,
  'attach' | 'write' | 'pause' | 'resume' | 'isPaused' | 'end' | 'close' | 'destroy' | 'probe' | 'isSilent'
>;

export class DataStream implements ByteStream {
  /** id of the key that it, or the control socket that announced it, was opened with */
  keyId: string;
  /** incarnation of the relay that forwards it; `undefined` for a direct one */
  via: string | undefined;
  readonly #socket: StreamSocket;
  readonly #counts: LiveTunnel | undefined;
  readonly #streams: Pick<TunnelStreams, 'rests' | 'serves' | 'ended'>;
  #handler: StreamHandler | undefined;
  #open = true;
  #retired = false;
  #rests = false;
  /** Whether the visitor has kept it from being read since the client was probed. */
  #wasPaused = false;

  /**
   * @param counts the tunnel that its bytes count for; `undefined` for the stream of another relay's visitor, which
   *   counts them
   * @param streams of the same tunnel
   */
  constructor(
    socket: StreamSocket,
    counts: LiveTunnel | undefined,
    keyId: string,
    streams: Pick<TunnelStreams, 'rests' | 'serves' | 'ended'>,
    via?: string,
  ) {
    this.#socket = socket;
    this.keyId = keyId;
    this.via = via;
    this.#counts = counts;
    this.#streams = streams;
  }

  /** Whether it serves a visitor of another relay. */
  get isForwarded(): boolean {
    return this.#counts === undefined;
  }

  /** Whether the stream is open at both ends. */
  get isOpen(): boolean {
    return this.#open;
  }

  attach(handler: StreamHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    this.#setRest(handler.rests === true);
    if (this.#retired) handler.onRetired?.();
    if (!isFirst) return;
    this.#socket.attach({
      onStreamData: (piece) => {
        if (this.#counts !== undefined) {
          this.#counts.countOut(piece.length);
          traffic.bytesOut += piece.length;
        }
        this.#handler?.onBytes(piece);
      },
      onStreamDrain: () => this.#handler?.onRoom(),
      onStreamEnd: () => this.#handler?.onSentAll?.(),
      onStreamClose: (code) => this.#closed(code),
    });
  }

  write(chunk: Buffer): boolean {
    if (this.#counts !== undefined) {
      this.#counts.countIn(chunk.length);
      traffic.bytesIn += chunk.length;
    }
    return this.#socket.write(chunk);
  }

  pause(): void {
    this.#wasPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
  }

  finish(): void {
    this.#socket.close(CloseCode.normal);
    this.#end();
  }

  abort(code: number = CloseCode.goingAway): void {
    this.#socket.close(code);
    this.#end();
  }

  /** Its current use is the last one. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#handler?.onRetired?.();
  }

  /** Asks the client for a sign of life. */
  probe(): void {
    this.#wasPaused = this.#socket.isPaused;
    this.#socket.probe();
  }

  /** Whether the client has given one since; `unknown` if the visitor has kept it from being read. */
  get life(): 'shown' | 'unknown' | 'none' {
    if (!this.#socket.isSilent) return 'shown';
    return this.#wasPaused ? 'unknown' : 'none';
  }

  /** The client is gone without notice. */
  lose(): void {
    this.#socket.destroy();
    this.#closed(CloseCode.abnormal);
  }

  /** Ends the stream for both sides, because its tunnel or its key has ended. */
  cut(code: number): void {
    this.#socket.close(code);
    this.#closed(CloseCode.goingAway);
  }

  #setRest(rests: boolean): void {
    if (rests === this.#rests) return;
    this.#rests = rests;
    if (rests) this.#streams.rests(this);
    else this.#streams.serves(this);
  }

  #closed(code: number): void {
    this.#end();
    this.#handler?.onEnded(isCleanClose(code), code === CloseCode.abnormal || code === LOST_BEYOND, code);
  }

  #end(): void {
    this.#open = false;
    this.#streams.ended(this);
  }
}
