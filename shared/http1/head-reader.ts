/** Collects the bytes of a message head as they arrive. */
import { joined } from './joined.ts';

const CR = 13;
const LF = 10;
const END = '\r\n\r\n';

/** Why no head can come of the bytes: more than the limit without an end, or a line that does not end in CRLF. */
export type HeadReaderFault = 'too-large' | 'malformed';

export interface HeadEnd {
  /** the head, the empty line included */
  readonly head: Buffer;
  /** the bytes behind it */
  readonly rest: Buffer;
}

const EMPTY = Buffer.alloc(0);

export class HeadReader {
  #held: Buffer = EMPTY;
  readonly #limit: number;

  /** @param limit bytes of the largest head taken */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether some bytes of a head have come, but not all. */
  get partial(): boolean {
    return this.#held.length > 0;
  }

  /** The bytes held so far, latin1. */
  get text(): string {
    return this.#held.toString('latin1');
  }

  /** Takes the next bytes; `undefined` while the head is incomplete. */
  push(chunk: Buffer): HeadEnd | HeadReaderFault | undefined {
    const from = Math.max(0, this.#held.length - END.length + 1);
    const bytes = this.#held.length === 0 ? chunk : joined(this.#held, chunk);
    const at = bytes.indexOf(END, from, 'latin1');
    const length = at === -1 ? bytes.length : at + END.length;
    if (at === -1) this.#held = bytes;
    // An empty line first, or lines that end otherwise, never become a head: no reason to wait for its end.
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
}

function hasBareLineFeed(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (at === 0 || bytes[at - 1] !== CR) return true;
  }
  return false;
}
