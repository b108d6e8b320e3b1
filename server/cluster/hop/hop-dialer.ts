/** Forwards a data socket to the relay where its visitor waits (docs/decisions/0009-cluster.md). */
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { ScheduledReads } from '../../../shared/scheduler/fair-reads.ts';
import type { Hop, UpgradeToPass } from '../../clients/ownership.ts';
import {
  HOP_CONNECT_TIMEOUT_MS,
  HOP_IDLE_MAX,
  HOP_IDLE_MS,
  HOP_RESPONSE_TIMEOUT_MS,
  HOPS_ASKED_MAX,
  KEEP_ALIVE_MS,
  STALL_TIMEOUT_MS,
} from '../../limits.ts';
import { relayOf } from '../connection-id.ts';
import type { Membership, RelayAddress } from '../members.ts';
import { HOP_TLS, HopConnection, type HopHandler, hopKey, writeRequest } from './hop-connection.ts';

export class HopDialer {
  readonly #membership: Pick<Membership, 'find'>;
  readonly #incarnation: string;
  readonly #secret: string;
  readonly #pool = new HopPool();
  /** number of unanswered requests, by the incarnation of the relay */
  readonly #asked = new Map<string, number>();
  #open = 0;

  /** @param incarnation of this relay */
  constructor(membership: Pick<Membership, 'find'>, incarnation: string, secret: string) {
    this.#membership = membership;
    this.#incarnation = incarnation;
    this.#secret = secret;
  }

  /** Data sockets that are currently forwarded. */
  get open(): number {
    return this.#open;
  }

  /**
   * Asks the relay that a connection's id identifies to accept a data socket. The client's connection is not touched
   * before it has.
   *
   * @returns `undefined` if the id identifies no relay, this one, or one that cannot be reached, refuses, or has the
   *   maximum number of open requests; ids may be guessed
   */
  async dial(request: UpgradeToPass): Promise<Hop | undefined> {
    const address = this.#membership.find(relayOf(request.id, this.#secret) ?? 0);
    if (address === undefined) return undefined;
    const asked = this.#asked.get(address.incarnation) ?? 0;
    if (asked >= HOPS_ASKED_MAX) return undefined;
    this.#asked.set(address.incarnation, asked + 1);
    try {
      return await this.#dial(address, request);
    } finally {
      this.#answered(address.incarnation);
    }
  }

  async #dial(address: RelayAddress, request: UpgradeToPass): Promise<Hop | undefined> {
    const kept = this.#pool.take(address.incarnation);
    const first = kept && (await this.#ask(kept, address, request));
    // A kept connection may have been closed just when it was needed: a new one is tried once.
    if (first !== undefined && first !== 'lost') return first === 'refused' ? undefined : first;
    const fresh = await this.#connect(address);
    const second = fresh && (await this.#ask(fresh, address, request));
    return typeof second === 'string' ? undefined : second;
  }

  #answered(incarnation: string): void {
    const asked = (this.#asked.get(incarnation) ?? 0) - 1;
    if (asked > 0) this.#asked.set(incarnation, asked);
    else this.#asked.delete(incarnation);
  }

  /** Closes the idle connections. */
  close(): void {
    this.#pool.close();
  }

  async #ask(
    connection: HopConnection,
    { incarnation }: RelayAddress,
    request: UpgradeToPass,
  ): Promise<Hop | 'refused' | 'lost'> {
    const response = new HopResponse(connection);
    connection.send([writeRequest(request)]);
    const verdict = await response.verdict;
    if (verdict !== 'taken') {
      connection.destroy();
      return verdict;
    }
    return {
      carry: (client, head) => {
        if (head.length > 0) connection.send([head]);
        this.#carry(client, connection, response, incarnation);
      },
      cancel: () => connection.destroy(),
    };
  }

  #carry(client: Duplex, connection: HopConnection, response: HopResponse, incarnation: string): void {
    this.#open += 1;
    const carrier = new HopCarrier(client, connection, {
      free: () => this.#pool.keep(incarnation, connection),
      done: () => {
        this.#open -= 1;
      },
    });
    connection.handler = carrier;
    response.replay(carrier);
  }

  /** @returns `undefined` if the relay cannot be reached in time, or does not prove that it is the requested one */
  async #connect({ host, port, incarnation }: RelayAddress): Promise<HopConnection | undefined> {
    const from = this.#incarnation;
    const psk = hopKey({ from, to: incarnation }, this.#secret);
    if (psk === undefined) return undefined;
    return await new Promise((resolve) => {
      const socket = connect({
        host,
        port,
        ...HOP_TLS,
        pskCallback: () => ({ psk, identity: from }),
        // Called only for a peer that presents a certificate because it does not know the key.
        checkServerIdentity: () => new Error('the other end is no relay of this cluster'),
      });
      // A fixed time limit, which received bytes do not extend.
      const timer = setTimeout(() => socket.destroy(), HOP_CONNECT_TIMEOUT_MS);
      socket.on('timeout', () => socket.destroy());
      socket.on('error', () => socket.destroy());
      socket.once('close', () => {
        clearTimeout(timer);
        resolve(undefined);
      });
      socket.once('secureConnect', () => {
        clearTimeout(timer);
        socket.setNoDelay(true);
        socket.setKeepAlive(true, KEEP_ALIVE_MS);
        resolve(new HopConnection(socket, NOBODY));
      });
    });
  }
}

/** Until the first request is sent. */
const NOBODY: HopHandler = { onPiece() {}, onEnd() {}, onDrain() {}, onClose() {} };

/* Idle connections to other relays. */

export class HopPool {
  /** by the incarnation of the relay; the most recently used ones are last */
  readonly #idle = new Map<string, HopConnection[]>();

  /** @returns the most recently used one, which is the least likely to be closed */
  take(incarnation: string): HopConnection | undefined {
    const connection = this.#idle.get(incarnation)?.pop();
    connection?.setTimeout(0);
    return connection;
  }

  /** Keeps a connection for {@link HOP_IDLE_MS}, or closes it if there are enough. */
  keep(incarnation: string, connection: HopConnection): void {
    if (!connection.isOpen) return;
    const idle = this.#idle.get(incarnation) ?? [];
    if (idle.length >= HOP_IDLE_MAX) return connection.destroy();
    this.#idle.set(incarnation, idle);
    idle.push(connection);
    connection.setTimeout(HOP_IDLE_MS);
    const lost = (): void => connection.destroy();
    connection.handler = {
      // Nothing was requested on it.
      onPiece: lost,
      onEnd: lost,
      onDrain() {},
      onClose: () => this.#forget(incarnation, connection),
    };
  }

  /** Closes all of them. */
  close(): void {
    for (const idle of this.#idle.values()) for (const connection of idle) connection.destroy();
  }

  #forget(incarnation: string, connection: HopConnection): void {
    const left = this.#idle.get(incarnation)?.filter((other) => other !== connection) ?? [];
    if (left.length > 0) this.#idle.set(incarnation, left);
    else this.#idle.delete(incarnation);
  }
}

/*
 * One data socket on a connection to another relay, on the side where it arrived. It is the hop's hot path: bytes are
 * written unchanged, and reading pauses only while the system accepts no more.
 */

export interface CarrierEvents {
  /** Both directions have ended: the connection may carry the next data socket. */
  free(): void;
  /** Called once, when nothing of it is left on this side. */
  done(): void;
}

export class HopCarrier implements HopHandler {
  readonly #client: Duplex;
  readonly #reads: ScheduledReads;
  readonly #connection: HopConnection;
  readonly #events: CarrierEvents;
  #endSent = false;
  #relayEnded = false;
  #clientClosed = false;

  /**
   * Must be made the handler of the connection immediately.
   *
   * @param client without listeners for its data so far; its end is passed on, and it still receives the rest of the
   *   response
   */
  constructor(client: Duplex, connection: HopConnection, events: CarrierEvents) {
    this.#client = client;
    this.#connection = connection;
    this.#events = events;
    client.on('error', () => client.destroy());
    client.on('drain', () => {
      if (!this.#relayEnded) connection.resume();
    });
    this.#reads = new ScheduledReads(client, () => client, {
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
    // A large chunk counts as too much even if the system has accepted all of it immediately.
    if (!client.destroyed && !client.write(piece) && client.writableLength > 0) this.#connection.pause();
  }

  onDrain(): void {
    this.#reads.resume();
  }

  /** The relay ends a data socket as a whole, so its end also ends the client's side. */
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
    // After a clean end the relay still receives the queued bytes, and then ends by itself.
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

/** Ends a connection once it has sent its queue, or after this many ms. */
function endWithin(ms: number, socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => clearTimeout(timer));
  socket.end(() => socket.destroy());
}

/* The response of a relay that was asked to accept a data socket. */

/** The beginning of a response that accepts. */
const SWITCHING = Buffer.from('HTTP/1.1 101 ');

/** `lost`: the connection has ended without notice. */
type Verdict = 'taken' | 'refused' | 'lost';

export class HopResponse implements HopHandler {
  /** Decided within {@link HOP_RESPONSE_TIMEOUT_MS}. */
  readonly verdict: Promise<Verdict>;
  readonly #connection: HopConnection;
  #read: Buffer = Buffer.alloc(0);
  #hasEnded = false;
  #hasClosed = false;
  #decide: (verdict: Verdict) => void = () => {};

  constructor(connection: HopConnection) {
    this.#connection = connection;
    this.verdict = new Promise((resolve) => {
      const timer = setTimeout(() => resolve('refused'), HOP_RESPONSE_TIMEOUT_MS);
      this.#decide = (verdict) => {
        clearTimeout(timer);
        resolve(verdict);
      };
    });
    connection.handler = this;
    if (!connection.isOpen) this.#decide('lost');
  }

  onPiece(piece: Buffer): void {
    this.#read = Buffer.concat([this.#read, piece]);
    if (this.#read.length < SWITCHING.length) return;
    // Bytes after the head are for the client.
    this.#connection.pause();
    this.#decide(this.#read.subarray(0, SWITCHING.length).equals(SWITCHING) ? 'taken' : 'refused');
  }

  onEnd(): void {
    this.#hasEnded = true;
    this.#decide('refused');
  }

  onDrain(): void {
    // The request is far smaller than a connection's queue.
  }

  onClose(): void {
    this.#hasClosed = true;
    this.#decide(this.#read.length > 0 ? 'refused' : 'lost');
  }

  /** Passes everything received so far to another handler. */
  replay(handler: HopHandler): void {
    handler.onPiece(this.#read, false);
    if (this.#hasEnded) handler.onEnd();
    else if (this.#hasClosed) handler.onClose();
    else this.#connection.resume();
  }
}
