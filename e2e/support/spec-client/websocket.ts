import { createHash, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { deferred } from '../deferred.ts';
import { type Field, RawConnection, type Response, formatRequest } from '../raw-http.ts';
import type { Scope } from '../scope.ts';
import { type FrameOptions, type FramePiece, FrameParser, Opcode, encodeFrame } from './frames.ts';

/** The server responded to the handshake with something other than 101. */
export class HandshakeRefused extends Error {
  readonly response: Response;

  constructor(response: Response) {
    super(`the handshake was answered with ${response.status}: ${response.text}`);
    this.name = 'HandshakeRefused';
    this.response = response;
  }
}

export interface WebSocketTarget {
  readonly port: number;
  /** `Host` field */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly headers?: readonly Field[];
}

/** How a WebSocket ended: the code of the other end's Close frame, 1005 for one without, 1006 when none came. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** Receives what arrives; a data message comes in pieces, the last one with `last`. */
export interface WebSocketHandler {
  data(bytes: Buffer, kind: 'text' | 'binary', last: boolean): void;
  drain?(): void;
  ping?(): void;
}

/** ms to wait for the other end's half of a close; it may have a slow reader to serve first. */
const CLOSE_TIMEOUT_MS = 10_000;
const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** A WebSocket client (RFC 6455) on a bare TCP connection, without extensions. */
export class WebSocketClient {
  readonly closed: Promise<Closed>;
  /** What the server did against RFC 6455, if anything. */
  violation: Error | undefined;
  /** While true, pings are answered. */
  answersPings = true;
  readonly #socket: Socket;
  readonly #parser = new FrameParser();
  readonly #head: Buffer;
  readonly #settle: (closed: Closed) => void;
  #handler: WebSocketHandler | undefined;
  #message: 'text' | 'binary' = 'binary';
  #received: Closed | undefined;
  #closeSent = false;

  private constructor(socket: Socket, head: Buffer) {
    this.#socket = socket;
    this.#head = head;
    const closed = deferred<Closed>();
    this.closed = closed.promise;
    this.#settle = closed.resolve;
    socket.on('drain', () => this.#handler?.drain?.());
    socket.once('close', () => this.#settle(this.#received ?? { code: 1006, reason: '' }));
  }

  /**
   * Opens a WebSocket (RFC 6455 section 4.1) and checks the server's half of the handshake.
   *
   * @throws HandshakeRefused for any response but 101
   */
  static async open(scope: Scope, target: WebSocketTarget): Promise<WebSocketClient> {
    const key = randomBytes(16).toString('base64');
    const connection = await RawConnection.open(scope, target.port);
    await connection.write(
      formatRequest({
        host: target.host,
        target: target.target,
        headers: [
          ['Upgrade', 'websocket'],
          ['Connection', 'Upgrade'],
          ['Sec-WebSocket-Key', key],
          ['Sec-WebSocket-Version', '13'],
          ...(target.headers ?? []),
        ],
      }),
    );
    const head = await connection.finalHead();
    if (head.status !== 101) throw new HandshakeRefused(await connection.rest(head));
    const accept = createHash('sha1').update(`${key}${WEBSOCKET_GUID}`).digest('base64');
    if (head.field('sec-websocket-accept') !== accept) throw new Error('wrong Sec-WebSocket-Accept');
    if (head.field('upgrade')?.toLowerCase() !== 'websocket')
      throw new Error('the 101 upgrades to something else');
    if (head.field('connection')?.toLowerCase() !== 'upgrade')
      throw new Error('the 101 has no Connection: Upgrade');
    if (head.field('sec-websocket-extensions') !== undefined) throw new Error('an extension nobody offered');
    return new WebSocketClient(connection.socket, connection.reader.detach());
  }

  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  get remotePort(): number | undefined {
    return this.#socket.remotePort;
  }

  /** Bytes of messages, headers included, that are not with the system. */
  get unsent(): number {
    return this.#socket.writableLength;
  }

  /** Starts the flow of data to a handler. */
  attach(handler: WebSocketHandler): void {
    this.#handler = handler;
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#read(this.#head);
    this.#socket.resume();
  }

  /** Sends a whole message; false when the caller should wait for `drain`. */
  send(payload: Buffer, opcode: number = Opcode.binary): boolean {
    return this.sendFrame(payload, { opcode });
  }

  /** Sends one frame of any kind. */
  sendFrame(payload: Buffer, options: FrameOptions): boolean {
    if (this.#socket.destroyed || this.#closeSent) return true;
    const [head, body] = encodeFrame(payload, options);
    this.#socket.cork();
    this.#socket.write(head);
    const more = this.#socket.write(body);
    this.#socket.uncork();
    return more;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Sends a Close frame after everything else; the TCP connection ends when the other end has agreed, or after 10 s. */
  close(code = 1000): void {
    if (!this.sendClose(code)) return;
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT_MS);
    this.#socket.once('close', () => clearTimeout(timer));
    // What still arrives is not needed, but it must be read to see the other end's Close frame.
    this.#socket.resume();
  }

  /** Sends a Close frame and leaves the TCP connection open; false when one was sent before. */
  sendClose(code: number): boolean {
    if (this.#closeSent) return false;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.sendFrame(payload, { opcode: Opcode.close });
    this.#closeSent = true;
    return true;
  }

  /** Ends the TCP connection without a Close frame, as a process that dies does. */
  drop(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    try {
      for (const piece of this.#parser.push(chunk)) this.#take(piece);
    } catch (error) {
      this.violation = error instanceof Error ? error : new Error(String(error));
      this.#socket.destroy();
    }
  }

  #take(piece: FramePiece): void {
    switch (piece.opcode) {
      case Opcode.text:
      case Opcode.binary:
        this.#message = piece.opcode === Opcode.text ? 'text' : 'binary';
        this.#handler?.data(piece.bytes, this.#message, piece.final && piece.last);
        break;
      case Opcode.continuation:
        this.#handler?.data(piece.bytes, this.#message, piece.final && piece.last);
        break;
      case Opcode.ping:
        if (this.answersPings) this.sendFrame(piece.bytes, { opcode: Opcode.pong });
        this.#handler?.ping?.();
        break;
      case Opcode.pong:
        break;
      case Opcode.close:
        this.#closeReceived(piece.bytes);
        break;
      default:
        throw new Error(`opcode ${piece.opcode}`);
    }
  }

  #closeReceived(payload: Buffer): void {
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
    this.#received = { code, reason: payload.subarray(2).toString() };
    this.#settle(this.#received);
    this.sendClose(code === 1005 ? 1000 : code);
    this.#socket.end();
    this.#socket.resume();
  }
}
