const NOTHING = Buffer.alloc(0);
/** Enough for a usual head, so that most captures never grow. */
const INITIAL_BYTES = 1024;
const SHORT_BYTES = 64;
/** A larger buffer is not reused for the next message of the same capture, which may be small. */
const REUSED_MAX_BYTES = 4096;
/** Large buffers that are no longer needed, the latest last. Another large message needs one soon. */
const spares: Buffer[] = [];
const SPARES_MAX = 4;
/** More than that is kept in one buffer only. */
const SPARES_MAX_BYTES = 256 * 1024;

/** The bytes that are recorded of a message, in a buffer that grows up to a limit. */
export class Capture {
  #buffer: Buffer = NOTHING;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Memory allocated, in bytes. */
  get capacity(): number {
    return this.#buffer.length;
  }

  /** The captured bytes; valid until the next call of {@link clear} or {@link append}. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /**
   * Copies `chunk` from `start` to `end`, as far as the limit allows.
   *
   * @param max limit of the captured bytes
   * @returns bytes by which its memory has grown
   */
  append(chunk: Buffer, start: number, end: number, max: number): number {
    const length = Math.min(end - start, max - this.#length);
    if (length <= 0) return 0;
    const before = this.#buffer.length;
    if (this.#length + length > before) this.#grow(this.#length + length, max);
    const buffer = this.#buffer;
    // The call into native code costs more than a few bytes.
    if (length <= SHORT_BYTES)
      for (let index = 0; index < length; index += 1)
        buffer[this.#length + index] = chunk[start + index] as number;
    else chunk.copy(buffer, this.#length, start, start + length);
    this.#length += length;
    return this.#buffer.length - before;
  }

  /** Copies the captured bytes to a place in a buffer. */
  copyTo(target: Buffer, start: number): void {
    if (this.#length <= SHORT_BYTES)
      for (let index = 0; index < this.#length; index += 1)
        target[start + index] = this.#buffer[index] as number;
    else this.#buffer.copy(target, start, 0, this.#length);
  }

  /** Takes the captured bytes out of the capture, without a copy if they fill its buffer. */
  take(): Buffer {
    const { length } = this;
    const buffer = this.#buffer;
    if (length === buffer.length) this.#buffer = NOTHING;
    this.#length = 0;
    if (length === buffer.length) return buffer;
    const copy = bufferOf(length, length);
    buffer.copy(copy, 0, 0, length);
    return copy;
  }

  /** Clears the capture for another message. */
  clear(): void {
    this.#length = 0;
    if (this.#buffer.length <= REUSED_MAX_BYTES) return;
    spareBuffer(this.#buffer);
    this.#buffer = NOTHING;
  }

  #grow(needed: number, max: number): void {
    let capacity = Math.max(INITIAL_BYTES, this.#buffer.length);
    while (capacity < needed) capacity *= 2;
    const larger = bufferOf(2 * capacity > max ? max : capacity);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

/** A buffer of at least that size, and at most a quarter more. */
function bufferOf(size: number, max = 1.25 * size): Buffer {
  const index = spares.findLastIndex(({ length }) => length >= size && length <= max);
  // Not from Node's pool, where a captured byte would keep a whole page in memory.
  return spares.splice(index, index === -1 ? 0 : 1)[0] ?? Buffer.allocUnsafeSlow(size);
}

/** Keeps a large buffer for another capture. Nothing may refer to it, or to memory that it shares. */
export function spareBuffer(buffer: Buffer): void {
  if (buffer.length <= REUSED_MAX_BYTES) return;
  spares.push(buffer);
  const bytes = (): number => spares.reduce((sum, { length }) => sum + length, 0);
  while (spares.length > SPARES_MAX || (spares.length > 1 && bytes() > SPARES_MAX_BYTES)) spares.shift();
}
