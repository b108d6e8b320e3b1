/** One control WebSocket, from its handshake to its end (spec.md sections 4.6 and 6). */
import type { IncomingMessage } from 'node:http';
import { WebSocket, type RawData } from 'ws';
import { CloseCode, CONTROL_MESSAGE_MAX_BYTES, parseControlMessage } from '../../shared/control.ts';
import type { Clock, Timer } from './clock.ts';
import { describeNetworkError, RelayRefusal } from './errors.ts';
import {
  CONTROL_CLOSE_TIMEOUT_MS,
  CONTROL_HANDSHAKE_TIMEOUT_MS,
  CONTROL_SILENCE_MS,
  REFUSAL_BODY_MAX_BYTES,
} from './limits.ts';
import { readErrorText, readRetryAfter } from './relay-text.ts';

/** How a control connection ended. */
export type ControlEnd =
  /** the relay answered the handshake with an HTTP error */
  | { readonly kind: 'refused'; readonly refusal: RelayRefusal }
  /** the relay closed the socket with a code of {@link CloseCode} */
  | { readonly kind: 'closed'; readonly code: number }
  /** no connection came about, or it was lost; `why` says what happened in a few words */
  | { readonly kind: 'lost'; readonly why: string };

export interface ControlHandler {
  /** @param remoteAddress the IP address at which the relay was reached */
  onOpen(remoteAddress: string | undefined): void;
  /** A visitor waits; `id` opens the data WebSocket. */
  onConnection(id: string): void;
  /** Called once, last, unless {@link ControlConnection.close} was called before. */
  onEnd(end: ControlEnd): void;
}

export class ControlConnection {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  #handler: ControlHandler | undefined;
  #silence: Timer | undefined;
  #why: string | undefined;

  /**
   * @param url as {@link controlUrl} makes it
   * @param key API key
   */
  constructor(url: string, key: string, handler: ControlHandler, clock: Clock) {
    this.#handler = handler;
    this.#clock = clock;
    this.#socket = new WebSocket(url, {
      headers: { authorization: `Bearer ${key}` },
      handshakeTimeout: CONTROL_HANDSHAKE_TIMEOUT_MS,
      maxPayload: CONTROL_MESSAGE_MAX_BYTES,
      perMessageDeflate: false,
    });
    this.#socket.on('error', (error) => (this.#why ??= describeNetworkError(error)));
    this.#socket.on('close', (code) => this.#onClose(code));
    this.#socket.on('unexpected-response', (_request, response) => this.#onRefusal(response));
    this.#socket.on('upgrade', (response) => this.#onUpgrade(response));
    this.#socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary));
    this.#socket.on('ping', () => this.#watchSilence());
  }

  /** Ends the connection; the handler is not called any more. */
  close(): void {
    this.#handler = undefined;
    this.#silence?.cancel();
    if (this.#socket.readyState === WebSocket.CLOSED) return;
    this.#socket.close(CloseCode.normal);
    const timer = this.#clock.setTimeout(() => this.#socket.terminate(), CONTROL_CLOSE_TIMEOUT_MS);
    this.#socket.once('close', () => timer.cancel());
  }

  #onUpgrade(response: IncomingMessage): void {
    const { remoteAddress } = response.socket;
    this.#socket.once('open', () => {
      this.#watchSilence();
      this.#handler?.onOpen(remoteAddress);
    });
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    let message;
    try {
      // `ws` hands messages over as one Buffer unless told otherwise.
      message = isBinary ? undefined : parseControlMessage((data as Buffer).toString());
    } catch {
      this.#lose('it sent a message that is no JSON');
      return;
    }
    if (message !== undefined) this.#handler?.onConnection(message.id);
  }

  /** A network that swallows packets closes nothing: without pings the connection is given up. */
  #watchSilence(): void {
    this.#silence?.cancel();
    this.#silence = this.#clock.setTimeout(
      () => this.#lose('it has been silent for too long'),
      CONTROL_SILENCE_MS,
    );
  }

  #lose(why: string): void {
    this.#why = why;
    this.#socket.terminate();
  }

  #onRefusal(response: IncomingMessage): void {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > REFUSAL_BODY_MAX_BYTES) response.destroy();
      else chunks.push(chunk);
    });
    // Also without a complete body the status has said enough.
    response.once('error', () => {});
    response.once('close', () => {
      const status = response.statusCode ?? 0;
      const text = readErrorText(Buffer.concat(chunks).toString());
      const retryAfter = readRetryAfter(response.headers['retry-after'], this.#clock.now());
      const refusal = new RelayRefusal(status, text ?? `it answered with status ${status}`, retryAfter);
      this.#end({ kind: 'refused', refusal });
      this.#socket.terminate();
    });
  }

  #onClose(code: number): void {
    if (code === CloseCode.abnormal || this.#why !== undefined) {
      this.#end({ kind: 'lost', why: this.#why ?? 'it broke off' });
    } else {
      this.#end({ kind: 'closed', code });
    }
  }

  #end(end: ControlEnd): void {
    const handler = this.#handler;
    this.#handler = undefined;
    this.#silence?.cancel();
    handler?.onEnd(end);
  }
}
