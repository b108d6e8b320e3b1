/** What came on a stream that is paused. However small the pieces are that it came in, it takes hardly more memory than they. */

/** Bytes up to which pieces are gathered in one. */
const GATHERED_BYTES = 16 * 1024;
const NONE = Buffer.alloc(0);

export class HeldBytes {
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
