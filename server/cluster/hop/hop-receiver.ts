/** One connection from another relay, from the side where visitors wait: takes one data socket after the other from it. */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HOP_LINE_MAX_BYTES } from '../../limits.ts';
import type { HopRequest } from '../../link/other-relays.ts';
import { readRequest } from './hop.ts';
import { HopConnection, type HopHandler } from './hop-connection.ts';
import { HopStream } from './hop-stream.ts';

/** What is done with a data socket that another relay has passed on. */
export type TakeHop = (request: HopRequest, socket: Duplex) => void;

export class HopReceiver implements HopHandler {
  readonly #connection: HopConnection;
  readonly #via: string;
  readonly #take: TakeHop;
  /** as much of the next request as has arrived */
  #request: Buffer = Buffer.alloc(0);
  /** the data socket it carries now, or carried last */
  #stream: HopStream | undefined;
  /** whether more of it may come */
  #isReading = false;

  private constructor(socket: Socket, via: string, take: TakeHop) {
    this.#via = via;
    this.#take = take;
    this.#connection = new HopConnection(socket, this);
  }

  /**
   * Takes what comes on a connection, until that ends.
   *
   * @param socket of a relay that has proved to be one of the cluster
   * @param via its incarnation
   */
  static serve(socket: Socket, via: string, take: TakeHop): HopReceiver {
    return new HopReceiver(socket, via, take);
  }

  onPiece(piece: Buffer, isLast: boolean): void {
    if (this.#isReading) return this.#stream?.receive(piece);
    this.#request = Buffer.concat([this.#request, piece]);
    if (this.#request.length > HOP_LINE_MAX_BYTES) return this.#connection.destroy();
    if (isLast) this.#begin();
  }

  #begin(): void {
    const request = readRequest(this.#request, this.#via);
    this.#request = Buffer.alloc(0);
    if (request === undefined) return this.#connection.destroy();
    this.#stream = new HopStream(this.#connection);
    this.#isReading = true;
    this.#take(request, this.#stream);
  }

  onEnd(): void {
    this.#isReading = false;
    this.#stream?.receiveEnd();
  }

  onDrain(): void {
    this.#stream?.drained();
  }

  onClose(): void {
    this.#stream?.destroy();
  }
}
