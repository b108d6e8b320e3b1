/** The other end of a request whose whole body is for the relay: a short form. */
import type { ByteStream, Dial, StreamHandler } from '../../tunnels/stream.ts';
import type { OwnResponse } from '../own/own-responses.ts';
import type { OriginHandler } from '../routing/tunnel-lookup.ts';

const CONTINUE = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n');

export interface FormOptions {
  /** bytes of the body */
  readonly length: number;
  /** Whether the visitor waits for a 100 before it sends them. */
  readonly expectsContinue: boolean;
  /** What is said to the body, as text; never rejects. */
  readonly respond: (body: string) => Promise<OwnResponse>;
}

/** Takes the body, and has the relay respond to it. */
export function dialForm(handler: OriginHandler, options: FormOptions): Dial {
  let stream: FormStream | undefined;
  let isCancelled = false;
  queueMicrotask(() => {
    if (isCancelled) return;
    stream = new FormStream(handler, options);
    handler.opened(stream);
    stream.begin();
  });
  return {
    cancel() {
      isCancelled = true;
      stream?.abort();
    },
  };
}

class FormStream implements ByteStream {
  readonly #handler: OriginHandler;
  readonly #options: FormOptions;
  readonly #pieces: Buffer[] = [];
  #reader: StreamHandler | undefined;
  #left: number;
  #isOver = false;

  constructor(handler: OriginHandler, options: FormOptions) {
    this.#handler = handler;
    this.#options = options;
    this.#left = options.length;
  }

  begin(): void {
    if (this.#options.length === 0) void this.#respond();
    else if (this.#options.expectsContinue) this.#reader?.onBytes(CONTINUE);
  }

  attach(handler: StreamHandler): void {
    this.#reader = handler;
  }

  write(chunk: Buffer): boolean {
    if (chunk.length === 0) return true;
    this.#pieces.push(Buffer.from(chunk));
    this.#left -= chunk.length;
    if (this.#left <= 0) void this.#respond();
    return true;
  }

  pause(): void {}

  resume(): void {}

  finish(): void {
    this.#isOver = true;
  }

  abort(): void {
    this.#isOver = true;
  }

  async #respond(): Promise<void> {
    const response = await this.#options.respond(Buffer.concat(this.#pieces).toString());
    if (!this.#isOver) this.#handler.intercepted(response);
  }
}
