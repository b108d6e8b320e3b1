/** The control socket of a tunnel's client (protocol.md section 5). */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import {
  CloseCode,
  connectionMessage,
  drainMessage,
  knockMessage,
  type KnockMessage,
  PING_INTERVAL_MS,
  PONG_TIMEOUT_MS,
  problemMessage,
  type RelayProblem,
} from '../../shared/control.ts';
import { PingLimit } from '../../shared/websocket/byte-stream.ts';

/**
 * @limit Maximum size of the announcements queued for a client that is not reading them; about ten thousand
 * announcements.
 */
export const CONTROL_BUFFER_MAX_BYTES = 1024 * 1024;
/**
 * @limit How long a client has to answer the Close frame on its control socket. Until then, a tunnel keeps at most one
 * replaced control socket.
 */
const CONTROL_CLOSE_TIMEOUT_MS = 5000;

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

export class ControlSocket {
  readonly key: SocketKey;
  readonly #takesEvents: boolean;
  #wasAskedToMove = false;
  /** waiting approval requests that the client was last told about */
  #knocks: ReadonlySet<string> = new Set();
  readonly #socket: WebSocket;
  readonly #connection: Pick<Duplex, 'cork' | 'uncork'>;
  #corked = false;
  readonly #pings = new PingLimit();
  /** The latest ping that arrived while a pong was in progress. */
  #lastPing: Buffer | undefined;
  #pongUnderWay = false;
  #nextPing: number;
  /** When the oldest unanswered ping was sent. */
  #unanswered: number | undefined;

  /** @param onClose called once, when the connection has ended from either side, with its close code */
  constructor(
    socket: WebSocket,
    { connection, key, now, takesEvents }: ControlSocketOptions,
    onClose: (control: ControlSocket, code: number) => void,
  ) {
    this.#socket = socket;
    this.#connection = connection;
    this.key = key;
    this.#takesEvents = takesEvents;
    this.#nextPing = now + PING_INTERVAL_MS;
    socket.on('error', () => socket.terminate());
    socket.on('pong', () => {
      this.#unanswered = undefined;
    });
    socket.on('ping', (payload: Buffer) => this.#pinged(payload));
    socket.on('close', (code) => onClose(this, code));
  }

  /** Announces a pending inbound connection. */
  announce(id: string): void {
    this.#corkForThisTurn();
    this.#send(() => this.#socket.send(connectionMessage(id)));
  }

  /** Whether the client has been asked to open a control socket on another relay. */
  get wasAskedToMove(): boolean {
    return this.#wasAskedToMove;
  }

  /** Asks the client to open a control socket on another relay, if it accepts such a message. */
  askToMove(): void {
    if (!this.#takesEvents || this.#wasAskedToMove) return;
    this.#wasAskedToMove = true;
    this.#send(() => this.#socket.send(drainMessage()));
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
    for (const knock of waiting)
      if (!told.has(knock.id)) this.#send(() => this.#socket.send(knockMessage(knock)));
  }

  /** Reports a problem of the local service, if the client accepts such a message. */
  tellProblem(problem: RelayProblem): void {
    if (this.#takesEvents) this.#send(() => this.#socket.send(problemMessage(problem)));
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
      this.#socket.terminate();
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
    setTimeout(() => this.#socket.terminate(), CONTROL_CLOSE_TIMEOUT_MS).unref();
  }

  /** Ends the connection without waiting for the client. */
  cut(): void {
    this.#socket.terminate();
  }

  #ping(now: number): void {
    this.#nextPing = now + PING_INTERVAL_MS;
    this.#unanswered ??= now;
    this.#socket.ping();
  }

  #pinged(payload: Buffer): void {
    // Frames received in the same chunk are still read after the end.
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#pings.admits()) {
      // A copy, because the payload is a slice of a larger buffer that would be kept until the answer is sent.
      this.#answerPing(Buffer.alloc(payload.length, payload));
      return;
    }
    this.#socket.close(CloseCode.policyViolation, 'too many pings');
    this.#socket.terminate();
  }

  /**
   * One pong at a time: of the pings that arrive in that time, only the latest is answered (RFC 6455 section 5.5.3).
   */
  #answerPing(payload: Buffer): void {
    if (this.#pongUnderWay) {
      this.#lastPing = payload;
      return;
    }
    this.#lastPing = undefined;
    this.#pongUnderWay = true;
    this.#send(() => this.#socket.pong(payload, false, () => this.#pongSent()));
  }

  #pongSent(): void {
    this.#pongUnderWay = false;
    if (this.#lastPing !== undefined) this.#answerPing(this.#lastPing);
  }

  /** A client that reads nothing counts as gone, and unsent data must not accumulate. */
  #send(send: () => void): void {
    if (this.#socket.bufferedAmount > CONTROL_BUFFER_MAX_BYTES) this.#socket.terminate();
    else send();
  }
}
