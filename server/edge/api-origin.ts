/** The relay's own API behind Node's HTTP server, fed through in-process streams, so that it is one more origin. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import type { ByteStream, Dial, DialHandler, StreamHandler } from '../tunnels/stream.ts';
import type { ApiOrigin } from './origins.ts';

export class InProcessApi implements ApiOrigin {
  readonly #server: Server;

  constructor(listener: RequestListener) {
    this.#server = createServer(listener);
  }

  dial(handler: DialHandler): Dial {
    let cancelled = false;
    queueMicrotask(() => {
      if (cancelled) return;
      const [near, far] = duplexPair();
      far.on('error', () => far.destroy());
      this.#server.emit('connection', far);
      handler.opened(new DuplexStream(near));
    });
    return {
      cancel: () => {
        cancelled = true;
      },
    };
  }
}

/** A Node stream as a byte stream. */
class DuplexStream implements ByteStream {
  readonly #duplex: Duplex;
  #handler: StreamHandler | undefined;
  #ended = false;

  constructor(duplex: Duplex) {
    this.#duplex = duplex;
    duplex.on('error', () => duplex.destroy());
    duplex.on('drain', () => this.#handler?.onDrain());
    duplex.on('end', () => this.#close(true));
    duplex.on('close', () => this.#close(false));
  }

  attach(handler: StreamHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (isFirst) this.#duplex.on('data', (piece: Buffer) => this.#handler?.onData(piece));
  }

  write(chunk: Buffer): boolean {
    return this.#duplex.write(chunk);
  }

  pause(): void {
    this.#duplex.pause();
  }

  resume(): void {
    this.#duplex.resume();
  }

  finish(): void {
    this.#ended = true;
    this.#duplex.end();
  }

  abort(): void {
    this.#ended = true;
    this.#duplex.destroy();
  }

  #close(clean: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#handler?.onClose(clean);
    this.#duplex.destroy();
  }
}
