/** What waits to be sent on a stream, and how much of it the peer takes. */
import type { Batch } from './batch.ts';
import { FrameType, WINDOW_BYTES } from './frames.ts';

/** Bytes that wait to be sent from which on a writer is asked to wait. */
const HIGH_WATER_BYTES = 16 * 1024;

export class Outlet {
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
