/**
 * One data socket on a connection to another relay, from the side where it landed. It is the hop's hot path: bytes are
 * written as they came, and reading pauses only while the system takes no more.
 */
import type { Duplex } from 'node:stream';
import { TurnedReads } from '../../../shared/fairness/turned-reads.ts';
import { STALL_TIMEOUT_MS } from '../../limits.ts';
import type { HopConnection, HopHandler } from './hop-connection.ts';

export interface CarrierEvents {
  /** Both directions have ended: the connection may carry the next one. */
  free(): void;
  /** Called once, when nothing of it is left on this side, either. */
  done(): void;
}

export class HopCarrier implements HopHandler {
  readonly #client: Duplex;
  readonly #reads: TurnedReads;
  readonly #connection: HopConnection;
  readonly #events: CarrierEvents;
  #endSent = false;
  #relayEnded = false;
  #clientClosed = false;

  /**
   * To be made the handler of the connection at once.
   *
   * @param client nothing listens to its data yet; its end is passed on, and it still receives what the relay has to say
   */
  constructor(client: Duplex, connection: HopConnection, events: CarrierEvents) {
    this.#client = client;
    this.#connection = connection;
    this.#events = events;
    client.on('error', () => client.destroy());
    client.on('drain', () => {
      if (!this.#relayEnded) connection.resume();
    });
    this.#reads = new TurnedReads(client, () => client, {
      onChunk: (chunk) => {
        if (!this.#endSent && !connection.send([chunk])) this.#reads.pause();
      },
      onEnd: () => this.#sendEnd(),
    });
    client.once('close', () => this.#onClientClosed());
    if (client.destroyed) this.#onClientClosed();
    else this.#reads.resume();
  }

  onPiece(piece: Buffer): void {
    const client = this.#client;
    // A large chunk counts as too much even if the system has taken all of it at once.
    if (!client.destroyed && !client.write(piece) && client.writableLength > 0) this.#connection.pause();
  }

  onDrain(): void {
    this.#reads.resume();
  }

  /** The relay ends a data socket as a whole, so its end ends the client's side, too. */
  onEnd(): void {
    this.#relayEnded = true;
    if (!this.#endSent) this.#connection.oweEnd();
    this.#endSent = true;
    if (this.#client.writableLength === 0) this.#client.destroy();
    else endWithin(STALL_TIMEOUT_MS, this.#client);
    this.#connection.resume();
    this.#events.free();
    this.#tellDone();
  }

  onClose(): void {
    if (this.#relayEnded) return;
    this.#relayEnded = true;
    this.#client.destroy();
    this.#tellDone();
  }

  #onClientClosed(): void {
    if (this.#clientClosed) return;
    this.#clientClosed = true;
    this.#reads.flush();
    // After a clean end the relay still receives what is queued, and then ends by itself.
    if (!this.#relayEnded && !this.#endSent) this.#connection.destroy();
    else if (!this.#relayEnded) this.#connection.resume();
    this.#tellDone();
  }

  #sendEnd(): void {
    if (this.#endSent) return;
    this.#endSent = true;
    this.#connection.sendEnd();
  }

  #tellDone(): void {
    if (this.#relayEnded && this.#clientClosed) this.#events.done();
  }
}

/** Ends a connection once it has taken what is queued, or after so many ms. */
function endWithin(ms: number, socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => clearTimeout(timer));
  socket.end(() => socket.destroy());
}
