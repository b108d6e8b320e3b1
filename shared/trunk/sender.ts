/** Queued data of a stream, and how much of it the peer accepts. */
import { joined } from '../http1/fields.ts';
import type { WebSocketByteStream } from '../websocket/byte-stream.ts';
import { FRAME_HEADER_BYTES, FrameType, WINDOW_BYTES, WINDOW_MAX_BYTES, writeHeader } from './frames.ts';

/** Queued bytes from which on a writer is asked to wait. */
const HIGH_WATER_BYTES = 16 * 1024;

export class Sender {
  #pieces: Buffer[] = [];
  #size = 0;
  /** bytes that the peer accepts */
  #window = WINDOW_BYTES;
  /** Whether a writer waits for room. */
  #isAwaited = false;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Whether the peer accepts more. */
  get isOpen(): boolean {
    return this.#window > 0;
  }

  /** @returns `false` if too much is queued: the writer should wait until {@link takeRoom} */
  add(piece: Buffer): boolean {
    const last = this.#pieces.at(-1);
    // Each tiny piece would keep the whole read in memory that it has arrived in.
    if (last !== undefined && last.length + piece.length <= COPY_MAX_BYTES)
      this.#pieces[this.#pieces.length - 1] = joined(last, piece);
    else this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#size < HIGH_WATER_BYTES) return true;
    this.#isAwaited = true;
    return false;
  }

  /** @returns whether the peer may accept that many more bytes: at most {@link WINDOW_MAX_BYTES} */
  widen(bytes: number): boolean {
    this.#window += bytes;
    return this.#window <= WINDOW_MAX_BYTES;
  }

  /**
   * Adds as much data to a batch as the peer accepts, in one frame of the stream.
   *
   * @param limit maximum bytes of payload
   * @returns bytes of payload
   */
  putInto(batch: Batch, id: number, limit: number): number {
    const size = Math.min(limit, this.#window, this.#size);
    if (size === 0) return 0;
    batch.add(FrameType.data, id, size);
    this.#size -= size;
    this.#window -= size;
    let left = size;
    let whole = 0;
    for (const piece of this.#pieces) {
      if (piece.length > left) break;
      batch.addPayload(piece);
      left -= piece.length;
      whole += 1;
    }
    if (whole === this.#pieces.length) this.#pieces.length = 0;
    else this.#pieces.splice(0, whole);
    const [rest] = this.#pieces;
    if (left > 0 && rest !== undefined) {
      batch.addPayload(rest.subarray(0, left));
      this.#pieces[0] = rest.subarray(left);
    }
    return size;
  }

  /** Whether a writer waits for room. */
  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  /** @returns whether {@link putInto} has made room for a waiting writer; once */
  takeRoom(): boolean {
    if (!this.#isAwaited || this.#size > 0) return false;
    this.#isAwaited = false;
    return true;
  }

  clear(): void {
    this.takeAll();
  }

  /** Takes back all queued data. */
  takeAll(): Buffer[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#size = 0;
    return pieces;
  }
}

/* Frames that are sent in one write. */

/** Bytes after which a batch is full. */
export const BATCH_BYTES = 64 * 1024;
/** Payload up to this size is copied beside its header. Above, copying costs more than writing another piece. */
const COPY_MAX_BYTES = 4096;
/** Holds headers and small payload. Shared by all trunks, because a batch is filled and sent synchronously. */
const scratch = Buffer.allocUnsafeSlow(16 * 1024);

export class Batch {
  readonly #pieces: Buffer[] = [];
  /** bytes of the scratch memory that belong to no piece yet */
  #loose = 0;
  #size = 0;

  /** bytes in the batch */
  get size(): number {
    return this.#size;
  }

  get isFull(): boolean {
    return this.#size >= BATCH_BYTES;
  }

  /** A frame without a payload. */
  add(type: FrameType, id: number, value: number): void {
    if (this.#loose + FRAME_HEADER_BYTES > scratch.length) this.#seal();
    writeHeader(scratch, this.#loose, type, id, value);
    this.#loose += FRAME_HEADER_BYTES;
    this.#size += FRAME_HEADER_BYTES;
  }

  /** The payload of the last header, or a part of it. */
  addPayload(payload: Buffer): void {
    this.#size += payload.length;
    if (payload.length > COPY_MAX_BYTES) {
      this.#seal();
      this.#pieces.push(payload);
      return;
    }
    if (this.#loose + payload.length > scratch.length) this.#seal();
    payload.copy(scratch, this.#loose);
    this.#loose += payload.length;
  }

  /** @returns whether there is room for more; if not, the stream reports when there is */
  sendOn(socket: Pick<WebSocketByteStream, 'write' | 'writeAll'>): boolean {
    // The socket copies data of that size.
    if (this.#pieces.length === 0) return socket.write(scratch.subarray(0, this.#loose));
    this.#seal();
    return socket.writeAll(this.#pieces, this.#size);
  }

  #seal(): void {
    if (this.#loose === 0) return;
    this.#pieces.push(Buffer.from(scratch.subarray(0, this.#loose)));
    this.#loose = 0;
  }
}
