/** One HTTP/2 connection (RFC 9113): each of its streams becomes a visitor of its own. */
import { performServerHandshake, type ServerHttp2Session } from 'node:http2';
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import {
  DRAIN_IDLE_MS,
  HTTP2_CONNECTION_WINDOW_BYTES,
  HTTP2_FIELDS_MAX,
  HTTP2_HEAD_MAX_BYTES,
  HTTP2_PIECE_MAX_BYTES,
  HTTP2_PIECE_MIN_BYTES,
  HTTP2_PIECES_MAX_BYTES,
  HTTP2_RESETS_BURST,
  HTTP2_RESETS_PER_SECOND,
  HTTP2_STREAM_WINDOW_BYTES,
  HTTP2_STREAMS_MAX,
  IDLE_TIMEOUT_MS,
  LINGER_TIMEOUT_MS,
} from '../../limits.ts';
import type { AddressCount, LimitedConnection, Slot, SlotHolder } from '../connection-limiter.ts';
import type { VisitorConnection } from '../visitor-socket.ts';
import { NO_ERROR, type StreamFlow, StreamConnection } from './stream-connection.ts';

/** A flag of frames (RFC 9113 section 6.2). */
const END_STREAM = 1;
/** In a first GOAWAY: streams that are on their way are still served (RFC 9113 section 6.8). */
const EVERY_STREAM = 2 ** 31 - 1;

interface Http2Options {
  /** Monotonic ms, as coarse as the deadlines permit. */
  readonly now: () => number;
  /** its slot among the relay's connections while it has no stream: each stream has its own */
  readonly slot: (holder: SlotHolder) => Slot;
  readonly address: (connection: LimitedConnection) => AddressCount;
  /** called when the visitor has opened a stream with a request */
  readonly onStream: (stream: VisitorConnection) => void;
  /** called once, when the connection is closed */
  readonly onClosed: () => void;
}

export class Http2Connection implements SlotHolder, LimitedConnection, StreamFlow {
  readonly #socket: TLSSocket;
  readonly #session: ServerHttp2Session;
  readonly #now: () => number;
  readonly #slot: Slot;
  readonly #address: AddressCount;
  #streams = 0;
  /** Monotonic ms at which the connection is closed if it has no stream by then. */
  #deadline: number;
  #isDraining = false;
  #isWide = false;
  #isClosing = false;

  /** @param socket whose handshake has chosen `h2` */
  constructor(socket: TLSSocket, { now, slot, address, onStream, onClosed }: Http2Options) {
    this.#socket = socket;
    this.#now = now;
    this.#deadline = now() + IDLE_TIMEOUT_MS;
    this.#slot = slot(this);
    this.#address = address(this);
    const session = performServerHandshake(socket, OPTIONS);
    this.#session = session;
    session.setLocalWindowSize(HTTP2_CONNECTION_WINDOW_BYTES);
    session.on('error', () => session.destroy());
    session.on('stream', (stream, _headers, flags, fields) => {
      const isComplete = (flags & END_STREAM) !== 0;
      this.#opened();
      const connection = new StreamConnection(stream, fields, isComplete, this);
      onStream(connection);
      connection.begin();
    });
    // Node may neither close a session that is destroyed during a write, nor its socket.
    socket.once('close', () => {
      this.#slot.leave();
      this.#address.leave();
      onClosed();
    });
  }

  /** What its address is counted by. */
  get address(): AddressCount {
    return this.#address;
  }

  get pieceMax(): number {
    const share = HTTP2_PIECES_MAX_BYTES / this.#streams;
    return Math.max(HTTP2_PIECE_MIN_BYTES, Math.min(HTTP2_PIECE_MAX_BYTES, share));
  }

  widen(): void {
    if (this.#isWide || this.#session.destroyed) return;
    this.#isWide = true;
    this.#session.settings({ initialWindowSize: HTTP2_CONNECTION_WINDOW_BYTES });
  }

  #opened(): void {
    this.#streams += 1;
    if (this.#streams > 1) return;
    this.#slot.leave();
    this.#address.busy();
  }

  closed(): void {
    this.#streams -= 1;
    if (this.#streams > 0 || this.#session.destroyed) return;
    this.#slot.park();
    this.#address.end();
    this.#deadline = this.#now() + (this.#isDraining ? 0 : IDLE_TIMEOUT_MS);
  }

  /** Closes the connection if it is past its time limit. To be called every {@link DEADLINE_TICK_MS}. */
  tick(now: number): void {
    if (now < this.#deadline || (this.#streams > 0 && !this.#isDraining)) return;
    if (!this.#isClosing) return this.#close();
    if (this.#streams === 0) this.destroy();
  }

  /** Lets its streams end, and asks the visitor to open new ones elsewhere (RFC 9113 section 6.8). */
  drain(): void {
    if (this.#isDraining || this.#session.destroyed) return;
    this.#isDraining = true;
    this.#session.goaway(NO_ERROR, EVERY_STREAM);
    this.#deadline = this.#now() + DRAIN_IDLE_MS;
  }

  get isWaiting(): boolean {
    return this.#streams === 0;
  }

  giveWay(): void {
    if (this.#streams === 0) this.#close();
  }

  destroy(): void {
    this.#session.destroy();
    this.#socket.destroy();
  }

  #close(): void {
    this.#isClosing = true;
    this.#deadline = this.#now() + LINGER_TIMEOUT_MS;
    this.#session.close();
  }
}

const OPTIONS = {
  settings: {
    maxConcurrentStreams: HTTP2_STREAMS_MAX,
    initialWindowSize: HTTP2_STREAM_WINDOW_BYTES,
    maxHeaderListSize: HTTP2_HEAD_MAX_BYTES,
  },
  // Beyond these, Node itself resets the stream, and the relay could not respond with 431.
  maxHeaderListPairs: HTTP2_FIELDS_MAX,
  maxSessionInvalidFrames: 100,
  streamResetBurst: HTTP2_RESETS_BURST,
  streamResetRate: HTTP2_RESETS_PER_SECOND,
};

/*
 * Which hosts a connection's certificate is valid for: requests for others are misdirected (RFC 9110 section 15.5.20).
 */

/** Number of hosts that are remembered for a connection: a page loads from few. */
const REMEMBERED_MAX = 100;

/**
 * @param socket after its handshake
 * @returns whether requests for a host may come over this connection: that which the visitor named in its handshake, and
 *   what the certificate is valid for. `host` is in lower case, without a port
 */
export function coverageOf(socket: TLSSocket): (host: string) => boolean {
  const named = typeof socket.servername === 'string' ? socket.servername.toLowerCase() : '';
  const certificate = socket.getX509Certificate();
  const known = new Map<string, boolean>();
  return (host) => {
    if (host === named) return true;
    const before = known.get(host);
    if (before !== undefined) return before;
    // Nobody names an IP address in a handshake (RFC 6066 section 3).
    const covers = isAddress(host) ? named === '' : certificate?.checkHost(host) !== undefined;
    if (known.size < REMEMBERED_MAX) known.set(host, covers);
    return covers;
  };
}

function isAddress(host: string): boolean {
  return isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0;
}
