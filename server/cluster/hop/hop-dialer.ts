/** Forwards a data socket to the relay where its visitor waits (docs/decisions/0009-cluster.md). */
import type { Duplex } from 'node:stream';
import { connect, type TLSSocket } from 'node:tls';
import { CloseCode } from '../../../shared/control.ts';
import { joined } from '../../../shared/http1/fields.ts';
import { ScheduledReads } from '../../../shared/scheduler/fair-reads.ts';
import type { TrunkStream } from '../../../shared/trunk/trunk-stream.ts';
import type { Trunk } from '../../../shared/trunk/trunk.ts';
import { type ByteStreamHandler, isCleanClose } from '../../../shared/websocket/byte-stream.ts';
import type { Hop, UpgradeToPass } from '../../clients/ownership.ts';
import { STALL_TIMEOUT_MS } from '../../edge/timeouts.ts';
import { relayOf } from '../connection-id.ts';
import type { Membership, RelayAddress } from '../members.ts';
import { HOP_TLS, hopKey, hopTrunk, writeRequest } from './hop-protocol.ts';

/** @limit Maximum time to connect to another relay; relays are close to each other. */
const HOP_CONNECT_TIMEOUT_MS = 2000;
/** @limit How long another relay has to accept or refuse a data socket: it may have to look up the key in the store. */
export const HOP_RESPONSE_TIMEOUT_MS = 5000;
/**
 * @limit ms between two checks of a trunk to another relay: it is closed if it was unused, and otherwise asked for a
 * sign of life.
 */
export const HOP_IDLE_MS = 30_000;
/**
 * @limit Maximum number of data sockets that are waiting for another relay to accept or refuse them: thousands a
 * second, but at most as many as it has capacity for.
 */
export const HOPS_ASKED_MAX = 1024;

export class HopDialer {
  readonly #membership: Pick<Membership, 'find'>;
  readonly #incarnation: string;
  readonly #secret: string;
  /** by the incarnation of the relay */
  readonly #relays = new Map<string, OtherRelay>();
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
    const { incarnation } = address;
    let relay = this.#relays.get(incarnation);
    if (relay === undefined) {
      const key = hopKey({ from: this.#incarnation, to: incarnation }, this.#secret);
      if (key === undefined) return undefined;
      relay = new OtherRelay(address, key, this.#incarnation, () => this.#relays.delete(incarnation));
      this.#relays.set(incarnation, relay);
    }
    const accepted = await relay.ask(request);
    if (accepted === undefined) return undefined;
    return (taken) => {
      if (taken === undefined) return accepted.stream.destroy();
      this.#open += 1;
      const done = (): void => {
        this.#open -= 1;
      };
      accepted.handOver(new ForwardedSocket(taken.socket, taken.head, accepted.stream, done));
    };
  }

  /** Cuts the connections to other relays. */
  close(): void {
    for (const relay of this.#relays.values()) relay.close();
  }
}

/** The trunks to another relay: usually one, and another one while it carries as many streams as a trunk can. */
class OtherRelay {
  readonly #address: RelayAddress;
  readonly #key: Buffer;
  readonly #incarnation: string;
  readonly #unused: () => void;
  readonly #trunks = new Set<Trunk>();
  /** a new trunk that is being connected, for everyone who waits for it */
  #connecting: Promise<Trunk | undefined> | undefined;
  /** number of unanswered requests */
  #asked = 0;
  #isClosed = false;

  /** @param unused called when nothing is left of it */
  constructor(address: RelayAddress, key: Buffer, incarnation: string, unused: () => void) {
    this.#address = address;
    this.#key = key;
    this.#incarnation = incarnation;
    this.#unused = unused;
  }

  /** @returns `undefined` if the relay cannot be reached or refuses, or if too many requests are unanswered */
  async ask(request: UpgradeToPass): Promise<AcceptedStream | undefined> {
    if (this.#asked >= HOPS_ASKED_MAX) return undefined;
    this.#asked += 1;
    try {
      const known = this.#usable();
      const first = known && (await askOn(known, request));
      // A trunk may be lost just when it is needed: a new one is tried once.
      if (first !== undefined && first !== 'lost') return first === 'refused' ? undefined : first;
      const fresh = this.#usable() ?? (await (this.#connecting ??= this.#connect()));
      const second = fresh?.takesStreams === true ? await askOn(fresh, request) : undefined;
      return typeof second === 'string' ? undefined : second;
    } finally {
      this.#asked -= 1;
      this.#checkUse();
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const trunk of this.#trunks) trunk.close(CloseCode.abnormal);
  }

  #usable(): Trunk | undefined {
    for (const trunk of this.#trunks) if (trunk.takesStreams) return trunk;
    return undefined;
  }

  #checkUse(): void {
    if (this.#asked === 0 && this.#trunks.size === 0) this.#unused();
  }

  /** @returns `undefined` if the relay cannot be reached in time, or does not prove that it is the requested one */
  async #connect(): Promise<Trunk | undefined> {
    const socket = await this.#connectTls();
    this.#connecting = undefined;
    if (socket === undefined) return undefined;
    if (this.#isClosed || socket.destroyed) {
      socket.destroy();
      return undefined;
    }
    const trunk: Trunk = hopTrunk(socket, 'dialer', {
      // Only this end begins streams: `Trunk` ends with a protocol error.
      begun: (stream) => stream.destroy(),
      moveAsked: (stream) => stream.destroy(),
      closed: () => {
        clearInterval(timer);
        this.#trunks.delete(trunk);
        this.#checkUse();
      },
    });
    this.#trunks.add(trunk);
    const timer = watch(trunk);
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

/**
 * Closes a trunk that was unused for {@link HOP_IDLE_MS}, and drops one whose peer gives no sign of life in that time, or
 * does not answer the end of a stream.
 *
 * @returns to be cleared when the trunk has ended
 */
function watch(trunk: Trunk): NodeJS.Timeout {
  let words = 0;
  const check = (): void => {
    const isUnused = trunk.size === 0 && trunk.words === words;
    words = trunk.words;
    if (trunk.isSilent) trunk.close(CloseCode.abnormal);
    else if (isUnused) trunk.retire();
    else trunk.probe();
    trunk.expectAnswers();
  };
  return setInterval(check, HOP_IDLE_MS).unref();
}

/** The beginning of a response that accepts. */
const SWITCHING = Buffer.from('HTTP/1.1 101 ');

/** A stream whose data socket another relay has accepted. */
interface AcceptedStream {
  readonly stream: TrunkStream;
  /** Passes everything received so far, and all that follows, to a handler. */
  readonly handOver: (handler: ByteStreamHandler) => void;
}

/** `lost`: the trunk has ended without notice. */
function askOn(trunk: Trunk, request: UpgradeToPass): Promise<AcceptedStream | 'refused' | 'lost'> {
  const stream = trunk.open();
  return new Promise((resolve) => {
    let read: Buffer | undefined;
    let endCode: number | undefined;
    const timer = setTimeout(() => {
      stream.destroy();
      resolve('refused');
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
          return resolve('refused');
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
        resolve(read === undefined && code === CloseCode.abnormal ? 'lost' : 'refused');
      },
    });
    stream.write(writeRequest(request));
  });
}

/** A data socket on the relay where it arrived: its bytes are passed on unchanged. */
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
    this.#end(() => this.#stream.destroy());
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
