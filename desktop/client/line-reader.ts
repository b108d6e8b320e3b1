import type { Socket } from 'node:net';

/** Splits a stream into lines. One that is too long is dropped up to its end, and reported once. */
export class LineReader {
  readonly #maxBytes: number;
  readonly #onLine: (line: string) => void;
  readonly #onTooLong: () => void;
  #held: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number, onLine: (line: string) => void, onTooLong: () => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
  }

  read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      this.#hold(chunk.subarray(start, end));
      if (this.#size <= this.#maxBytes) this.#onLine(Buffer.concat(this.#held).toString());
      this.#held = [];
      this.#size = 0;
      start = end + 1;
    }
    this.#hold(chunk.subarray(start));
  }

  #hold(piece: Buffer): void {
    const before = this.#size;
    this.#size += piece.length;
    if (this.#size <= this.#maxBytes) return void this.#held.push(piece);
    this.#held = [];
    if (before <= this.#maxBytes) this.#onTooLong();
  }
}

/**
 * Calls back with each complete line received on a socket.
 *
 * @param maxBytes of one line; a peer that sends a longer one is cut off
 */
export function readLines(socket: Socket, maxBytes: number, onLine: (line: string) => void): void {
  const lines = new LineReader(
    maxBytes,
    (line) => {
      if (!socket.destroyed) onLine(line);
    },
    () => socket.destroy(),
  );
  socket.on('data', (chunk: Buffer) => lines.read(chunk));
}
