/** The control WebSocket of a tunnel's client (docs/protocol.md section 5). */
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
} from '../../shared/control.ts';
import { PingLimit } from '../../shared/websocket/ping-limit.ts';
import { CONTROL_BUFFER_MAX_BYTES, CONTROL_CLOSE_TIMEOUT_MS } from '../limits.ts';

/** The key that a socket was opened with. */
export interface SocketKey {
  readonly keyId: string;
  /** as it is stored */
  readonly hash: string;
}

export interface ControlSocketOptions {
  /** the connection below the WebSocket */
  readonly connection: Pick<Duplex, 'cork' | 'uncork'>;
  readonly key: SocketKey;
  /** monotonic ms */
  readonly now: number;
  /** whether the client takes other messages than `connection` (docs/protocol.md section 5.1) */
  readonly takesEvents: boolean;
}

export class ControlSocket {
  readonly key: SocketKey;
  readonly #takesEvents: boolean;
  #wasAskedToMove = false;
  /** those who waited when the client was told last */
  #knocks: ReadonlySet<string> = new Set();
  readonly #socket: WebSocket;
  readonly #connection: Pick<Duplex, 'cork' | 'uncork'>;
  #corked = false;
  readonly #pings = new PingLimit();
  /** The latest ping that came while a pong was on its way. */
  #lastPing: Buffer | undefined;
  #pongUnderWay = false;
  #nextPing: number;
  /** When the oldest ping without a pong was sent. */
  #unanswered: number | undefined;

  /** @param onClose told once, when the connection has ended from either side, with its close code */
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

  /** Whether the client has been asked for a control socket on another relay. */
  get wasAskedToMove(): boolean {
    return this.#wasAskedToMove;
  }

  /** Asks for a control socket on another relay, if the client takes such a message. */
  askToMove(): void {
    if (!this.#takesEvents || this.#wasAskedToMove) return;
    this.#wasAskedToMove = true;
    this.#send(() => this.#socket.send(drainMessage()));
  }

  /**
   * Says who knocks, if the client takes such a message and has not been told.
   *
   * @param waiting all who wait for an answer
   */
  tellKnocks(waiting: readonly Omit<KnockMessage, 'type'>[]): void {
    if (!this.#takesEvents) return;
    const told = this.#knocks;
    this.#knocks = new Set(waiting.map(({ id }) => id));
    for (const knock of waiting)
      if (!told.has(knock.id)) this.#send(() => this.#socket.send(knockMessage(knock)));
  }

  /** What is announced in one turn of the event loop leaves in one write: under load many visitors come in each. */
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
   * Pings when it is time, and cuts a connection that is dead. To be called about every second.
   *
   * @param now monotonic ms
   */
  tick(now: number): void {
    if (this.#unanswered !== undefined && now - this.#unanswered >= PONG_TIMEOUT_MS) {
      this.#socket.terminate();
    } else if (now >= this.#nextPing) {
      this.#nextPing = now + PING_INTERVAL_MS;
      this.#unanswered ??= now;
      this.#socket.ping();
    }
  }

  /**
   * @param code one of {@link CloseCode}
   * @param reason what else there is to say, up to 123 bytes
   */
  close(code: number, reason?: string): void {
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), CONTROL_CLOSE_TIMEOUT_MS).unref();
  }

  /** Ends the connection without waiting for the client. */
  cut(): void {
    this.#socket.terminate();
  }

  #pinged(payload: Buffer): void {
    // What has come with it is still read after the end.
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#pings.admits()) {
      // A copy of its own: what came with it is not to stay for as long as its answer waits.
      this.#answerPing(Buffer.alloc(payload.length, payload));
      return;
    }
    this.#socket.close(CloseCode.policyViolation, 'too many pings');
    this.#socket.terminate();
  }

  /** One pong at a time: of the pings that come meanwhile only the latest is to be answered (RFC 6455 section 5.5.3). */
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

  /** A client that reads nothing is as good as gone, and what it is sent must not pile up. */
  #send(send: () => void): void {
    if (this.#socket.bufferedAmount > CONTROL_BUFFER_MAX_BYTES) this.#socket.terminate();
    else send();
  }
}
