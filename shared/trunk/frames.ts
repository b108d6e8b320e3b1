/**
 * Frames of a trunk (protocol.md section 10.2): nine bytes of header with a type, a stream and a value. DATA, MOVE
 * and some OPEN are followed by as many bytes as the value says. Numbers are big-endian.
 */
import { CloseCode, isSendableCode, PEERS_MAX_LENGTH } from '../control.ts';

export const FrameType = {
  /**
   * The relay begins a stream. The value is 0, or for a raw connection the number of bytes of {@link FrameHandler.onOpen}'s
   * `peers` that follow.
   */
  open: 0,
  /** Data of a stream; the value is the number of bytes that follow, 1 to {@link DATA_MAX_BYTES}. */
  data: 1,
  /** The sender has sent all data of the stream, and accepts nothing further; the value is 0. */
  end: 2,
  /** The stream is broken; the value is a close code. */
  abort: 3,
  /** The sender accepts that many more bytes of the stream, 1 to {@link WINDOW_MAX_BYTES}. */
  window: 4,
  /**
   * The relay asks the client to continue over a data socket; the value is the number of bytes of its id that follow.
   */
  move: 5,
  /**
   * The sender has sent all its data of the stream on the trunk, and continues over the data socket; the value is 0.
   */
  moved: 6,
  /** The sender has sent all data of the stream, and still accepts data; the value is 0. */
  eof: 7,
} as const;
export type FrameType = (typeof FrameType)[keyof typeof FrameType];

export const FRAME_HEADER_BYTES = 9;
/**
 * Maximum number of bytes of a trunk stream that may be in transit in each direction at first, and again after
 * its reader has fallen behind.
 */
export const WINDOW_BYTES = 64 * 1024;
/**
 * Bytes of a trunk stream that may be in transit in each direction while its reader keeps up: enough for
 * 20 Mbit/s at a round-trip time of 100 ms.
 */
export const WINDOW_MAX_BYTES = 256 * 1024;
/**
 * Amount of an ended stream's remaining data that the peer has to read within each timeout. Otherwise it could
 * keep the rest in memory indefinitely with a byte now and then.
 */
export const FLUSH_STEP_BYTES = 16 * 1024;
/** Maximum payload of a DATA frame on a trunk. */
export const DATA_MAX_BYTES = 64 * 1024;
/** Maximum number of characters in a data socket's id; current relays use 36. */
const CONNECTION_ID_MAX = 64;
/** The last id. A trunk that has used it accepts no new streams. */
export const LAST_STREAM_ID = 0xffff_ffff;

export interface FrameHandler {
  /** @param peers the visitor's address and the one it has connected to, for a raw connection; else empty */
  onOpen(id: number, peers: string): void;
  /** Bytes of a DATA frame, in pieces as they arrive. */
  onData(id: number, piece: Buffer): void;
  /** @param code of an ABORT frame; {@link CloseCode.normal} for an END frame */
  onEnd(id: number, code: number): void;
  onWindow(id: number, bytes: number): void;
  /** @param connectionId of the data socket to continue over */
  onMove(id: number, connectionId: string): void;
  onMoved(id: number): void;
  onEof(id: number): void;
  /** The data is not a frame. Nothing is read after it. */
  onProtocolError(reason: string): void;
}

/** Writes a frame's header, {@link FRAME_HEADER_BYTES} bytes of it. */
export function writeHeader(target: Buffer, at: number, type: FrameType, id: number, value: number): void {
  target[at] = type;
  target.writeUInt32BE(id, at + 1);
  target.writeUInt32BE(value, at + 5);
}

/** Reads frames from bytes in pieces of any size, and holds back nothing of their data. */
export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #header = Buffer.allocUnsafeSlow(FRAME_HEADER_BYTES);
  /** bytes of a header that arrived in an earlier piece */
  #headerLength = 0;
  /** the stream of the current frame with a payload, and the number of missing bytes */
  #id = 0;
  #left = 0;
  #type: FrameType = FrameType.data;
  /** the part of a text that has arrived; empty in a DATA frame */
  #text = '';
  #stopped = false;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  push(chunk: Buffer): void {
    let position = 0;
    while (position < chunk.length && !this.#stopped) {
      position = this.#left > 0 ? this.#readData(chunk, position) : this.#readHeader(chunk, position);
    }
  }

  /** Stops reading. */
  stop(): void {
    this.#stopped = true;
  }

  #readData(chunk: Buffer, start: number): number {
    const end = Math.min(chunk.length, start + this.#left);
    this.#left -= end - start;
    if (this.#type === FrameType.data) this.#handler.onData(this.#id, chunk.subarray(start, end));
    else this.#readText(this.#text + chunk.toString('latin1', start, end));
    return end;
  }

  #readText(text: string): void {
    this.#text = this.#left > 0 ? text : '';
    if (this.#left > 0) return;
    if (this.#type === FrameType.move) this.#handler.onMove(this.#id, text);
    else this.#handler.onOpen(this.#id, text);
  }

  #expect(type: FrameType, id: number, bytes: number): void {
    this.#type = type;
    this.#id = id;
    this.#left = bytes;
  }

  #readHeader(chunk: Buffer, start: number): number {
    if (this.#headerLength === 0 && start + FRAME_HEADER_BYTES <= chunk.length) {
      this.#begin(chunk, start);
      return start + FRAME_HEADER_BYTES;
    }
    const end = Math.min(chunk.length, start + FRAME_HEADER_BYTES - this.#headerLength);
    chunk.copy(this.#header, this.#headerLength, start, end);
    this.#headerLength += end - start;
    if (this.#headerLength === FRAME_HEADER_BYTES) {
      this.#headerLength = 0;
      this.#begin(this.#header, 0);
    }
    return end;
  }

  #begin(header: Buffer, at: number): void {
    const type = header.readUInt8(at);
    const id = header.readUInt32BE(at + 1);
    const value = header.readUInt32BE(at + 5);
    if (id === 0) return this.#fail('stream 0');
    switch (type) {
      case FrameType.open:
        if (value > PEERS_MAX_LENGTH) return this.#fail(`OPEN with value ${value}`);
        return value === 0 ? this.#handler.onOpen(id, '') : this.#expect(type, id, value);
      case FrameType.data:
        if (value === 0 || value > DATA_MAX_BYTES) return this.#fail(`DATA of ${value} bytes`);
        return this.#expect(type, id, value);
      case FrameType.end:
        return value === 0
          ? this.#handler.onEnd(id, CloseCode.normal)
          : this.#fail(`END with value ${value}`);
      case FrameType.abort:
        return isAbortCode(value) ? this.#handler.onEnd(id, value) : this.#fail(`ABORT with code ${value}`);
      case FrameType.window:
        if (value === 0 || value > WINDOW_MAX_BYTES) return this.#fail(`WINDOW of ${value} bytes`);
        return this.#handler.onWindow(id, value);
      case FrameType.move:
        if (value === 0 || value > CONNECTION_ID_MAX) return this.#fail(`MOVE with an id of ${value} bytes`);
        return this.#expect(type, id, value);
      case FrameType.moved:
        return value === 0 ? this.#handler.onMoved(id) : this.#fail(`MOVED with value ${value}`);
      case FrameType.eof:
        return value === 0 ? this.#handler.onEof(id) : this.#fail(`EOF with value ${value}`);
      default:
        return this.#fail(`frames of type ${type}`);
    }
  }

  #fail(what: string): void {
    this.#stopped = true;
    this.#handler.onProtocolError(`no trunk has ${what}`);
  }
}

/** Whether a data socket that was broken off could be closed with the code. */
function isAbortCode(code: number): boolean {
  return code !== CloseCode.normal && isSendableCode(code);
}
