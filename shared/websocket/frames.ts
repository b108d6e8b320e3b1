/** WebSocket frames without extensions (RFC 6455 section 5), for data sockets and the relay's end of control sockets. */
import { CloseCode, isSendableCode } from '../control.ts';

export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
export type Opcode = (typeof Opcode)[keyof typeof Opcode];

/** The role of this end: a client masks its data, a server does not (RFC 6455 section 5.1). */
export type Role = 'client' | 'server';

export interface FrameHandler {
  /**
   * Content of messages, unmasked and in order. Content that has arrived together is joined across messages, because each
   * piece costs one or two system calls later.
   */
  onPayload(piece: Buffer): void;
  /** A message without content, in order. */
  onEmptyMessage?(): void;
  onPing(payload: Buffer): void;
  onPong?(payload: Buffer): void;
  /** The peer's Close frame; {@link CloseCode.noStatus} without a code. Nothing is read after it. */
  onClose(code: number): void;
  /** The peer violated the protocol; `code` is the close code to send. Nothing is read after it. */
  onProtocolError(code: number): void;
}

/** Limits of the messages of a peer that may also send text. */
export interface MessageLimits {
  /** size of a message */
  readonly bytes: number;
  /** how many frames a message may consist of */
  readonly frames: number;
}

/** Largest payload of a control frame (RFC 6455 section 5.5). */
export const CONTROL_PAYLOAD_MAX = 125;
/** Largest frame header: two bytes, a length of eight and a mask of four. */
export const HEADER_MAX = 14;
const NO_MASK = 0;
const EMPTY = Buffer.alloc(0);

/** Reads frames from bytes in pieces of any size, and holds back nothing of a message. */
export class FrameReader {
  readonly #role: Role;
  readonly #handler: FrameHandler;
  readonly #limits: MessageLimits | undefined;
  /** bytes and frames of the current message, as far as their headers have arrived; counted if they are limited */
  #messageBytes = 0;
  #messageFrames = 0;
  /** The part of the next frame's header that arrived in an earlier piece. */
  #header: Buffer | undefined;
  #headerLength = 0;
  #inMessage = false;
  /** The part of the current control frame's payload that has arrived. */
  #control: Buffer | undefined;
  #ended = false;
  #fault: number | undefined;

  // State of the current frame. Fields instead of an object per frame, because every message passes through here.
  #inFrame = false;
  #opcode = 0;
  /** payload bytes that have not arrived yet */
  #left = 0;
  #mask = NO_MASK;
  /** payload bytes that have arrived, which determine the position in the mask */
  #offset = 0;

  // Content of the current bytes that the handler does not have yet: its start and end, and a view of it while it
  // belongs to one frame.
  #contentStart = 0;
  #contentEnd = 0;
  #content: Buffer | undefined;

  /** @param limits without them, messages are binary and of any size */
  constructor(role: Role, handler: FrameHandler, limits?: MessageLimits) {
    this.#role = role;
    this.#handler = handler;
    this.#limits = limits;
  }

  /** Consumes the next bytes, which are unmasked in place. The caller must not use them afterwards. */
  push(chunk: Buffer): void {
    let position = 0;
    while (!this.#ended && (position < chunk.length || (this.#inFrame && this.#left === 0))) {
      position = this.#inFrame ? this.#readPayload(chunk, position) : this.#readHeader(chunk, position);
    }
    this.#handOver(chunk);
    if (this.#fault === undefined) return;
    this.#handler.onProtocolError(this.#fault);
    this.#fault = undefined;
  }

  /** Stops reading. */
  stop(): void {
    this.#ended = true;
  }

  #readHeader(chunk: Buffer, start: number): number {
    if (this.#header === undefined) {
      const size = headerSize(chunk, start);
      if (start + 2 <= chunk.length && start + size <= chunk.length) {
        this.#openFrame(chunk, start, size);
        return start + size;
      }
      // Not from the shared pool, which would stay in memory until the rest arrives.
      this.#header = Buffer.allocUnsafeSlow(HEADER_MAX);
    }
    return this.#collectHeader(this.#header, chunk, start);
  }

  #collectHeader(header: Buffer, chunk: Buffer, start: number): number {
    let position = start;
    while (position < chunk.length) {
      header[this.#headerLength++] = chunk[position++] ?? 0;
      if (this.#headerLength < 2 || this.#headerLength < headerSize(header, 0)) continue;
      this.#openFrame(header, 0, this.#headerLength);
      this.#header = undefined;
      this.#headerLength = 0;
      break;
    }
    return position;
  }

  #openFrame(header: Buffer, at: number, size: number): void {
    const first = header[at] ?? 0;
    const opcode = first & 0x0f;
    const fin = (first & 0x80) !== 0;
    const masked = ((header[at + 1] ?? 0) & 0x80) !== 0;
    const length = payloadLength(header, at);
    const isControl = opcode >= Opcode.close;
    if ((first & 0x70) !== 0 || masked !== (this.#role === 'server'))
      return this.#fail(CloseCode.protocolError);
    if (isControl) {
      if (!fin || length > CONTROL_PAYLOAD_MAX || opcode > Opcode.pong)
        return this.#fail(CloseCode.protocolError);
    } else if (opcode === Opcode.text && this.#limits === undefined) {
      return this.#fail(CloseCode.unsupportedData);
    } else if (opcode > Opcode.binary || (opcode === Opcode.continuation) !== this.#inMessage) {
      return this.#fail(CloseCode.protocolError);
    } else {
      const excess = this.#limits === undefined ? undefined : this.#countFrame(length, this.#limits);
      if (excess !== undefined) return this.#fail(excess);
      this.#inMessage = !fin;
    }
    if (!Number.isSafeInteger(length)) return this.#fail(CloseCode.tooBig);
    this.#inFrame = true;
    this.#opcode = opcode;
    this.#left = length;
    this.#mask = masked ? header.readInt32LE(at + size - 4) : NO_MASK;
    this.#offset = 0;
  }

  /** @returns the close code if the message exceeds the limits */
  #countFrame(length: number, { bytes, frames }: MessageLimits): number | undefined {
    this.#messageBytes = (this.#inMessage ? this.#messageBytes : 0) + length;
    this.#messageFrames = (this.#inMessage ? this.#messageFrames : 0) + 1;
    if (this.#messageBytes > bytes) return CloseCode.tooBig;
    return this.#messageFrames > frames ? CloseCode.policyViolation : undefined;
  }

  #readPayload(chunk: Buffer, start: number): number {
    const end = Math.min(chunk.length, start + this.#left);
    const taken = end - start;
    const isControl = this.#opcode >= Opcode.close;
    this.#left -= taken;
    const isLast = this.#left === 0;
    if (isLast) this.#inFrame = false;
    if (taken > 0) {
      const piece = chunk.subarray(start, end);
      if (this.#mask !== NO_MASK) applyMask(piece, this.#mask, this.#offset);
      if (isControl) this.#addControl(piece);
      else this.#addContent(chunk, piece, start, end);
      this.#offset += taken;
    }
    if (isControl && isLast) {
      this.#handOver(chunk);
      this.#endControl(this.#opcode);
    } else if (isLast && this.#offset === 0) this.#endEmpty(chunk);
    return end;
  }

  #endEmpty(chunk: Buffer): void {
    const handler = this.#handler;
    if (handler.onEmptyMessage === undefined || this.#opcode !== Opcode.binary || this.#inMessage) return;
    this.#handOver(chunk);
    handler.onEmptyMessage();
  }

  /**
   * Adds payload of a control frame. Copies it if its end is missing, because the whole chunk would stay in memory
   * until then.
   */
  #addControl(piece: Buffer): void {
    const size = this.#offset + piece.length + this.#left;
    if (piece.length === size) {
      this.#control = piece;
      return;
    }
    this.#control ??= Buffer.allocUnsafeSlow(size);
    piece.copy(this.#control, this.#offset);
  }

  /**
   * Adds content of another frame. Moves it to the content so far, or the other way round, over the header in between.
   */
  #addContent(chunk: Buffer, piece: Buffer, start: number, end: number): void {
    const length = this.#contentEnd - this.#contentStart;
    if (length === 0) {
      this.#content = piece;
      this.#contentStart = start;
      this.#contentEnd = end;
      return;
    }
    this.#content = undefined;
    if (length < end - start) {
      chunk.copyWithin(start - length, this.#contentStart, this.#contentEnd);
      this.#contentStart = start - length;
      this.#contentEnd = end;
    } else {
      chunk.copyWithin(this.#contentEnd, start, end);
      this.#contentEnd += end - start;
    }
  }

  #handOver(chunk: Buffer): void {
    if (this.#contentEnd === this.#contentStart) return;
    const content = this.#content ?? chunk.subarray(this.#contentStart, this.#contentEnd);
    this.#content = undefined;
    this.#contentEnd = this.#contentStart;
    this.#handler.onPayload(content);
  }

  #endControl(opcode: number): void {
    const payload = this.#control ?? EMPTY;
    this.#control = undefined;
    if (opcode === Opcode.ping) this.#handler.onPing(payload);
    else if (opcode === Opcode.pong) this.#handler.onPong?.(payload);
    else if (opcode === Opcode.close) this.#close(payload);
  }

  #close(payload: Buffer): void {
    const code = payload.length < 2 ? CloseCode.noStatus : payload.readUInt16BE();
    if (payload.length > 0 && !isSendableCode(code)) return this.#fail(CloseCode.protocolError);
    this.#ended = true;
    this.#handler.onClose(code);
  }

  /** Reported after the content before it has been handed over. */
  #fail(code: number): void {
    this.#ended = true;
    this.#fault = code;
  }
}

/** Size of the header at a position in bytes, according to its first two bytes. */
export function headerSize(bytes: Buffer, at: number): number {
  const second = bytes[at + 1] ?? 0;
  const short = second & 0x7f;
  return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + ((second & 0x80) === 0 ? 0 : 4);
}

/** Payload length in bytes; not a safe integer for lengths that no sane peer sends. */
export function payloadLength(bytes: Buffer, at: number): number {
  const short = (bytes[at + 1] ?? 0) & 0x7f;
  if (short < 126) return short;
  if (short === 126) return bytes.readUInt16BE(at + 2);
  return bytes.readUInt32BE(at + 2) * 0x1_0000_0000 + bytes.readUInt32BE(at + 6);
}

/**
 * Writes a frame header.
 *
 * @param target where to write; {@link frameHeaderSize} bytes are used
 * @param mask a new, unpredictable, non-zero key from a client; 0 from a server
 */
export function writeFrameHeader(target: Buffer, opcode: Opcode, length: number, mask: number): void {
  const maskBit = mask === NO_MASK ? 0 : 0x80;
  target[0] = 0x80 | opcode;
  let position = 2;
  if (length < 126) {
    target[1] = maskBit | length;
  } else if (length < 0x1_0000) {
    target[1] = maskBit | 126;
    position = target.writeUInt16BE(length, 2);
  } else {
    target[1] = maskBit | 127;
    target.writeUInt32BE(Math.floor(length / 0x1_0000_0000), 2);
    position = target.writeUInt32BE(length % 0x1_0000_0000, 6);
  }
  if (maskBit !== 0) target.writeInt32LE(mask, position);
}

/** Size of a frame's header in bytes. */
export function frameHeaderSize(length: number, role: Role): number {
  return 2 + (length < 126 ? 0 : length < 0x1_0000 ? 2 : 8) + (role === 'client' ? 4 : 0);
}

/**
 * Masking of WebSocket payloads (RFC 6455 section 5.3). The client masks every byte of a download and the relay unmasks
 * it, which is a good part of the cost of a large body.
 */

/** Size from which masking by words is worth its preparation, in bytes. */
const WORDS_MIN = 512;
/** Size from which a call into native code is worth its cost, in bytes. */
const NATIVE_MIN = 2048;

/** The used part of `bufferutil`: XORs in place with four bytes of a key. */
interface NativeMasking {
  unmask(bytes: Buffer, key: Buffer): void;
}

const native = loadNative();

/**
 * XORs bytes with a masking key in place (RFC 6455 section 5.3).
 *
 * @param mask the key as a little-endian word
 * @param offset payload bytes before these
 */
export function applyMask(bytes: Buffer, mask: number, offset: number): void {
  const shift = 8 * (offset & 3);
  const key = shift === 0 ? mask : (mask >>> shift) | (mask << (32 - shift));
  if (bytes.length < WORDS_MIN) maskBytes(bytes, key, 0, bytes.length);
  else if (native !== undefined && bytes.length >= NATIVE_MIN) maskNatively(native, bytes, key);
  else maskWords(bytes, key);
}

/** @param key starts with the byte for `start` */
function maskBytes(bytes: Buffer, key: number, start: number, end: number): void {
  const key1 = key >>> 8;
  const key2 = key >>> 16;
  const key3 = key >>> 24;
  let position = start;
  for (; position + 3 < end; position += 4) {
    bytes[position] = (bytes[position] ?? 0) ^ key;
    bytes[position + 1] = (bytes[position + 1] ?? 0) ^ key1;
    bytes[position + 2] = (bytes[position + 2] ?? 0) ^ key2;
    bytes[position + 3] = (bytes[position + 3] ?? 0) ^ key3;
  }
  if (position < end) bytes[position] = (bytes[position] ?? 0) ^ key;
  if (position + 1 < end) bytes[position + 1] = (bytes[position + 1] ?? 0) ^ key1;
  if (position + 2 < end) bytes[position + 2] = (bytes[position + 2] ?? 0) ^ key2;
}

/** Four bytes at a time: words must begin at a multiple of four in the underlying memory. */
function maskWords(bytes: Buffer, key: number): void {
  const lead = -bytes.byteOffset & 3;
  maskBytes(bytes, key, 0, lead);
  const shift = 8 * lead;
  const word = shift === 0 ? key : (key >>> shift) | (key << (32 - shift));
  const words = (bytes.length - lead) >>> 2;
  const view = new Int32Array(bytes.buffer, bytes.byteOffset + lead, words);
  for (let index = 0; index < words; index++) view[index] = (view[index] ?? 0) ^ word;
  maskBytes(bytes, word, lead + words * 4, bytes.length);
}

/** The key in the form that native code expects; calls are synchronous and share it. */
const keyBytes = Buffer.alloc(4);

function maskNatively(masking: NativeMasking, bytes: Buffer, key: number): void {
  keyBytes.writeInt32LE(key | 0);
  masking.unmask(bytes, keyBytes);
}

/** An optional dependency: without a build for this machine, masking takes a little longer. */
function loadNative(): NativeMasking | undefined {
  try {
    const { createRequire } = process.getBuiltinModule('node:module');
    return createRequire(import.meta.url)('bufferutil') as NativeMasking;
  } catch {
    return undefined;
  }
}
