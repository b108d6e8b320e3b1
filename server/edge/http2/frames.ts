/** Frames of HTTP/2 (RFC 9113 sections 4 and 6). */
import { joined } from '../../../shared/http1/fields.ts';

/**
 * Maximum size of the compressed fields of an HTTP/2 request. A visitor that sends more loses its connection. A
 * head that is larger than {@link REQUEST_HEAD_MAX_BYTES} but within this limit gets a response with status 431.
 */
const HTTP2_BLOCK_MAX_BYTES = 256 * 1024;

export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PUSH_PROMISE = 5;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;
/** RFC 9218 section 7.1. */
export const PRIORITY_UPDATE = 16;

// Flags
export const END_STREAM = 1;
export const ACK = 1;
export const END_HEADERS = 4;
export const PADDED = 8;
export const WITH_PRIORITY = 0x20;

// Error codes (RFC 9113 section 7)
export const NO_ERROR = 0;
export const PROTOCOL_ERROR = 1;
export const INTERNAL_ERROR = 2;
export const FLOW_CONTROL_ERROR = 3;
export const SETTINGS_TIMEOUT = 4;
export const STREAM_CLOSED = 5;
export const FRAME_SIZE_ERROR = 6;
export const REFUSED_STREAM = 7;
export const COMPRESSION_ERROR = 9;
export const ENHANCE_YOUR_CALM = 11;

// Settings (RFC 9113 section 6.5.2, RFC 8441 section 3, RFC 9218 section 2.1)
export const HEADER_TABLE_SIZE = 1;
export const ENABLE_PUSH = 2;
export const MAX_CONCURRENT_STREAMS = 3;
export const INITIAL_WINDOW_SIZE = 4;
export const MAX_FRAME_SIZE = 5;
export const MAX_HEADER_LIST_SIZE = 6;
export const ENABLE_CONNECT_PROTOCOL = 8;
export const NO_RFC7540_PRIORITIES = 9;

/** What each side accepts until told otherwise (RFC 9113 section 6.5.2). */
export const DEFAULT_WINDOW = 65_535;
export const WINDOW_MAX = 2 ** 31 - 1;
/** The largest frame that the relay accepts, and the largest that every visitor accepts. */
export const FRAME_MAX = 16_384;

const HEADER_BYTES = 9;
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** An error that ends the connection (RFC 9113 section 5.4.1). */
export class ConnectionError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Writes a frame; its payload follows if it is given, otherwise the caller sends it. */
export function frame(type: number, flags: number, stream: number, payload: Buffer | number): Buffer {
  const length = typeof payload === 'number' ? payload : payload.length;
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + (typeof payload === 'number' ? 0 : length));
  bytes.writeUIntBE(length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  if (typeof payload !== 'number') payload.copy(bytes, HEADER_BYTES);
  return bytes;
}

/** A frame whose payload is one number of 32 bits: RST_STREAM or WINDOW_UPDATE. */
export function numberFrame(type: number, stream: number, value: number): Buffer {
  const bytes = frame(type, 0, stream, Buffer.allocUnsafe(4));
  bytes.writeUInt32BE(value, HEADER_BYTES);
  return bytes;
}

export function goawayFrame(lastStream: number, code: number): Buffer {
  const payload = Buffer.allocUnsafe(8);
  payload.writeUInt32BE(lastStream, 0);
  payload.writeUInt32BE(code, 4);
  return frame(GOAWAY, 0, 0, payload);
}

export function settingsFrame(settings: readonly (readonly [name: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(settings.length * 6);
  for (const [index, [name, value]] of settings.entries()) {
    payload.writeUInt16BE(name, index * 6);
    payload.writeUInt32BE(value, index * 6 + 2);
  }
  return frame(SETTINGS, 0, 0, payload);
}

/** A block of fields as HEADERS, and as many CONTINUATION as it takes (RFC 9113 section 4.3). */
export function headersFrames(stream: number, block: Buffer, isEnd: boolean): Buffer[] {
  const flags = isEnd ? END_STREAM : 0;
  if (block.length <= FRAME_MAX) return [frame(HEADERS, flags | END_HEADERS, stream, block)];
  const frames = [frame(HEADERS, flags, stream, block.subarray(0, FRAME_MAX))];
  for (let at = FRAME_MAX; at < block.length; at += FRAME_MAX) {
    const isLast = at + FRAME_MAX >= block.length;
    frames.push(frame(CONTINUATION, isLast ? END_HEADERS : 0, stream, block.subarray(at, at + FRAME_MAX)));
  }
  return frames;
}

export interface FrameHandler {
  /** A whole frame, except DATA. */
  onFrame(type: number, flags: number, stream: number, payload: Buffer): void;
  /**
   * A DATA frame begins.
   *
   * @param length of its payload with its padding, which counts for flow control
   * @param use whether it carries content, or at least ends its stream
   */
  onDataBegin(stream: number, length: number, use: 'content' | 'end' | 'none'): void;
  /** Content of the DATA frame, as it arrives. @param padding bytes that arrived with it and mean nothing */
  onData(stream: number, content: Buffer, padding: number): void;
  onDataEnd(stream: number, isLast: boolean): void;
}

const EMPTY = Buffer.alloc(0);

/** Reads the frames of a visitor. Content is passed on before its frame is complete. */
export class FrameReader {
  readonly #handler: FrameHandler;
  #held: Buffer = EMPTY;
  #hasPreface = false;
  /** bytes of content, and then of padding, that are missing of a DATA frame */
  #content = 0;
  #padding = 0;
  #stream = 0;
  #isLast = false;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** Whether part of a frame has arrived, other than DATA. */
  get partial(): boolean {
    return this.#held.length > 0;
  }

  /** The stream of which part of a HEADERS frame has arrived. */
  get partialHead(): number | undefined {
    const isHead = this.#hasPreface && this.#held.length >= HEADER_BYTES && this.#held[3] === HEADERS;
    return isHead ? this.#held.readUInt32BE(5) & WINDOW_MAX : undefined;
  }

  /** @throws ConnectionError */
  push(chunk: Buffer): void {
    const bytes = this.#held.length === 0 ? chunk : joined(this.#held, chunk);
    this.#held = EMPTY;
    let at = this.#hasPreface ? 0 : this.#preface(bytes);
    while (at !== -1 && at < bytes.length) {
      const next = this.#content + this.#padding > 0 ? this.#data(bytes, at) : this.#frame(bytes, at);
      if (next === -1) break;
      at = next;
    }
    if (at !== -1 && at < bytes.length) this.#held = at === 0 ? bytes : bytes.subarray(at);
    else if (at === -1) this.#held = bytes;
  }

  /** @returns the position of its end, -1 if it is incomplete */
  #preface(bytes: Buffer): number {
    const length = Math.min(bytes.length, PREFACE.length);
    if (PREFACE.compare(bytes, 0, length, 0, length) !== 0)
      throw new ConnectionError(PROTOCOL_ERROR, 'no connection preface');
    if (length < PREFACE.length) return -1;
    this.#hasPreface = true;
    return length;
  }

  /** @returns where the frame ends, or where its content begins; -1 if more has to arrive */
  #frame(bytes: Buffer, at: number): number {
    if (bytes.length - at < HEADER_BYTES) return -1;
    const length = bytes.readUIntBE(at, 3);
    const type = bytes[at + 3] ?? 0;
    const flags = bytes[at + 4] ?? 0;
    const stream = bytes.readUInt32BE(at + 5) & WINDOW_MAX;
    if (length > FRAME_MAX) throw new ConnectionError(FRAME_SIZE_ERROR, 'a frame above the limit');
    const start = at + HEADER_BYTES;
    if (type === DATA) return this.#beginData(bytes, start, length, flags, stream);
    if (bytes.length - start < length) return -1;
    this.#handler.onFrame(type, flags, stream, bytes.subarray(start, start + length));
    return start + length;
  }

  #beginData(bytes: Buffer, start: number, length: number, flags: number, stream: number): number {
    let at = start;
    let padding = 0;
    if ((flags & PADDED) !== 0) {
      const byte = bytes[at];
      if (length > 0 && byte === undefined) return -1;
      padding = byte ?? 0;
      if (padding >= length) throw new ConnectionError(PROTOCOL_ERROR, 'more padding than payload');
      at += 1;
    }
    this.#stream = stream;
    this.#isLast = (flags & END_STREAM) !== 0;
    this.#padding = padding;
    this.#content = length - padding - (at - start);
    this.#handler.onDataBegin(stream, length, this.#content > 0 ? 'content' : this.#isLast ? 'end' : 'none');
    // The length of the padding means nothing either.
    if (at > start) this.#handler.onData(stream, EMPTY, at - start);
    if (this.#content + padding === 0) this.#handler.onDataEnd(stream, this.#isLast);
    return at;
  }

  #data(bytes: Buffer, at: number): number {
    const content = Math.min(this.#content, bytes.length - at);
    const padding = Math.min(this.#padding, bytes.length - at - content);
    this.#content -= content;
    this.#padding -= padding;
    this.#handler.onData(this.#stream, bytes.subarray(at, at + content), padding);
    if (this.#content + this.#padding === 0) this.#handler.onDataEnd(this.#stream, this.#isLast);
    return at + content + padding;
  }
}

/** A whole block of fields (RFC 9113 section 4.3). */
export interface FieldBlock {
  readonly stream: number;
  /** whether the request ends with it */
  readonly isEnd: boolean;
  readonly bytes: Buffer;
}

/** Collects HEADERS and what continues them. */
export class BlockReader {
  #stream: number | undefined;
  #isEnd = false;
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** The stream of a block that is not complete. */
  get stream(): number | undefined {
    return this.#stream;
  }

  /** Reads HEADERS. @returns the block, if it is complete @throws ConnectionError */
  begin(flags: number, id: number, payload: Buffer): FieldBlock | undefined {
    if (id % 2 === 0) throw new ConnectionError(PROTOCOL_ERROR, 'a stream that no visitor may open');
    let start = 0;
    let end = payload.length;
    if ((flags & PADDED) !== 0) {
      start = 1;
      end -= payload[0] ?? Infinity;
    }
    if ((flags & WITH_PRIORITY) !== 0) {
      if (end - start < 5) throw new ConnectionError(FRAME_SIZE_ERROR, 'HEADERS without their priority');
      if ((payload.readUInt32BE(start) & WINDOW_MAX) === id)
        throw new ConnectionError(PROTOCOL_ERROR, 'a stream that depends on itself');
      start += 5;
    }
    if (end < start) throw new ConnectionError(PROTOCOL_ERROR, 'more padding than payload');
    this.#stream = id;
    this.#isEnd = (flags & END_STREAM) !== 0;
    return this.#add(id, flags, payload.subarray(start, end));
  }

  /** Reads CONTINUATION. @returns the block, if it is complete @throws ConnectionError */
  add(flags: number, id: number, payload: Buffer): FieldBlock | undefined {
    if (this.#stream !== id) throw new ConnectionError(PROTOCOL_ERROR, 'a block without a beginning');
    return this.#add(id, flags, payload);
  }

  #add(stream: number, flags: number, piece: Buffer): FieldBlock | undefined {
    this.#bytes += piece.length;
    if (this.#bytes > HTTP2_BLOCK_MAX_BYTES)
      throw new ConnectionError(ENHANCE_YOUR_CALM, 'a block above the limit');
    this.#pieces.push(piece);
    if ((flags & END_HEADERS) === 0) return undefined;
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    this.#stream = undefined;
    this.#pieces = [];
    this.#bytes = 0;
    return { stream, isEnd: this.#isEnd, bytes };
  }
}
