/** One control socket, from its handshake to its end (protocol.md section 5). */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type RawData, WebSocket } from 'ws';
import {
  CloseCode,
  CONTROL_MESSAGE_MAX_BYTES,
  type KnockMessage,
  parseControlMessage,
  type RelayProblem,
  PING_INTERVAL_MS,
} from '../../../shared/control.ts';
import { replaceUnprintable } from '../../../shared/unprintable.ts';
import type { Clock, Timer } from '../clock.ts';
import { MessageError, toMessage, type MessageValue } from '../messages.ts';
import {
  type Attempt,
  describeNetworkError,
  dialAgain,
  isOffline,
  type OpenHandler,
} from '../network/dial.ts';
import type { Network } from '../network/network.ts';
import { readRefusal, type RelayRefusal } from '../relay/errors.ts';
import { controlUrl, type RelayAddress } from '../relay/relay-address.ts';

/**
 * Maximum time to open the control socket: long enough for DNS, TCP and TLS over a bad network, short enough to
 * try again soon.
 */
const CONTROL_HANDSHAKE_TIMEOUT_MS = 10_000;
/**
 * How long the control socket may be silent before the client considers it dead: the relay pings every 30 s, so
 * this is two missed pings and a margin.
 */
const CONTROL_SILENCE_MS = 2 * PING_INTERVAL_MS + 15_000;
/** Milliseconds between two pings on the control socket while a tunnel has visitors, who would soon notice a dead line. */
const CONTROL_PING_BUSY_MS = 5000;
/**
 * Milliseconds between two pings on the control socket of a tunnel without visitors. A relay may have thousands of such
 * tunnels.
 */
const CONTROL_PING_IDLE_MS = 15_000;
/**
 * How long the relay may take to answer a ping on the control socket before the client opens a second control
 * socket. TCP repairs a single loss in less time, even over a satellite.
 */
const CONTROL_ANSWER_MS = 3000;
/** How long the relay may take to answer a Close frame before the client closes the socket anyway. */
const CONTROL_CLOSE_TIMEOUT_MS = 1000;
/** Maximum size of the body that the relay sends when it refuses an upgrade, which holds one line of JSON. */
const REFUSAL_BODY_MAX_BYTES = 4096;

/** How a control connection ended. */
export type ControlEnd =
  /** the relay answered the handshake with an HTTP error */
  | { readonly kind: 'refused'; readonly refusal: RelayRefusal }
  /** the relay closed the socket with a code of {@link CloseCode} and this reason, possibly `''` */
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  /** no connection was made, or it was lost; `why` describes it in a few words */
  | {
      readonly kind: 'lost';
      readonly why: MessageValue;
      /** nothing left this machine */ readonly isOffline?: boolean;
      /** nothing came back, which shows nothing about the relay, or about another connection to it */
      readonly isSilent?: boolean;
    };

export interface ControlHandler {
  /** @param remoteAddress the IP address at which the relay was reached */
  onOpen(remoteAddress: string | undefined): void;
  /** A visitor waits; `id` opens the data socket. */
  onConnection(id: string, peers?: string): void;
  /** The relay is shutting down, and asks the client to open another connection while this one lasts. */
  onDrain(): void;
  /** A visitor asks the owner for approval. */
  onKnock(knock: KnockMessage): void;
  /** The relay has found a problem with the local service. */
  onProblem(problem: RelayProblem): void;
  /** The relay has not answered a ping for {@link CONTROL_ANSWER_MS}; called again at times while nothing arrives. */
  onSilent(): void;
  /** Something has arrived from the relay. */
  onHeard(): void;
  /** Called once, as the last callback, unless {@link ControlConnection.close} was called before. */
  onEnd(end: ControlEnd): void;
}

interface ControlOptions {
  readonly relay: RelayAddress;
  /** API key */
  readonly key: string;
  readonly tunnelId: string;
  readonly network: Network;
  readonly clock: Clock;
  /** from 0 up to 1, as `Math.random` */
  readonly random: () => number;
  /** an IP address where the relay has answered: its name may not resolve while the line is cut */
  readonly address?: string | undefined;
  /**
   * Whether the line was cut: routers and proxies may then accept connections and swallow what is sent, so a try that
   * hangs does not hold up the next one. Otherwise, one that hangs means a busy relay, which gets no more handshakes.
   */
  readonly isCut?: boolean;
  /** Whether the tunnel has visitors, or had some a moment ago: the relay is then pinged more often. */
  readonly isBusy: () => boolean;
}

export class ControlConnection {
  readonly #options: ControlOptions;
  #handler: ControlHandler | undefined;
  /** while connecting to the relay */
  #attempt: Attempt | undefined;
  #socket: WebSocket | undefined;
  /** how many handshakes were begun */
  #handshakes = 0;
  /** limits the time to open, then the time to the next ping */
  #deadline: Timer;
  /** until the next ping may be due */
  #pingTimer: Timer | undefined;
  /** limits the time to the answer to a ping */
  #answerTimer: Timer | undefined;
  /** how often a ping might have been sent since the last one */
  #skipped = 0;
  #isSilent = false;
  #why: MessageValue | undefined;

  /** Opens a connection within {@link CONTROL_HANDSHAKE_TIMEOUT_MS}. */
  constructor(options: ControlOptions, handler: ControlHandler) {
    this.#options = options;
    this.#handler = handler;
    const { address, clock, random } = options;
    this.#deadline = clock.setTimeout(
      () => this.#lose(toMessage('network.silent'), true),
      CONTROL_HANDSHAKE_TIMEOUT_MS,
    );
    this.#attempt = dialAgain<Opened>(
      {
        clock,
        random,
        // The name first and now and then, because it may mean another relay by now.
        open: (index, opening) =>
          new Handshake(this.#options, index % 3 === 0 ? undefined : address, {
            ...opening,
            begun: () => void (this.#handshakes += 1),
          }),
      },
      {
        connected: (opened) => this.#onOpen(opened),
        failed: (error) =>
          this.#end(
            error instanceof Refused
              ? { kind: 'refused', refusal: error.refusal }
              : { kind: 'lost', why: describeNetworkError(error), isOffline: isOffline(error) },
          ),
      },
    );
  }

  /**
   * Whether the relay may have accepted it: the request was sent. The relay may then replace an earlier control socket,
   * although this one has not opened, or is closed.
   */
  get mayHaveArrived(): boolean {
    return this.#handshakes > 0;
  }

  /** How many more handshakes of it, which were dropped, the relay may have accepted or still accept. */
  get strays(): number {
    return Math.max(0, this.#handshakes - 1);
  }

  /** Asks the relay for a sign of life, unless it owes one already. */
  probe(): void {
    const { clock } = this.#options;
    if (this.#socket?.readyState !== WebSocket.OPEN || this.#handler === undefined) return;
    if (this.#isSilent || this.#answerTimer !== undefined) return;
    this.#skipped = 0;
    this.#socket.ping();
    this.#answerTimer = clock.setTimeout(() => {
      this.#answerTimer = undefined;
      this.#isSilent = true;
      this.#handler?.onSilent();
    }, CONTROL_ANSWER_MS);
  }

  /** Ends the connection. The handler is no longer called. */
  close(): void {
    this.#handler = undefined;
    this.#stopTimers();
    const socket = this.#socket;
    if (socket === undefined) return this.#attempt?.cancel();
    if (socket.readyState === WebSocket.CLOSED) return;
    socket.close(CloseCode.normal);
    const timer = this.#options.clock.setTimeout(() => socket.terminate(), CONTROL_CLOSE_TIMEOUT_MS);
    socket.once('close', () => timer.cancel());
  }

  #onOpen({ socket, address }: Opened): void {
    this.#attempt = undefined;
    this.#socket = socket;
    socket.on('error', (error) => (this.#why ??= describeNetworkError(error)));
    socket.on('close', (code, reason: Buffer) => this.#onClose(code, reason.toString()));
    socket.on('message', (data, isBinary) => {
      this.#heard();
      this.#onMessage(data, isBinary);
    });
    socket.on('ping', () => this.#heard());
    socket.on('pong', () => this.#heard());
    this.#watchSilence();
    this.#schedulePing();
    this.#handler?.onOpen(address);
  }

  #heard(): void {
    this.#isSilent = false;
    this.#answerTimer?.cancel();
    this.#answerTimer = undefined;
    this.#watchSilence();
    this.#handler?.onHeard();
  }

  #schedulePing(): void {
    const { clock, isBusy } = this.#options;
    if (this.#handler === undefined) return;
    this.#pingTimer = clock.setTimeout(() => {
      this.#skipped += 1;
      // Another ping would only wait behind the unanswered one.
      if (this.#isSilent) this.#handler?.onSilent();
      else if (isBusy() || this.#skipped >= CONTROL_PING_IDLE_MS / CONTROL_PING_BUSY_MS) this.probe();
      this.#schedulePing();
    }, CONTROL_PING_BUSY_MS);
  }

  #stopTimers(): void {
    this.#deadline.cancel();
    this.#pingTimer?.cancel();
    this.#answerTimer?.cancel();
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    let message;
    try {
      // `ws` passes each message as one Buffer by default.
      message = isBinary ? undefined : parseControlMessage((data as Buffer).toString());
    } catch {
      this.#lose(toMessage('network.noJson'));
      return;
    }
    switch (message?.type) {
      case undefined:
        return;
      case 'connection':
        return this.#handler?.onConnection(message.id, message.peers);
      case 'drain':
        return this.#handler?.onDrain();
      case 'knock':
        return this.#handler?.onKnock(message);
      case 'problem':
        return this.#handler?.onProblem(message);
    }
  }

  /** Gives up when nothing arrives, because a network that swallows packets never closes a connection. */
  #watchSilence(): void {
    this.#deadline.cancel();
    // A closed connection needs no timeout.
    if (this.#handler === undefined) return;
    this.#deadline = this.#options.clock.setTimeout(
      () => this.#lose(toMessage('network.tooSilent')),
      CONTROL_SILENCE_MS,
    );
  }

  #lose(why: MessageValue, isSilent = false): void {
    this.#why = why;
    this.#attempt?.cancel();
    this.#socket?.terminate();
    this.#end({ kind: 'lost', why, ...(isSilent ? { isSilent } : {}) });
  }

  #onClose(code: number, reason: string): void {
    if (code === CloseCode.abnormal || this.#why !== undefined) {
      this.#end({ kind: 'lost', why: this.#why ?? toMessage('network.brokeOff') });
    } else {
      this.#end({ kind: 'closed', code, reason: replaceUnprintable(reason, ' ') });
    }
  }

  #end(end: ControlEnd): void {
    const handler = this.#handler;
    this.#handler = undefined;
    this.#stopTimers();
    handler?.onEnd(end);
  }
}

/* One try: a connection, and the handshake on it. */

interface Opened {
  readonly socket: WebSocket;
  /** the IP address at which the relay was reached */
  readonly address: string | undefined;
}

/** The relay answered the handshake with an HTTP error. */
class Refused extends Error {
  readonly refusal: RelayRefusal;

  constructor(refusal: RelayRefusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

interface HandshakeHandler extends OpenHandler<Opened> {
  /** The request is sent, which the relay may accept whatever happens here. */
  begun(): void;
}

class Handshake implements Attempt {
  readonly #options: ControlOptions;
  #handler: HandshakeHandler | undefined;
  #dial: Attempt | undefined;
  #socket: WebSocket | undefined;

  constructor(options: ControlOptions, address: string | undefined, handler: HandshakeHandler) {
    this.#options = options;
    this.#handler = handler;
    const { network, relay, isCut = false } = options;
    this.#dial = network.connect(
      relay,
      { address },
      {
        connected: (socket) => this.#begin(socket),
        failed: (error) => this.#take()?.failed(error),
        reached: () => {
          if (!isCut) this.#handler?.reached?.();
        },
      },
    );
  }

  cancel(): void {
    this.#take();
    this.#dial?.cancel();
    this.#socket?.terminate();
  }

  #begin(connected: Socket): void {
    const { relay, tunnelId, key, isCut = false } = this.#options;
    this.#dial = undefined;
    // Only a relay can have secured the connection, so nothing in between swallows what is sent.
    if (relay.secure || !isCut) this.#handler?.reached?.();
    const socket = new WebSocket(controlUrl(relay, tunnelId), {
      createConnection: () => connected,
      headers: { authorization: `Bearer ${key}` },
      maxPayload: CONTROL_MESSAGE_MAX_BYTES,
      perMessageDeflate: false,
    });
    this.#socket = socket;
    this.#handler?.begun();
    socket.on('error', (error) => this.#take()?.failed(error));
    socket.on('close', () => this.#take()?.failed(new MessageError(toMessage('network.brokeOff'))));
    socket.on('unexpected-response', (_request, response) => this.#onRefusal(socket, response));
    socket.once('open', () => this.#take()?.connected({ socket, address: connected.remoteAddress }));
  }

  #onRefusal(socket: WebSocket, response: IncomingMessage): void {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > REFUSAL_BODY_MAX_BYTES) response.destroy();
      else chunks.push(chunk);
    });
    // The status is enough even without a complete body.
    response.once('error', () => {});
    response.once('close', () => {
      const { statusCode = 0, headers } = response;
      const body = Buffer.concat(chunks).toString();
      this.#take()?.failed(new Refused(readRefusal(statusCode, headers, body, this.#options.clock.now())));
      socket.terminate();
    });
  }

  #take(): HandshakeHandler | undefined {
    const handler = this.#handler;
    this.#handler = undefined;
    return handler;
  }
}
