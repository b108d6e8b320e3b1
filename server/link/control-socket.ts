/** The control WebSocket of a tunnel's client (spec.md sections 4.6 and 6). */
import type { WebSocket } from 'ws';
import { connectionMessage, PING_INTERVAL_MS, PONG_TIMEOUT_MS } from '../../shared/control.ts';
import { CONTROL_BUFFER_MAX_BYTES, CONTROL_CLOSE_TIMEOUT_MS } from '../limits.ts';

export class ControlSocket {
  /** id of the key it was opened with */
  readonly keyId: string;
  readonly #socket: WebSocket;
  #nextPing: number;
  /** When the oldest ping without a pong was sent. */
  #unanswered: number | undefined;

  /**
   * @param keyId id of the key it was opened with
   * @param now monotonic ms
   * @param onClose told once, when the connection has ended from either side, with its close code
   */
  constructor(
    socket: WebSocket,
    keyId: string,
    now: number,
    onClose: (control: ControlSocket, code: number) => void,
  ) {
    this.#socket = socket;
    this.keyId = keyId;
    this.#nextPing = now + PING_INTERVAL_MS;
    socket.on('error', () => socket.terminate());
    socket.on('pong', () => {
      this.#unanswered = undefined;
    });
    socket.on('ping', (payload: Buffer) => this.#send(() => socket.pong(payload)));
    socket.on('close', (code) => onClose(this, code));
  }

  /** Announces a pending inbound connection. */
  announce(id: string): void {
    this.#send(() => this.#socket.send(connectionMessage(id)));
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

  /** @param code one of {@link CloseCode} */
  close(code: number): void {
    this.#socket.close(code);
    setTimeout(() => this.#socket.terminate(), CONTROL_CLOSE_TIMEOUT_MS).unref();
  }

  /** Ends the connection without waiting for the client. */
  cut(): void {
    this.#socket.terminate();
  }

  /** A client that reads nothing is as good as gone, and what it is sent must not pile up. */
  #send(send: () => void): void {
    if (this.#socket.bufferedAmount > CONTROL_BUFFER_MAX_BYTES) this.#socket.terminate();
    else send();
  }
}
