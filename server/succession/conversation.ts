/** Messages between two relays: one JSON object a line, over a connection on this machine. */
import type { Socket } from 'node:net';
import { SUCCESSION_LINE_MAX_BYTES, SUCCESSION_WAITING_MAX } from '../limits.ts';

const LINE_FEED = 10;

/** Messages of one kind are sent, those of another are received. */
export class Conversation<Sent, Received> {
  readonly #socket: Socket;
  readonly #readMessage: (value: unknown) => Received | undefined;
  readonly #received: Received[] = [];
  #awaiting: ((message: Received | undefined) => void) | undefined;
  #listener: ((message: Received) => void) | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isOver = false;
  readonly #over = Promise.withResolvers<void>();

  /**
   * @param socket with nothing read from it that belongs to a message
   * @param read checks what has come as JSON; `undefined` for what is no message, which ends the conversation
   */
  constructor(socket: Socket, read: (value: unknown) => Received | undefined) {
    this.#socket = socket;
    this.#readMessage = read;
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.#end());
    socket.resume();
  }

  /** Fulfilled when it is over, whoever ended it. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  send(message: Sent): void {
    if (!this.#isOver) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /**
   * The next message.
   *
   * @param ms how long to wait for it
   * @returns `undefined` when the other side has left without one
   * @throws TimeoutError
   */
  async next(ms: number): Promise<Received | undefined> {
    const first = this.#received.shift();
    if (first !== undefined || this.#isOver) return first;
    const { promise, resolve, reject } = Promise.withResolvers<Received | undefined>();
    this.#awaiting = resolve;
    const timer = setTimeout(() => reject(new TimeoutError(ms)), ms);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#awaiting = undefined;
    }
  }

  /** From here on, all messages go to a listener. */
  listen(listener: (message: Received) => void): void {
    this.#listener = listener;
    for (const message of this.#received.splice(0)) listener(message);
  }

  /** Ends it after what was sent. */
  end(): void {
    this.#socket.end();
  }

  /** Ends it at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      const line = Buffer.concat([...this.#held, bytes.subarray(start, end)]);
      this.#held = [];
      this.#heldBytes = 0;
      start = end + 1;
      this.#hear(line.toString());
    }
    if (start === bytes.length) return;
    this.#held.push(bytes.subarray(start));
    this.#heldBytes += bytes.length - start;
    if (this.#heldBytes > SUCCESSION_LINE_MAX_BYTES) this.#socket.destroy();
  }

  #hear(line: string): void {
    let message: Received | undefined;
    try {
      message = this.#readMessage(JSON.parse(line));
    } catch {
      // As if it were no message.
    }
    // Messages that nobody awaits yet are few: each side says one, and waits for the other.
    if (message === undefined || this.#received.length >= SUCCESSION_WAITING_MAX) {
      this.#socket.destroy();
      return;
    }
    const awaiting = this.#awaiting;
    this.#awaiting = undefined;
    if (this.#listener !== undefined) this.#listener(message);
    else if (awaiting !== undefined) awaiting(message);
    else this.#received.push(message);
  }

  #end(): void {
    this.#isOver = true;
    this.#awaiting?.(undefined);
    this.#over.resolve();
  }
}

/** The other side is there and says nothing. */
export class TimeoutError extends Error {
  constructor(ms: number) {
    super(`it has not answered within ${ms / 1000} s`);
    this.name = 'TimeoutError';
  }
}
