/** The data sockets of one tunnel, and whether there is still a client at their other ends. */
import { CloseCode, PENDING_TIMEOUT_MS } from '../../shared/control.ts';
import type { MoveTarget } from '../../shared/trunk/dedicated-socket.ts';
import type { TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import { isCleanClose, type WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import type { Clock, Timer } from '../clock.ts';
import { LIFE_SIGN_MS } from '../limits.ts';
import { moves, traffic } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream, StreamHandler } from '../tunnels/stream.ts';

/** Of all tunnels that never had one, which are most: a set takes memory while it is empty. */
const NONE = new Set<DataStream>();

export class TunnelStreams implements DataStreamOwner {
  #open = NONE;
  /** those that visitors' connections keep for a next request, longest first */
  #idle = NONE;

  /** When the signs of life that were asked for are due, monotonic ms. */
  #due = Infinity;
  #clientIsLost = false;
  /** Whether the client was lost again meanwhile, and with it streams on which it was not asked. */
  #asksAgain = false;

  get size(): number {
    return this.#open.size;
  }

  [Symbol.iterator](): IterableIterator<DataStream> {
    return this.#open.values();
  }

  add(stream: DataStream): void {
    if (this.#open === NONE) this.#open = new Set();
    this.#open.add(stream);
  }

  /**
   * Ends the one that has been kept for longest.
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

  /** The client that they lead to is online no more: visitors' connections keep none of them. */
  retireAllIdle(): void {
    for (const stream of this.#idle) stream.retire();
  }

  /**
   * A control socket of the client was lost. That may be all that it lost: so it is asked on each stream whether it is there,
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
   * Ends the streams on which the client owes a sign of life. To be called about every second.
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

  rests(stream: DataStream): void {
    if (this.#idle === NONE) this.#idle = new Set();
    this.#idle.add(stream);
  }

  serves(stream: DataStream): void {
    this.#idle.delete(stream);
  }

  ended(stream: DataStream): void {
    this.#open.delete(stream);
    this.#idle.delete(stream);
  }
  #question(now: number): void {
    this.#asksAgain = this.#due !== Infinity;
    if (this.#open.size === 0 || this.#asksAgain) return;
    this.#due = now + LIFE_SIGN_MS;
    for (const stream of this.#open) stream.probe();
  }
}

/* A large stream of a trunk, while it waits for the data socket on which it goes on (docs/protocol.md section 10.3). */

/** A stream of a trunk as it is, and as the byte stream of its visitor. */
export interface LargeStream {
  readonly trunk: TrunkStream;
  readonly data: DataStream;
}

export interface MoveOptions {
  /** id that opens the data socket */
  readonly id: string;
  readonly tunnel: LiveTunnel;
  readonly stream: LargeStream;
  readonly clock: Clock;
  /** told when the id opens nothing any more */
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

  /** Whether there is still a visitor for the data socket. */
  get isOpen(): boolean {
    return this.#stream.data.isOpen;
  }

  /**
   * The data socket is there.
   *
   * @param keyId id of the key it was opened with; without one, that of the trunk
   * @param via incarnation of the relay through which it comes, if it does
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

  /** No data socket has come. A client that goes on over it all the same has nowhere to go on. */
  #end(): void {
    this.#over();
    if (this.isOpen) moves.timeout += 1;
    this.#stream.trunk.moveFailed();
  }
}

/* A data socket, or a stream of a trunk, as the byte stream of one inbound connection, its bytes counted for the tunnel. */

/** What carries the bytes: a data socket, or a stream of a trunk. */
export type StreamSocket = Pick<
  WebSocketByteStream,
  'attach' | 'write' | 'pause' | 'resume' | 'isPaused' | 'close' | 'destroy' | 'probe' | 'isSilent'
>;

/** Who holds all data sockets of a tunnel. */
export interface DataStreamOwner {
  /** A visitor's connection keeps the stream, and asks nothing of it. */
  rests(stream: DataStream): void;
  /** It is in use again. */
  serves(stream: DataStream): void;
  /** Told once, when it has ended from either side. */
  ended(stream: DataStream): void;
}

export class DataStream implements ByteStream {
  /** id of the key that it, or the control socket that announced it, was opened with */
  keyId: string;
  /** incarnation of the relay through which it comes; `undefined` for one that has come straight here */
  via: string | undefined;
  readonly #socket: StreamSocket;
  readonly #tunnel: LiveTunnel;
  readonly #owner: DataStreamOwner;
  #handler: StreamHandler | undefined;
  #open = true;
  #retired = false;
  #rests = false;
  /** Whether the visitor has kept it from being read since the client was asked for a sign of life. */
  #wasPaused = false;

  constructor(socket: StreamSocket, tunnel: LiveTunnel, keyId: string, owner: DataStreamOwner, via?: string) {
    this.#socket = socket;
    this.keyId = keyId;
    this.via = via;
    this.#tunnel = tunnel;
    this.#owner = owner;
  }

  /** Whether neither side has ended the stream. */
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
        this.#tunnel.countOut(piece.length);
        traffic.bytesOut += piece.length;
        this.#handler?.onBytes(piece);
      },
      onStreamDrain: () => this.#handler?.onRoom(),
      onStreamClose: (code) => this.#closed(isCleanClose(code), code === CloseCode.abnormal),
    });
  }

  write(chunk: Buffer): boolean {
    this.#tunnel.countIn(chunk.length);
    traffic.bytesIn += chunk.length;
    return this.#socket.write(chunk);
  }

  pause(): void {
    this.#wasPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  finish(): void {
    this.#socket.close(CloseCode.normal);
    this.#end();
  }

  abort(): void {
    this.#socket.close(CloseCode.goingAway);
    this.#end();
  }

  /** What it serves now is its last. */
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

  /** Whether the client has given one since; `unknown` where the visitor has kept it from being read. */
  get life(): 'shown' | 'unknown' | 'none' {
    if (!this.#socket.isSilent) return 'shown';
    return this.#wasPaused ? 'unknown' : 'none';
  }

  /** The client is gone without a word. */
  lose(): void {
    this.#socket.destroy();
    this.#closed(false, true);
  }

  /** Ends the stream for both sides, because its tunnel or its key has ended. */
  cut(code: number): void {
    this.#socket.close(code);
    this.#closed(false, false);
  }

  #setRest(rests: boolean): void {
    if (rests === this.#rests) return;
    this.#rests = rests;
    if (rests) this.#owner.rests(this);
    else this.#owner.serves(this);
  }

  #closed(clean: boolean, lost: boolean): void {
    this.#end();
    this.#handler?.onEnded(clean, lost);
  }

  #end(): void {
    this.#open = false;
    this.#owner.ended(this);
  }
}
