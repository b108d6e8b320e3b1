import type { ByteStreamHandler } from '../../shared/websocket/byte-stream.ts';
import type { DataStream } from './bridge.ts';

/**
 * A data stream whose first bytes came before there was anybody to take them: it holds them, and the rest back, until
 * somebody is attached. What it holds is what one read of the socket brought.
 */
export class ReplayStream implements DataStream {
  readonly #stream: DataStream;
  #held: Buffer[];
  #closedWith: number | undefined;
  #paused = true;

  /** @param first the bytes that came */
  constructor(stream: DataStream, first: Buffer) {
    this.#stream = stream;
    this.#held = [first];
    stream.pause();
    stream.attach({
      onData: (piece) => this.#held.push(piece),
      onDrain: () => {},
      onClose: (code) => {
        this.#closedWith = code;
      },
    });
  }

  attach(handler: ByteStreamHandler): void {
    const held = this.#held;
    this.#held = [];
    this.#paused = false;
    this.#stream.attach(handler);
    for (const piece of held) handler.onData(piece);
    if (this.#closedWith !== undefined) handler.onClose(this.#closedWith);
    else if (!this.#paused) this.#stream.resume();
  }

  write(chunk: Buffer): boolean {
    return this.#stream.write(chunk);
  }

  pause(): void {
    this.#paused = true;
    this.#stream.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#stream.resume();
  }

  close(code: number): void {
    this.#stream.close(code);
  }

  destroy(): void {
    this.#stream.destroy();
  }
}
