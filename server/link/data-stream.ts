/** A data socket, or a stream of a trunk, as the byte stream of one inbound connection, its bytes counted for the tunnel. */
import { CloseCode } from '../../shared/control.ts';
import { isCleanClose, type WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { traffic } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream, StreamHandler } from '../tunnels/stream.ts';

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
