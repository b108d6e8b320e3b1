/** Forwards visitors, data sockets and trunks to other relays (docs/decisions/0009-cluster.md). */
import type { Duplex } from 'node:stream';
import { connect, type TLSSocket } from 'node:tls';
import { CloseCode } from '../../../shared/control.ts';
import { joined } from '../../../shared/http1/fields.ts';
import { ScheduledReads } from '../../../shared/scheduler/fair-reads.ts';
import type { TrunkStream } from '../../../shared/trunk/trunk-stream.ts';
import type { Trunk } from '../../../shared/trunk/trunk.ts';
import { type ByteStreamHandler, isCleanClose } from '../../../shared/websocket/byte-stream.ts';
import { readVisitResponse } from '../../clients/forwarded-visitor.ts';
import type { ForwardedUpgrade, Hop, VisitFailure, VisitHandler } from '../../clients/ownership.ts';
import type { TrunkLife } from '../../clients/trunk-life.ts';
import { STALL_TIMEOUT_MS } from '../../edge/timeouts.ts';
import type { Dial } from '../../tunnels/stream.ts';
import type { RelayAddress } from '../members.ts';
import { HOP_TLS, hopKey, hopTrunk, writeRequest } from './hop-protocol.ts';

/** Maximum time to connect to another relay; relays are close to each other. */
const HOP_CONNECT_TIMEOUT_MS = 2000;
/**
 * How long another relay has to accept or refuse a data socket or a trunk: it may have to look up the key in the
 * store.
 */
export const HOP_RESPONSE_TIMEOUT_MS = 5000;
/**
 * Maximum number of data sockets and trunks that are waiting for another relay to accept or refuse them: thousands
 * a second, but at most as many as it has capacity for.
 */
export const HOPS_ASKED_MAX = 1024;

/** The other relay cannot be reached, or does not have the client. */
const LOST: VisitFailure = { kind: 'lost' };

export class HopDialer {
  readonly #incarnation: string;
  readonly #secret: string;
  /** by the incarnation of the relay */
  readonly #relays = new Map<string, OtherRelay>();
  #open = 0;

  /** @param incarnation of this relay */
  constructor(incarnation: string, secret: string) {
    this.#incarnation = incarnation;
    this.#secret = secret;
  }

  /** Data sockets and trunks of clients that are currently forwarded. */
  get open(): number {
    return this.#open;
  }

  /**
   * Asks another relay to accept a data socket or a trunk. The client's connection is not touched before it has.
   *
   * @returns the status of a refusal; `undefined` if the relay cannot be reached, or has the maximum number of open
   *   requests; ids may be guessed
   */
  async upgrade(to: RelayAddress, request: ForwardedUpgrade): Promise<Hop | number | undefined> {
    const accepted = await this.#relay(to)?.ask(request);
    if (typeof accepted !== 'object') return accepted;
    return (taken) => {
      if (taken === undefined) return accepted.stream.destroy();
      this.#open += 1;
      const done = (): void => {
        this.#open -= 1;
      };
      accepted.handOver(new ForwardedSocket(taken.socket, taken.head, accepted.stream, done));
    };
  }

  /** Opens a stream to the client of a tunnel on another relay. The handler may be called before this returns. */
  visit(to: RelayAddress, tunnelId: string, handler: VisitHandler, peers = ''): Dial {
    const relay = this.#relay(to);
    if (relay !== undefined) return relay.visit(tunnelId, handler, peers);
    handler.failed(LOST);
    return { cancel() {} };
  }

  /** Cuts the connections to other relays. */
  close(): void {
    for (const relay of this.#relays.values()) relay.close();
  }

  #relay(address: RelayAddress): OtherRelay | undefined {
    const { incarnation } = address;
    const known = this.#relays.get(incarnation);
    if (known !== undefined) return known;
    const key = hopKey({ from: this.#incarnation, to: incarnation }, this.#secret);
    if (key === undefined) return undefined;
    const relay = new OtherRelay(address, key, this.#incarnation, () => this.#relays.delete(incarnation));
    this.#relays.set(incarnation, relay);
    return relay;
  }
}

/** The trunks to another relay: usually one, and another one while it carries as many streams as a trunk can. */
class OtherRelay {
  readonly #address: RelayAddress;
  readonly #key: Buffer;
  readonly #incarnation: string;
  readonly #unused: () => void;
  readonly #trunks = new Map<Trunk, TrunkLife>();
  /** a new trunk that is being connected, for everyone who waits for it */
  #connecting: Promise<Trunk | undefined> | undefined;
  /** number of unanswered requests of clients */
  #asked = 0;
  #isClosed = false;

  /** @param unused called when nothing is left of it */
  constructor(address: RelayAddress, key: Buffer, incarnation: string, unused: () => void) {
    this.#address = address;
    this.#key = key;
    this.#incarnation = incarnation;
    this.#unused = unused;
  }

  /**
   * @returns the status of a refusal; `undefined` if the relay cannot be reached or does not answer, or if too many
   *   requests are unanswered
   */
  async ask(request: ForwardedUpgrade): Promise<AcceptedStream | number | undefined> {
    if (this.#asked >= HOPS_ASKED_MAX) return undefined;
    this.#asked += 1;
    try {
      const known = this.#usable();
      const first = known && (await askOn(known, request));
      // A trunk may be lost just when it is needed: a new one is tried once.
      if (first !== undefined && first !== 'lost') return first === 'silent' ? undefined : first;
      const fresh = await this.#fresh();
      const second = fresh?.takesStreams === true ? await askOn(fresh, request) : undefined;
      return typeof second === 'string' ? undefined : second;
    } finally {
      this.#asked -= 1;
      this.#checkUse();
    }
  }

  visit(tunnelId: string, handler: VisitHandler, peers: string): Dial {
    let stream: TrunkStream | undefined;
    let isOver = false;
    const openOn = (trunk: Trunk | undefined, onLost: () => void): void => {
      if (isOver) return;
      if (trunk?.takesStreams !== true) return handler.failed(LOST);
      const visit = (stream = trunk.open());
      visit.attach({
        onStreamData: (piece) => {
          const response = readVisitResponse(piece[0]);
          if (response === 'opened') {
            visit.unread(piece.subarray(1));
            return handler.opened(visit, this.#address.incarnation);
          }
          visit.destroy();
          const isFault = response !== undefined && response !== 'away';
          handler.failed(isFault ? { kind: 'fault', fault: response } : LOST);
        },
        // The request is far smaller than a window.
        onStreamDrain() {},
        onStreamClose: (code) => (code === CloseCode.abnormal ? onLost() : handler.failed(LOST)),
      });
      visit.write(writeRequest({ kind: 'visit', id: tunnelId, peers }));
    };
    // A trunk may be lost just when it is needed: a new one is tried once.
    const openAnew = async (): Promise<void> => openOn(await this.#fresh(), () => handler.failed(LOST));
    const known = this.#usable();
    if (known === undefined) void openAnew();
    else openOn(known, () => void openAnew());
    return {
      cancel() {
        isOver = true;
        stream?.destroy();
      },
    };
  }

  close(): void {
    this.#isClosed = true;
    for (const trunk of this.#trunks.keys()) trunk.close(CloseCode.abnormal);
  }

  #usable(): Trunk | undefined {
    for (const [trunk, life] of this.#trunks) if (trunk.takesStreams && life.isTrusted) return trunk;
    return undefined;
  }

  /** One that is usable, or a new one. */
  async #fresh(): Promise<Trunk | undefined> {
    return this.#usable() ?? (await (this.#connecting ??= this.#connect()));
  }

  #checkUse(): void {
    if (this.#asked === 0 && this.#trunks.size === 0 && this.#connecting === undefined) this.#unused();
  }

  /** @returns `undefined` if the relay cannot be reached in time, or does not prove that it is the requested one */
  async #connect(): Promise<Trunk | undefined> {
    const socket = await this.#connectTls();
    this.#connecting = undefined;
    if (socket === undefined || this.#isClosed || socket.destroyed) {
      socket?.destroy();
      this.#checkUse();
      return undefined;
    }
    const { trunk, life } = hopTrunk(socket, 'dialer', {
      // Only this end begins streams: `Trunk` ends with a protocol error.
      begun: (stream) => stream.destroy(),
      moveAsked: (stream) => stream.destroy(),
      closed: () => {
        this.#trunks.delete(trunk);
        this.#checkUse();
      },
    });
    this.#trunks.set(trunk, life);
    return trunk;
  }

  #connectTls(): Promise<TLSSocket | undefined> {
    const { host, port } = this.#address;
    return new Promise((resolve) => {
      const socket = connect({
        host,
        port,
        ...HOP_TLS,
        pskCallback: () => ({ psk: this.#key, identity: this.#incarnation }),
        // Called only for a peer that presents a certificate because it does not know the key.
        checkServerIdentity: () => new Error('the other end is no relay of this cluster'),
      });
      // A fixed time limit, which received bytes do not extend.
      const timer = setTimeout(() => socket.destroy(), HOP_CONNECT_TIMEOUT_MS);
      socket.on('error', () => socket.destroy());
      socket.once('close', () => {
        clearTimeout(timer);
        resolve(undefined);
      });
      socket.once('secureConnect', () => {
        clearTimeout(timer);
        resolve(socket);
      });
    });
  }
}

/** The first bytes of a response, up to its status, which begins at `STATUS_AT`. */
const SWITCHING = Buffer.from('HTTP/1.1 101 ');
const STATUS_AT = 9;

/** A stream whose data socket or trunk another relay has accepted. */
interface AcceptedStream {
  readonly stream: TrunkStream;
  /** Passes everything received so far, and all that follows, to a handler. */
  readonly handOver: (handler: ByteStreamHandler) => void;
}

/** @returns the status of a refusal; `silent`: there was no response; `lost`: the trunk has ended without notice */
function askOn(
  trunk: Trunk,
  request: ForwardedUpgrade,
): Promise<AcceptedStream | number | 'silent' | 'lost'> {
  const stream = trunk.open();
  return new Promise((resolve) => {
    let read: Buffer | undefined;
    let endCode: number | undefined;
    const timer = setTimeout(() => {
      stream.destroy();
      resolve('silent');
    }, HOP_RESPONSE_TIMEOUT_MS);
    stream.attach({
      onStreamData: (piece) => {
        read = read === undefined ? piece : joined(read, piece);
        if (read.length < SWITCHING.length) return;
        clearTimeout(timer);
        // Bytes after the head are for the client.
        stream.pause();
        if (!read.subarray(0, SWITCHING.length).equals(SWITCHING)) {
          stream.destroy();
          return resolve(Number(read.toString('latin1', STATUS_AT, SWITCHING.length)) || 'silent');
        }
        const accepted = read;
        const handOver = (handler: ByteStreamHandler): void => {
          handler.onStreamData(accepted);
          if (endCode !== undefined) return handler.onStreamClose(endCode);
          stream.attach(handler);
          stream.resume();
        };
        resolve({ stream, handOver });
      },
      // The request is far smaller than a window.
      onStreamDrain() {},
      onStreamClose: (code) => {
        clearTimeout(timer);
        endCode = code;
        // The stream of a trunk that was lost ends without a code of the other relay.
        resolve(read === undefined && code === CloseCode.abnormal ? 'lost' : 'silent');
      },
    });
    stream.write(writeRequest(request));
  });
}

/** A data socket or trunk on the relay where it arrived: its bytes are passed on unchanged. */
export class ForwardedSocket implements ByteStreamHandler {
  readonly #client: Duplex;
  readonly #stream: TrunkStream;
  readonly #reads: ScheduledReads;
  readonly #done: () => void;
  #hasStreamEnded = false;

  /**
   * Must be made the handler of the stream immediately.
   *
   * @param client without listeners for its data so far
   * @param head bytes that were read from it
   * @param done called once, when nothing of it is left on this relay
   */
  constructor(client: Duplex, head: Buffer, stream: TrunkStream, done: () => void) {
    this.#client = client;
    this.#stream = stream;
    this.#done = done;
    if (head.length > 0) stream.write(head);
    client.on('error', () => client.destroy());
    client.on('drain', () => stream.resume());
    this.#reads = new ScheduledReads(client, () => client, {
      onChunk: (chunk) => {
        if (!stream.write(chunk)) this.#reads.pause();
      },
      // A client that follows the protocol has closed the WebSocket, so nothing follows in the other direction either.
      onEnd: () => {
        this.#end(() => stream.close(CloseCode.normal));
        endWithin(STALL_TIMEOUT_MS, client);
      },
    });
    client.once('close', () => this.#clientClosed());
    if (client.closed) this.#clientClosed();
    else this.#reads.resume();
  }

  onStreamData(piece: Buffer): void {
    const client = this.#client;
    // A large piece counts as too much even if the system has accepted all of it immediately.
    if (!client.destroyed && !client.write(piece) && client.writableLength > 0) this.#stream.pause();
  }

  onStreamDrain(): void {
    this.#reads.resume();
  }

  onStreamClose(code: number): void {
    this.#end(() => {});
    if (!isCleanClose(code) || this.#client.writableLength === 0) this.#client.destroy();
    else endWithin(STALL_TIMEOUT_MS, this.#client);
  }

  #clientClosed(): void {
    this.#reads.flush();
    this.#end(() => this.#stream.close(CloseCode.goingAway));
    this.#done();
  }

  #end(tell: () => void): void {
    if (this.#hasStreamEnded) return;
    this.#hasStreamEnded = true;
    tell();
  }
}

/** Ends a connection once it has sent its queue, or after this many ms. */
function endWithin(ms: number, socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => clearTimeout(timer));
  socket.end(() => socket.destroy());
}
