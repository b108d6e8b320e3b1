/** What waits to be sent on a stream, and how much of it the peer takes. */
import type { WebSocketByteStream } from '../websocket/byte-stream.ts';
import { FRAME_HEADER_BYTES, FrameType, WINDOW_BYTES, writeHeader } from './frames.ts';

/** Bytes that wait to be sent from which on a writer is asked to wait. */
const HIGH_WATER_BYTES = 16 * 1024;

export class Sender {
  #pieces: Buffer[] = [];
  #size = 0;
  /** bytes that the peer takes */
  #window = WINDOW_BYTES;
  /** Whether a writer waits for room. */
  #isAwaited = false;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Whether the peer takes more. */
  get isOpen(): boolean {
    return this.#window > 0;
  }

  /** @returns `false` when more waits than should: the writer is to wait until {@link takeRoom} */
  add(piece: Buffer): boolean {
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#size < HIGH_WATER_BYTES) return true;
    this.#isAwaited = true;
    return false;
  }

  /** @returns whether the peer may take so many bytes more: no more than a window */
  widen(bytes: number): boolean {
    this.#window += bytes;
    return this.#window <= WINDOW_BYTES;
  }

  /**
   * Puts as much into a batch as the peer takes, in one frame of the stream.
   *
   * @param limit bytes of payload at most
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

  /** @returns whether {@link putInto} has made room for a writer who waits; once */
  takeRoom(): boolean {
    if (!this.#isAwaited || this.#size > 0) return false;
    this.#isAwaited = false;
    return true;
  }

  clear(): void {
    this.#pieces = [];
    this.#size = 0;
  }
}

/* Frames that leave in one write. */

/** Bytes after which a batch is full. */
export const BATCH_BYTES = 64 * 1024;
/** Payloads up to this are copied beside their headers; above, a copy costs more than another piece to write. */
const COPY_MAX_BYTES = 4096;
/** Where headers and small payloads come together. One for all trunks: a batch is filled and sent at once. */
const scratch = Buffer.allocUnsafeSlow(16 * 1024);

export class Batch {
  readonly #pieces: Buffer[] = [];
  /** bytes of the scratch that belong to no piece yet */
  #loose = 0;
  #size = 0;

  /** bytes that are in it */
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

  /** What follows the header that was added last, or a part of it. */
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

  /** @returns whether there is room for more at once; where not, the stream tells when there is */
  sendOn(socket: Pick<WebSocketByteStream, 'write' | 'writeAll'>): boolean {
    // The socket copies what is as small as that.
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
