import type { Field } from './fields.ts';

/** Writes a new head from a received one: what stays is copied in pieces as large as possible. */
export class HeadWriter {
  readonly #source: Buffer;
  #target: Buffer;
  #length = 0;
  /** The piece of the source to copy next. */
  #from = 0;
  #to = 0;

  /**
   * @param source the received head
   * @param extra bytes that will be written besides it, roughly
   */
  constructor(source: Buffer, extra: number) {
    this.#source = source;
    this.#target = Buffer.allocUnsafe(source.length + extra);
  }

  /** Keeps bytes of the source. */
  keep(start: number, end: number): void {
    if (start !== this.#to) {
      this.#flush();
      this.#from = start;
    }
    this.#to = end;
  }

  /** Keeps a field line, written plainly. */
  keepField(field: Field): void {
    if (field.isPlain) this.keep(field.start, field.end);
    else this.text(`${field.name}: ${field.value}\r\n`);
  }

  /** Writes a text, one byte a character. */
  text(text: string): void {
    this.#flush();
    this.#reserve(text.length);
    this.#length += this.#target.write(text, this.#length, 'latin1');
  }

  /** Writes bytes from somewhere else. */
  bytes(bytes: Buffer): void {
    this.#flush();
    this.#reserve(bytes.length);
    this.#length += bytes.copy(this.#target, this.#length);
  }

  /** The new head. */
  end(): Buffer {
    this.#flush();
    return this.#length === this.#target.length ? this.#target : this.#target.subarray(0, this.#length);
  }

  #flush(): void {
    const from = this.#from;
    this.#from = this.#to;
    if (this.#to === from) return;
    this.#reserve(this.#to - from);
    this.#length += this.#source.copy(this.#target, this.#length, from, this.#to);
  }

  #reserve(bytes: number): void {
    const size = this.#length + bytes;
    if (size <= this.#target.length) return;
    const larger = Buffer.allocUnsafe(2 * size);
    this.#target.copy(larger, 0, 0, this.#length);
    this.#target = larger;
  }
}
