import type { Socket } from 'node:net';
import { deferred } from './deferred.ts';
import { within } from './deadline.ts';

/** How the other end finished: `end` for FIN, `reset` for RST or another failure, `destroyed` if this end did it. */
export type Ending = 'end' | 'reset' | 'destroyed';

const HIGH_WATER_BYTES = 1024 * 1024;

/** Reads a socket by pulling; pauses it while nobody pulls. Every read has a deadline. */
export class SocketReader {
  /** Settles when the other end has finished, whether or not everything was read. */
  readonly ending: Promise<Ending>;
  readonly #socket: Socket;
  readonly #timeoutMs: number;
  #chunks: Buffer[] = [];
  #size = 0;
  #ended = false;
  #wake: (() => void) | undefined;

  /** @param timeoutMs longest wait for the next bytes, in ms */
  constructor(socket: Socket, timeoutMs = 60_000) {
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
    const ending = deferred<Ending>();
    this.ending = ending.promise;
    const finish = (how: Ending): void => {
      this.#ended = true;
      ending.resolve(how);
      this.#wake?.();
    };
    socket.on('data', this.#onData);
    socket.once('end', () => finish('end'));
    socket.once('error', () => finish('reset'));
    socket.once('close', () => finish('destroyed'));
  }

  /** Bytes received and not yet read. */
  get buffered(): number {
    return this.#size;
  }

  /** The next bytes, however many; `undefined` at the end of the stream. */
  async some(): Promise<Buffer | undefined> {
    if (this.#size === 0 && !(await this.#more())) return undefined;
    const chunk = this.#chunks.shift();
    this.#size -= chunk?.length ?? 0;
    return chunk;
  }

  /** @throws Error when the stream ends before `length` bytes */
  async exactly(length: number): Promise<Buffer> {
    while (this.#size < length) {
      if (!(await this.#more())) throw new Error(`the stream ended ${length - this.#size} bytes early`);
    }
    return this.#take(length);
  }

  /**
   * Reads up to and including a delimiter.
   *
   * @throws Error when the stream ends before it
   */
  async through(delimiter: string): Promise<Buffer> {
    for (;;) {
      const all = Buffer.concat(this.#chunks);
      this.#chunks = [all];
      const at = all.indexOf(delimiter);
      if (at >= 0) return this.#take(at + delimiter.length);
      if (!(await this.#more()))
        throw new Error(`the stream ended within ${JSON.stringify(all.toString('latin1'))}`);
    }
  }

  /** Everything up to the end of the stream. */
  async rest(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (let chunk = await this.some(); chunk !== undefined; chunk = await this.some()) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Stops reading and returns the unread bytes, for whoever takes over the socket. */
  detach(): Buffer {
    this.#socket.off('data', this.#onData);
    this.#socket.pause();
    return this.#take(this.#size);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > HIGH_WATER_BYTES) this.#socket.pause();
    this.#wake?.();
  };

  /** Waits for more bytes; false at the end of the stream. */
  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    const before = this.#size;
    const arrived = deferred();
    this.#wake = arrived.resolve;
    this.#socket.resume();
    await within(this.#timeoutMs, 'bytes', arrived.promise);
    return this.#size > before;
  }

  #take(length: number): Buffer {
    const all =
      this.#chunks.length === 1 ? (this.#chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks);
    const rest = all.subarray(length);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#size = rest.length;
    return all.subarray(0, length);
  }
}
