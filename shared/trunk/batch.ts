/** Frames that leave in one write. */
import type { WebSocketByteStream } from '../websocket/byte-stream.ts';
import { FRAME_HEADER_BYTES, type FrameType, writeHeader } from './frames.ts';

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
