/**
 * Received data of a stream on its way to the handler. Holds the data, and then the end, while the stream is paused.
 */
import { CloseCode } from '../control.ts';
import { joined } from '../http1/fields.ts';
import type { ByteStreamHandler } from '../websocket/byte-stream.ts';
import { FLUSH_STEP_BYTES, FRAME_HEADER_BYTES, WINDOW_BYTES, WINDOW_MAX_BYTES } from './frames.ts';

/**
 * `refused`: the peer was not allowed to send it. `first`: {@link Receiver.handOverArrived} must be called after reading.
 */
export type Received = 'refused' | 'first' | 'more';

/** Bytes that wait for a handler without room, above which it has fallen behind. One read may cause less. */
const BEHIND_BYTES = WINDOW_BYTES / 2;

export class Receiver {
  readonly #tell: (event: 'emptied' | 'grant') => void;
  readonly #window = new ReceiveWindow();
  #handler: ByteStreamHandler | undefined;
  #isPaused = false;
  /** Whether the handler gets no further callbacks. */
  #isSilent = false;
  /** Whether the handler has fallen behind, and has not caught up since. */
  #isBehind = false;
  /** bytes passed to a handler that had no room for them and paused the stream */
  #unsettled = 0;
  /** data received in the current bytes */
  #arrived: Buffer | undefined;
  /** data received while the stream was paused or had no handler */
  readonly #held = new BufferedBytes();
  #isHandingOver = false;
  /** whether the handler learns after the held data that no more follows */
  #isEndOfData = false;
  /** code of the peer's end, after the held data */
  #endCode: number | undefined;

  /**
   * @param tell `emptied`: all held data has been handed over, and the stream is not paused; `grant`: the peer may send
   *   more, so call {@link grant}
   */
  constructor(tell: (event: 'emptied' | 'grant') => void) {
    this.#tell = tell;
  }

  get handler(): ByteStreamHandler | undefined {
    return this.#handler;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether all received data was handed over, and the stream is not paused. */
  get isOpen(): boolean {
    return !this.#isPaused && this.#held.size === 0 && this.#arrived === undefined;
  }

  attach(handler: ByteStreamHandler): void {
    this.#handler = handler;
    this.#handOverLater();
  }

  pause(): void {
    this.#isPaused = true;
    if (this.#arrived !== undefined) this.#hold(this.#arrived);
    this.#arrived = undefined;
  }

  resume(): void {
    this.#isPaused = false;
    this.#settle();
    this.#handOverLater();
  }

  received(piece: Buffer): Received {
    if (!this.#window.received(piece.length)) return 'refused';
    if (this.#isSilent) {
      this.#unsettled += piece.length;
      this.#settle();
    } else if (this.#isPaused || this.#held.size > 0 || this.#handler === undefined) {
      this.#hold(piece);
    } else {
      const isFirst = this.#arrived === undefined;
      this.#arrived = withArrival(this.#arrived, piece);
      return isFirst ? 'first' : 'more';
    }
    return 'more';
  }

  /** Whether the window is larger than at first. */
  get isWide(): boolean {
    return this.#window.isWide;
  }

  /**
   * @param mayGrow whether the window may become larger than at first
   * @returns how many more bytes the peer may send, which the caller must report to it immediately
   */
  grant(mayGrow = true): number {
    const grant = this.#window.grant(mayGrow && !this.#isBehind);
    if (this.#held.size === 0) this.#isBehind = this.#isSilent;
    return grant;
  }

  /** All data that is available now has been read: hands it over in one piece. */
  handOverArrived(): void {
    const piece = this.#arrived;
    this.#arrived = undefined;
    if (piece !== undefined) this.#handOver(piece);
  }

  /** Takes back the end of the data that is just being handed over, for the next handler. */
  unread(piece: Buffer): void {
    this.#unsettled -= piece.length;
    this.#hold(piece);
  }

  /** Adds data that arrived another way than on the trunk, after the data of the trunk. */
  add(piece: Buffer): void {
    this.#held.add(piece);
    this.#handOverLater();
  }

  /** The peer has sent all its data, and may still receive. */
  endData(): void {
    this.handOverArrived();
    this.#isEndOfData = !this.#isSilent;
    if (this.#held.size === 0) this.#tellEndOfData();
  }

  /**
   * The peer has ended the stream. The handler gets the code after the remaining data, or immediately if the peer has
   * left and the handler has no room, because then nothing waits for the rest.
   */
  end(code: number): void {
    this.handOverArrived();
    this.#endCode = code;
    this.#tellEnd();
  }

  /** Immediately reports an end that waits after data without room, and drops that data. */
  tellEndNow(): void {
    if (this.#endCode === undefined) return;
    this.#held.clear();
    this.#tellEnd();
  }

  /** Silences the stream. Data that still arrives is dropped, and granted again, so that the peer can reach its end. */
  silence(): void {
    this.#isSilent = true;
    this.#isBehind = true;
    this.#handler = undefined;
    this.#unsettled += (this.#arrived?.length ?? 0) + this.#held.size;
    this.#arrived = undefined;
    this.#held.clear();
    this.#isEndOfData = false;
    this.#endCode = undefined;
    this.#settle();
  }

  #hold(piece: Buffer): void {
    this.#held.add(piece);
    this.#isBehind ||= this.#held.size > BEHIND_BYTES;
  }

  #handOver(piece: Buffer): void {
    this.#unsettled += piece.length;
    this.#handler?.onStreamData(piece);
    // Data without room at the handler must not cause a grant.
    if (!this.#isPaused) this.#settle();
  }

  #settle(): void {
    if (this.#unsettled === 0) return;
    const isDue = this.#window.passedOn(this.#unsettled);
    this.#unsettled = 0;
    if (isDue) this.#tell('grant');
  }

  /** Not within `resume`, because its caller may be about to attach another handler. */
  #handOverLater(): void {
    const isEmpty = this.#held.size === 0 && this.#endCode === undefined && !this.#isEndOfData;
    if (this.#isHandingOver || isEmpty) return;
    this.#isHandingOver = true;
    queueMicrotask(() => {
      this.#isHandingOver = false;
      while (!this.#isPaused && this.#handler !== undefined) {
        const piece = this.#held.shift();
        if (piece === undefined) break;
        this.#handOver(piece);
      }
      if (this.#held.size === 0) this.#tellEndOfData();
      this.#tellEnd();
      if (this.#held.size === 0 && !this.#isPaused) this.#tell('emptied');
    });
  }

  #tellEndOfData(): void {
    const handler = this.#handler;
    if (!this.#isEndOfData || handler === undefined) return;
    this.#isEndOfData = false;
    handler.onStreamEnd?.();
  }

  #tellEnd(): void {
    const code = this.#endCode;
    const handler = this.#handler;
    if (code === CloseCode.goingAway && this.#isPaused) this.#held.clear();
    if (code === undefined || handler === undefined || this.#held.size > 0) return;
    this.#endCode = undefined;
    this.#handler = undefined;
    handler.onStreamClose(code);
  }
}

/*
 * The window of a stream: how much one end allows the other to send. Data that was passed on is granted again. While the
 * reader keeps up, the window grows, so that a long distance does not slow the stream down. After the reader has fallen
 * behind, the window shrinks to its first size.
 */

export class ReceiveWindow {
  /** bytes granted and not granted again: those that the peer may send, those that wait, and those passed on */
  #size = WINDOW_BYTES;
  /** bytes that the peer may still send */
  #open = WINDOW_BYTES;
  /** bytes passed on, but not yet granted again */
  #passedOn = 0;

  get isWide(): boolean {
    return this.#size > WINDOW_BYTES;
  }

  /** @returns whether the peer was allowed to send that many bytes */
  received(bytes: number): boolean {
    this.#open -= bytes;
    return this.#open >= 0;
  }

  /**
   * Received bytes were passed on.
   *
   * @returns whether the peer should be allowed more, with {@link grant}
   */
  passedOn(bytes: number): boolean {
    this.#passedOn += bytes;
    // Enough to be worth a frame, and so little that a peer with half a window left never stops.
    return this.#passedOn >= WINDOW_BYTES / 2;
  }

  /**
   * Allows the peer to send more. Call when the peer is told, because data that it sends before is a violation.
   *
   * @param keepsUp whether the window may grow; otherwise it shrinks
   * @returns the number of additional bytes
   */
  grant(keepsUp: boolean): number {
    const aim = keepsUp ? Math.max(WINDOW_BYTES, Math.min(2 * this.#size, WINDOW_MAX_BYTES)) : WINDOW_BYTES;
    // While the window shrinks, smaller grants show a peer that has ended the stream that its data is being read.
    const least = Math.min(this.#passedOn, FLUSH_STEP_BYTES);
    const grant = Math.max(this.#passedOn + aim - this.#size, least);
    this.#size += grant - this.#passedOn;
    this.#passedOn = 0;
    this.#open += grant;
    return grant;
  }
}

/**
 * Maximum number of streams on a trunk whose windows are larger than at first. Visitors who stop reading can
 * therefore leave at most 6 MiB more in memory than with windows of the first size.
 */
export const WIDE_STREAMS_MAX = 32;

/** The streams of a trunk whose windows are larger than at first. */
export class WideStreams<T> {
  readonly #streams = new Set<T>();

  /** Whether no other window may grow. */
  get isFull(): boolean {
    return this.#streams.size >= WIDE_STREAMS_MAX;
  }

  has(stream: T): boolean {
    return this.#streams.has(stream);
  }

  set(stream: T, isWide: boolean): void {
    if (isWide) this.#streams.add(stream);
    else this.#streams.delete(stream);
  }
}

/** Data of a paused stream. Uses little more memory than the data, however small its pieces are. */

/** Size up to which pieces are collected into one, in bytes. */
const GATHERED_BYTES = 16 * 1024;
const NONE = Buffer.alloc(0);

export class BufferedBytes {
  readonly #pieces: Buffer[] = [];
  #size = 0;
  /** memory of the last piece, if it has room for more */
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

  /** Removes the first piece. */
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

/** Copies a small part of a read chunk, which would otherwise keep the whole chunk in memory. */
function unshared(piece: Buffer): Buffer {
  if (2 * piece.length >= piece.buffer.byteLength) return piece;
  const copy = Buffer.allocUnsafeSlow(piece.length);
  piece.copy(copy);
  return copy;
}

/*
 * Joins data of one stream that arrives together in several frames, because each piece costs one or two system calls
 * later.
 */

/**
 * Joins received data of a stream. If only a header is between the pieces, the shorter one is moved over it; otherwise
 * both are copied.
 *
 * @param held the earlier piece, `undefined` for none; must not be used afterwards
 * @param piece from the same read bytes, or later ones; must not be used afterwards
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
