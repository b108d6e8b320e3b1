/**
 * The relay's own API behind Node's HTTP server, fed through in-process streams, so that it is just another upstream.
 * Each request gets its own stream, once the scheduler has admitted it.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import type { RequestScheduler } from '../api/scheduler.ts';
import type { ByteStream, Dial, DialHandler, StreamHandler } from '../tunnels/stream.ts';

export class InProcessApi {
  readonly #server: Server;
  readonly #turns: Pick<RequestScheduler, 'take'>;

  constructor(listener: RequestListener, turns: Pick<RequestScheduler, 'take'>) {
    this.#server = createServer(listener);
    // A persistent connection would let the next request bypass the scheduler.
    this.#server.maxRequestsPerSocket = 1;
    this.#turns = turns;
  }

  /** @param group group of visitors, whose requests take turns with those of other groups */
  dial(handler: DialHandler, group: string): Dial {
    const cancel = this.#turns.take(group, () => {
      const [near, far] = duplexPair();
      far.on('error', () => far.destroy());
      this.#server.emit('connection', far);
      handler.opened(new DuplexStream(near, far));
    });
    return { cancel };
  }
}

/** A Node stream as a byte stream. */
class DuplexStream implements ByteStream {
  readonly #duplex: Duplex;
  readonly #server: Duplex;
  #handler: StreamHandler | undefined;
  #ended = false;

  /** @param server the other side, which is not notified when this one is destroyed */
  constructor(duplex: Duplex, server: Duplex) {
    this.#duplex = duplex;
    this.#server = server;
    duplex.on('error', () => duplex.destroy());
    duplex.on('drain', () => this.#handler?.onRoom());
    duplex.on('end', () => this.#close(true));
    duplex.on('close', () => this.#close(false));
  }

  attach(handler: StreamHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (isFirst) this.#duplex.on('data', (piece: Buffer) => this.#handler?.onBytes(piece));
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
    this.#server.destroy();
  }

  #close(clean: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#handler?.onEnded(clean);
    this.#duplex.destroy();
  }
}
