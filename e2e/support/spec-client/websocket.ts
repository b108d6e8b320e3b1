import { createHash, randomBytes, randomFillSync } from 'node:crypto';
import type { Socket } from 'node:net';
import { type Field, formatRequest, RawConnection, type Response } from '../raw-http.ts';
import type { Scope } from '../scope.ts';

/** The server responded to the handshake with something other than 101. */
export class HandshakeRefused extends Error {
  readonly response: Response;

  constructor(response: Response) {
    super(`the handshake was answered with ${response.status}: ${response.text}`);
    this.name = 'HandshakeRefused';
    this.response = response;
  }
}

interface WebSocketTarget {
  readonly port: number;
  /** `Host` field */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly headers?: readonly Field[];
}

/** How a WebSocket ended: the code of the other end's Close frame, 1005 if it had none, 1006 without a Close frame. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** Receives what arrives. A data message arrives in pieces, the last one with `last`. */
interface WebSocketHandler {
  data(bytes: Buffer, kind: 'text' | 'binary', last: boolean): void;
  drain?(): void;
  ping?(): void;
}

/** ms to wait for the other end's half of a close. It may have a slow reader to serve first. */
const CLOSE_TIMEOUT_MS = 10_000;
const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** A WebSocket client (RFC 6455) on a bare TCP connection, without extensions. */
export class WebSocketClient {
  readonly closed: Promise<Closed>;
  /** The first violation of RFC 6455 by the server. */
  violation: Error | undefined;
  /** Whether pings are answered. */
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
    const closed = Promise.withResolvers<Closed>();
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

  /** Bytes of messages, including headers, that have not been handed to the system. */
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

  /**
   * Sends a Close frame after everything else. The TCP connection ends when the other end has agreed, or after 10 s.
   */
  close(code = 1000): void {
    if (!this.sendClose(code)) return;
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT_MS);
    this.#socket.once('close', () => clearTimeout(timer));
    // What still arrives is not needed, but must be read to see the other end's Close frame.
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

/** WebSocket opcodes (RFC 6455 section 5.2). */
export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

interface FrameOptions {
  readonly opcode: number;
  /** Last frame of its message; true by default. */
  readonly final?: boolean;
  /** Clients must mask; false only to see how the server reacts. */
  readonly masked?: boolean;
}

/** The bytes of a frame from a client (RFC 6455 section 5.2), head and payload. */
function encodeFrame(payload: Buffer, options: FrameOptions): [head: Buffer, payload: Buffer] {
  const { opcode, final = true, masked = true } = options;
  const lengthBytes = payload.length < 126 ? 0 : payload.length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + lengthBytes + (masked ? 4 : 0));
  head[0] = (final ? 0x80 : 0) | opcode;
  const lengthCode = lengthBytes === 0 ? payload.length : lengthBytes === 2 ? 126 : 127;
  head[1] = (masked ? 0x80 : 0) | lengthCode;
  if (lengthBytes === 2) head.writeUInt16BE(payload.length, 2);
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(payload.length), 2);
  if (!masked) return [head, payload];
  const key = head.subarray(2 + lengthBytes);
  randomFillSync(key);
  return [head, mask(payload, key)];
}

/** Masks a copy of the payload, by words of 32 bits because downloads of 1 GiB pass through here. */
function mask(payload: Buffer, key: Buffer): Buffer {
  const words = new Uint32Array(Math.ceil(payload.length / 4));
  const bytes = Buffer.from(words.buffer);
  payload.copy(bytes);
  const word = new Uint32Array(new Uint8Array(key).buffer)[0] ?? 0;
  for (let i = 0; i < words.length; i += 1) words[i] = (words[i] ?? 0) ^ word;
  return bytes.subarray(0, payload.length);
}

/** A piece of a frame as it arrived; `last` when it completes the frame. */
interface FramePiece {
  readonly opcode: number;
  /** Last frame of its message. */
  readonly final: boolean;
  readonly bytes: Buffer;
  readonly last: boolean;
}

/** Parses a server's frames. Control frames are returned whole, data in the pieces in which it arrives. */
class FrameParser {
  #pending: Buffer = Buffer.alloc(0);
  #frame: { opcode: number; final: boolean; missing: number } | undefined;

  /** @throws Error for anything that a server must not send (RFC 6455 sections 5.1, 5.2 and 5.5) */
  *push(chunk: Buffer): Generator<FramePiece> {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    for (;;) {
      this.#frame ??= this.#head();
      if (this.#frame === undefined) return;
      const { opcode, final, missing } = this.#frame;
      const isControl = opcode >= Opcode.close;
      if (missing > this.#pending.length && (isControl || this.#pending.length === 0)) return;
      const bytes = this.#pending.subarray(0, missing);
      this.#pending = this.#pending.subarray(bytes.length);
      this.#frame.missing -= bytes.length;
      const last = this.#frame.missing === 0;
      if (last) this.#frame = undefined;
      yield { opcode, final, bytes, last };
    }
  }

  #head(): { opcode: number; final: boolean; missing: number } | undefined {
    const [first, second] = this.#pending;
    if (first === undefined || second === undefined) return undefined;
    if ((first & 0x70) !== 0) throw new Error('a reserved bit is set');
    if ((second & 0x80) !== 0) throw new Error('the server masked a frame');
    const opcode = first & 0x0f;
    const final = (first & 0x80) !== 0;
    const code = second & 0x7f;
    if (opcode >= Opcode.close && (!final || code > 125))
      throw new Error('a control frame is fragmented or long');
    const lengthBytes = code === 126 ? 2 : code === 127 ? 8 : 0;
    if (this.#pending.length < 2 + lengthBytes) return undefined;
    const missing =
      code === 126
        ? this.#pending.readUInt16BE(2)
        : code === 127
          ? Number(this.#pending.readBigUInt64BE(2))
          : code;
    this.#pending = this.#pending.subarray(2 + lengthBytes);
    return { opcode, final, missing };
  }
}
