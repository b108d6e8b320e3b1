/** The control socket of a tunnel's client (protocol.md section 5). */
import type { Duplex } from 'node:stream';
import {
  CONTROL_FRAGMENTS_MAX,
  CONTROL_MESSAGE_MAX_BYTES,
  connectionMessage,
  drainMessage,
  knockMessage,
  type KnockMessage,
  PING_INTERVAL_MS,
  PONG_TIMEOUT_MS,
  problemMessage,
  type RelayProblem,
} from '../../shared/control.ts';
import type { ByteStreamHandler, WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';

/**
 * Maximum size of the announcements queued for a client that is not reading them; about ten thousand
 * announcements.
 */
export const CONTROL_BUFFER_MAX_BYTES = 1024 * 1024;
/**
 * How long a client has to answer the Close frame on its control socket. Until then, a tunnel keeps at most one
 * replaced control socket.
 */
const CONTROL_CLOSE_TIMEOUT_MS = 5000;

/** How the WebSocket of a control socket differs from that of a data socket. */
export const CONTROL_STREAM = {
  messages: { bytes: CONTROL_MESSAGE_MAX_BYTES, frames: CONTROL_FRAGMENTS_MAX },
  closeTimeoutMs: CONTROL_CLOSE_TIMEOUT_MS,
};

/** The key used to open a socket. */
export interface SocketKey {
  readonly keyId: string;
  /** as stored */
  readonly hash: string;
  /** whether it is an agent's (protocol.md section 2.1) */
  readonly isAgents?: boolean;
}

export interface ControlSocketOptions {
  /** the connection below the WebSocket */
  readonly connection: Pick<Duplex, 'cork' | 'uncork'>;
  readonly key: SocketKey;
  /** monotonic ms */
  readonly now: number;
  /** whether the client accepts messages other than `connection` (protocol.md section 5.1) */
  readonly takesEvents: boolean;
}

/** For control sockets without one: an empty set would also take memory. */
const NO_KNOCKS: ReadonlySet<string> = new Set();

export class ControlSocket implements ByteStreamHandler {
  readonly key: SocketKey;
  readonly #takesEvents: boolean;
  #wasAskedToMove = false;
  /** waiting approval requests that the client was last told about */
  #knocks = NO_KNOCKS;
  readonly #socket: WebSocketByteStream;
  readonly #onClose: (control: ControlSocket, code: number) => void;
  readonly #connection: Pick<Duplex, 'cork' | 'uncork'>;
  #corked = false;
  #nextPing: number;
  /** When the oldest unanswered ping was sent. */
  #unanswered: number | undefined;

  /** @param onClose called once, when the connection has ended from either side, with its close code */
  constructor(
    socket: WebSocketByteStream,
    { connection, key, now, takesEvents }: ControlSocketOptions,
    onClose: (control: ControlSocket, code: number) => void,
  ) {
    this.#socket = socket;
    this.#connection = connection;
    this.key = key;
    this.#takesEvents = takesEvents;
    this.#nextPing = now + PING_INTERVAL_MS;
    this.#onClose = onClose;
    socket.attach(this);
  }

  /** Announces a pending inbound connection. @param peers of a raw one, else empty */
  announce(id: string, peers = ''): void {
    this.#corkForThisTurn();
    this.#send(connectionMessage(id, peers === '' ? undefined : peers));
  }

  /** Whether the client has been asked to open a control socket on another relay. */
  get wasAskedToMove(): boolean {
    return this.#wasAskedToMove;
  }

  /** Asks the client to open a control socket on another relay, if it accepts such a message. */
  askToMove(): void {
    if (!this.#takesEvents || this.#wasAskedToMove) return;
    this.#wasAskedToMove = true;
    this.#send(drainMessage());
  }

  /**
   * Announces approval requests, if the client accepts such a message and does not know them yet.
   *
   * @param waiting all approval requests that wait for an answer
   */
  tellKnocks(waiting: readonly Omit<KnockMessage, 'type'>[]): void {
    if (!this.#takesEvents) return;
    const told = this.#knocks;
    this.#knocks = new Set(waiting.map(({ id }) => id));
    for (const knock of waiting) if (!told.has(knock.id)) this.#send(knockMessage(knock));
  }

  /** Reports a problem of the local service, if the client accepts such a message. */
  tellProblem(problem: RelayProblem): void {
    if (this.#takesEvents) this.#send(problemMessage(problem));
  }

  /**
   * All announcements of one iteration of the event loop are sent in one write: under load, many visitors arrive in
   * each.
   */
  #corkForThisTurn(): void {
    if (this.#corked) return;
    this.#corked = true;
    this.#connection.cork();
    setImmediate(() => {
      this.#corked = false;
      this.#connection.uncork();
    });
  }

  /**
   * Pings when due, and cuts a dead connection. To be called about every second.
   *
   * @param now monotonic ms
   */
  tick(now: number): void {
    if (this.#unanswered !== undefined && now - this.#unanswered >= PONG_TIMEOUT_MS) {
      this.#socket.destroy();
    } else if (now >= this.#nextPing) {
      this.#ping(now);
    }
  }

  /**
   * The client may be gone: pings it now, unless an answer is due anyway. If the client's machine has forgotten the
   * connection, it ends.
   *
   * @param now monotonic ms
   */
  probe(now: number): void {
    if (this.#unanswered === undefined) this.#ping(now);
  }

  /**
   * @param code one of {@link CloseCode}
   * @param reason additional text, up to 123 bytes
   */
  close(code: number, reason?: string): void {
    this.#socket.close(code, reason);
  }

  /** Ends the connection without waiting for the client. */
  cut(): void {
    this.#socket.destroy();
  }

  onStreamPong(): void {
    this.#unanswered = undefined;
  }

  onConnectionClosed(code: number): void {
    this.#onClose(this, code);
  }

  /** Whatever a client sends is ignored. */
  onStreamData(): void {}

  onStreamDrain(): void {}

  onStreamClose(): void {}

  #ping(now: number): void {
    this.#nextPing = now + PING_INTERVAL_MS;
    this.#unanswered ??= now;
    this.#socket.probe();
  }

  /** A client that reads nothing counts as gone, and unsent data must not accumulate. */
  #send(message: string): void {
    if (this.#socket.queuedBytes > CONTROL_BUFFER_MAX_BYTES) this.#socket.destroy();
    else this.#socket.writeText(message);
  }
}
