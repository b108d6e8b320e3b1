const NOTHING = Buffer.alloc(0);
/** Enough for a usual head, so that most captures never grow. */
const INITIAL_BYTES = 1024;
const SHORT_BYTES = 64;
/** A larger buffer is not reused for the next message of the same capture, which may be small. */
const REUSED_MAX_BYTES = 4096;
/** The last large buffer that a capture gave up. Another large message needs it soon. */
let spare: Buffer = NOTHING;

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

  /** Clears the capture for another message. */
  clear(): void {
    this.#length = 0;
    if (this.#buffer.length <= REUSED_MAX_BYTES) return;
    spare = this.#buffer;
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
function bufferOf(size: number): Buffer {
  const reused = spare;
  // Not from Node's pool, where a captured byte would keep a whole page in memory.
  if (reused.length < size || reused.length > 1.25 * size) return Buffer.allocUnsafeSlow(size);
  spare = NOTHING;
  return reused;
}
