/** Collects the bytes of a message head as they arrive. */
import { joined } from './joined.ts';

const CR = 13;
const LF = 10;
const END = '\r\n\r\n';

/** Why the bytes cannot become a head: more than the limit without an end, or a line that does not end in CRLF. */
export type HeadReaderFault = 'too-large' | 'malformed';

export interface HeadEnd {
  /** the head, the empty line included */
  readonly head: Buffer;
  /** the bytes after it */
  readonly rest: Buffer;
}

const EMPTY = Buffer.alloc(0);

export class HeadReader {
  #held: Buffer = EMPTY;
  /** The last bytes, if they made the head too large. */
  #beyond: Buffer = EMPTY;
  readonly #limit: number;

  /** @param limit bytes of the largest head taken */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether some bytes of a head have arrived, but not all. */
  get partial(): boolean {
    return this.#held.length > 0;
  }

  /** The bytes held so far, latin1. */
  get text(): string {
    return this.#held.toString('latin1') + this.#beyond.toString('latin1');
  }

  /** Takes the next bytes; `undefined` while the head is incomplete. */
  push(chunk: Buffer): HeadEnd | HeadReaderFault | undefined {
    const from = Math.max(0, this.#held.length - END.length + 1);
    if (this.#held.length > 0 && this.#isTooMuch(chunk, from)) {
      this.#beyond = chunk;
      return hasBareLineFeed(chunk, 0, this.#held.at(-1)) ? 'malformed' : 'too-large';
    }
    const bytes = this.#held.length === 0 ? chunk : joined(this.#held, chunk);
    const at = bytes.indexOf(END, from, 'latin1');
    const length = at === -1 ? bytes.length : at + END.length;
    if (at === -1) this.#held = bytes;
    // Bytes that begin with an empty line, or lines with another ending, never become a head: there is no reason to wait for
    // its end.
    if (bytes[0] === CR || bytes[0] === LF || (at === -1 && hasBareLineFeed(bytes, from))) {
      this.#held = bytes;
      return 'malformed';
    }
    if (length > this.#limit) {
      this.#held = bytes;
      return 'too-large';
    }
    if (at === -1) return undefined;
    this.#held = EMPTY;
    if (length === bytes.length) return { head: bytes, rest: EMPTY };
    return { head: bytes.subarray(0, length), rest: bytes.subarray(length) };
  }

  /** Whether no head can end within the limit any more; found out without copying everything that has arrived. */
  #isTooMuch(chunk: Buffer, from: number): boolean {
    const room = this.#limit - this.#held.length;
    if (chunk.length <= room) return false;
    return !Buffer.concat([this.#held.subarray(from), chunk.subarray(0, room)]).includes(END, 0, 'latin1');
  }
}

/** @param before the byte before them, if any */
function hasBareLineFeed(bytes: Buffer, from: number, before?: number): boolean {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if ((at === 0 ? before : bytes[at - 1]) !== CR) return true;
  }
  return false;
}
