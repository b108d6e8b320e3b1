/** What comes on a stream, on its way to the handler: held while the stream is paused, and its end behind it. */
import { CloseCode } from '../control.ts';
import { joined } from '../http1/fields.ts';
import type { ByteStreamHandler } from '../websocket/byte-stream.ts';
import { FRAME_HEADER_BYTES, WINDOW_BYTES } from './frames.ts';

export interface ReceiverOwner {
  /** Something has come: {@link Receiver.handOverArrived} is due when all has been read. */
  arrived(): void;
  /** The peer is to be let send more: {@link Receiver.grant}. */
  letSend(): void;
  /** All that was held has been handed over, and the stream is not paused. */
  emptied(): void;
}

export class Receiver {
  readonly #owner: ReceiverOwner;
  readonly #window = new ReceiveWindow();
  #handler: ByteStreamHandler | undefined;
  #isPaused = false;
  /** Whether nobody hears what comes. */
  #isSilent = false;
  /** bytes that the handler has and has no room for: it has paused the stream */
  #unsettled = 0;
  /** what came in the bytes that are being read */
  #arrived: Buffer | undefined;
  /** what came while the stream was paused, or had no handler */
  readonly #held = new BufferedBytes();
  #isHandingOver = false;
  /** code of the peer's end, behind what is held */
  #endCode: number | undefined;

  constructor(owner: ReceiverOwner) {
    this.#owner = owner;
  }

  get handler(): ByteStreamHandler | undefined {
    return this.#handler;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether all that came has been handed over, and more would be. */
  get isOpen(): boolean {
    return !this.#isPaused && this.#held.size === 0 && this.#arrived === undefined;
  }

  attach(handler: ByteStreamHandler): void {
    this.#handler = handler;
    this.#handOverLater();
  }

  pause(): void {
    this.#isPaused = true;
    if (this.#arrived !== undefined) this.#held.add(this.#arrived);
    this.#arrived = undefined;
  }

  resume(): void {
    this.#isPaused = false;
    this.#settle();
    this.#handOverLater();
  }

  /** @returns whether the peer was allowed to send it */
  received(piece: Buffer): boolean {
    if (!this.#window.received(piece.length)) return false;
    if (this.#isSilent) {
      this.#unsettled += piece.length;
      this.#settle();
    } else if (this.#isPaused || this.#held.size > 0 || this.#handler === undefined) {
      this.#held.add(piece);
    } else {
      if (this.#arrived === undefined) this.#owner.arrived();
      this.#arrived = withArrival(this.#arrived, piece);
    }
    return true;
  }

  /** @returns for how many more bytes the peer is let go on, as it is told at once */
  grant(): number {
    return this.#window.grant();
  }

  /** All that comes for now has come: it is handed over in one piece. */
  handOverArrived(): void {
    const piece = this.#arrived;
    this.#arrived = undefined;
    if (piece !== undefined) this.#handOver(piece);
  }

  /** Something comes another way than on the trunk, behind what has come there. */
  add(piece: Buffer): void {
    this.#held.add(piece);
    this.#handOverLater();
  }

  /**
   * The peer has ended the stream. The handler is told with the code after it has received the rest, or immediately if the peer has
   * left: then nobody waits for what becomes of the rest.
   */
  end(code: number): void {
    this.handOverArrived();
    this.#endCode = code;
    if (code === CloseCode.goingAway) this.#held.clear();
    if (this.#held.size === 0) this.#tellEnd();
  }

  /** Tells the handler of an end that waits behind bytes it has no room for, and drops those bytes. */
  tellEndNow(): void {
    if (this.#endCode === undefined) return;
    this.#held.clear();
    this.#tellEnd();
  }

  /** Nothing more is heard of the stream. What still comes is dropped, and makes room: the peer is to come to its end. */
  silence(): void {
    this.#isSilent = true;
    this.#handler = undefined;
    this.#unsettled += (this.#arrived?.length ?? 0) + this.#held.size;
    this.#arrived = undefined;
    this.#held.clear();
    this.#endCode = undefined;
    this.#settle();
  }

  #handOver(piece: Buffer): void {
    this.#unsettled += piece.length;
    this.#handler?.onStreamData(piece);
    // What a handler has no room for is not to make room for more.
    if (!this.#isPaused) this.#settle();
  }

  #settle(): void {
    if (this.#unsettled === 0) return;
    const isDue = this.#window.passedOn(this.#unsettled);
    this.#unsettled = 0;
    if (isDue) this.#owner.letSend();
  }

  /** Not within `resume`: whoever calls it may be about to attach another handler. */
  #handOverLater(): void {
    if (this.#isHandingOver || (this.#held.size === 0 && this.#endCode === undefined)) return;
    this.#isHandingOver = true;
    queueMicrotask(() => {
      this.#isHandingOver = false;
      while (!this.#isPaused && this.#handler !== undefined) {
        const piece = this.#held.shift();
        if (piece === undefined) break;
        this.#handOver(piece);
      }
      if (this.#held.size > 0) return;
      this.#tellEnd();
      if (!this.#isPaused) this.#owner.emptied();
    });
  }

  #tellEnd(): void {
    const code = this.#endCode;
    const handler = this.#handler;
    if (code === undefined || handler === undefined) return;
    this.#endCode = undefined;
    this.#handler = undefined;
    handler.onStreamClose(code);
  }
}

/* How much one end of a stream lets the other send: what it has passed on, it lets the other send again. */

/** Bytes that are let go on at a time: so many that a frame is worth it, so few that a peer who has half a window left sends on. */
const GRANT_BYTES = WINDOW_BYTES / 2;

export class ReceiveWindow {
  /** bytes that the peer may still send */
  #open = WINDOW_BYTES;
  /** bytes that were passed on, and that the peer was not let send again */
  #passedOn = 0;

  /** @returns whether the peer was allowed to send so many bytes */
  received(bytes: number): boolean {
    this.#open -= bytes;
    return this.#open >= 0;
  }

  /**
   * Bytes that came were passed on.
   *
   * @returns whether the peer is to be let go on, by {@link grant}
   */
  passedOn(bytes: number): boolean {
    this.#passedOn += bytes;
    return this.#passedOn >= GRANT_BYTES;
  }

  /**
   * Lets the peer go on. To be called when it is told: what it sends before it could know is too much.
   *
   * @returns for how many more bytes
   */
  grant(): number {
    const grant = this.#passedOn;
    this.#passedOn = 0;
    this.#open += grant;
    return grant;
  }
}

/** What came on a stream that is paused. However small the pieces are that it came in, it takes hardly more memory than they. */

/** Bytes up to which pieces are gathered in one. */
const GATHERED_BYTES = 16 * 1024;
const NONE = Buffer.alloc(0);

export class BufferedBytes {
  readonly #pieces: Buffer[] = [];
  #size = 0;
  /** memory of the last piece, where more can be gathered in it */
  #block: Buffer = NONE;

  get size(): number {
    return this.#size;
  }

  add(piece: Buffer): void {
    this.#size += piece.length;
    const gathered = this.#block === NONE ? 0 : (this.#pieces.at(-1)?.length ?? 0);
    const size = gathered + piece.length;
    if (gathered > 0 && size <= GATHERED_BYTES) {
      if (size > this.#block.length) this.#grow(gathered, size);
      piece.copy(this.#block, gathered);
      this.#pieces[this.#pieces.length - 1] = this.#block.subarray(0, size);
      return;
    }
    const kept = unshared(piece);
    this.#pieces.push(kept);
    this.#block = piece.length < GATHERED_BYTES ? kept : NONE;
  }

  /** Takes out what came first. */
  shift(): Buffer | undefined {
    const piece = this.#pieces.shift();
    if (this.#pieces.length === 0) this.#block = NONE;
    this.#size -= piece?.length ?? 0;
    return piece;
  }

  clear(): void {
    this.#pieces.length = 0;
    this.#size = 0;
    this.#block = NONE;
  }

  #grow(gathered: number, size: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.min(2 * size, GATHERED_BYTES));
    this.#block.copy(larger, 0, 0, gathered);
    this.#block = larger;
  }
}

/** A copy where it is a small part of what was read, which would stay for as long. */
function unshared(piece: Buffer): Buffer {
  if (2 * piece.length >= piece.buffer.byteLength) return piece;
  const copy = Buffer.allocUnsafeSlow(piece.length);
  piece.copy(copy);
  return copy;
}

/* Bytes of one stream that arrive together, in however many frames: each piece costs a system call or two further on. */

/**
 * Joins what has arrived of a stream. Where only a header is in between, the shorter of the two is moved over it; otherwise
 * both are copied.
 *
 * @param held what came first, `undefined` for nothing; not to be used after
 * @param piece of the same bytes that were read, or of later ones; not to be used after
 */
export function withArrival(held: Buffer | undefined, piece: Buffer): Buffer {
  if (held === undefined) return piece;
  const isNext =
    held.buffer === piece.buffer && held.byteOffset + held.length + FRAME_HEADER_BYTES === piece.byteOffset;
  if (!isNext) return joined(held, piece);
  const whole = Buffer.from(held.buffer, held.byteOffset, held.length + FRAME_HEADER_BYTES + piece.length);
  if (piece.length < held.length) {
    whole.copyWithin(held.length, held.length + FRAME_HEADER_BYTES);
    return whole.subarray(0, held.length + piece.length);
  }
  whole.copyWithin(FRAME_HEADER_BYTES, 0, held.length);
  return whole.subarray(FRAME_HEADER_BYTES);
}
