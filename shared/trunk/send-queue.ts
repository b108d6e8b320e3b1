/** What waits to be sent on a stream. */
import type { Batch } from './batch.ts';

export class SendQueue {
  #pieces: Buffer[] = [];
  #size = 0;

  /** bytes */
  get size(): number {
    return this.#size;
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#size += piece.length;
  }

  /**
   * Puts what came first into a batch, as a payload.
   *
   * @param size bytes; no more than there are
   */
  putInto(batch: Batch, size: number): void {
    this.#size -= size;
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
    if (left === 0 || rest === undefined) return;
    batch.addPayload(rest.subarray(0, left));
    this.#pieces[0] = rest.subarray(left);
  }

  clear(): void {
    this.#pieces = [];
    this.#size = 0;
  }
}
