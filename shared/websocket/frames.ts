/** WebSocket frames without extensions (RFC 6455 section 5), as both ends of a data socket speak them. */
import { CloseCode } from '../control.ts';

export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
export type Opcode = (typeof Opcode)[keyof typeof Opcode];

/** Which end this is: a client masks what it sends, a server does not (RFC 6455 section 5.1). */
export type Role = 'client' | 'server';

export interface FrameHandler {
  /** A piece of binary content, unmasked, in order, as large as it arrived; a message has any number of pieces. */
  onData(piece: Buffer): void;
  onPing(payload: Buffer): void;
  /** The peer's Close frame; {@link CloseCode.noStatus} when it carries no code. Nothing is read after it. */
  onClose(code: number): void;
  /** The peer broke the protocol; `code` is the one to close with. Nothing is read after it. */
  onProtocolError(code: number): void;
}

const CONTROL_PAYLOAD_MAX = 125;
const HEADER_MAX = 14;
const NO_MASK = 0;

/** The frame of which a piece is being read. */
interface Frame {
  opcode: number;
  fin: boolean;
  left: number;
  mask: number;
  /** Bytes of the payload read, to know where in the mask it goes on. */
  offset: number;
}

/** Reads frames from bytes in pieces of any size, and holds nothing of a binary message back. */
export class FrameReader {
  readonly #role: Role;
  readonly #handler: FrameHandler;
  readonly #header = Buffer.allocUnsafe(HEADER_MAX);
  #headerLength = 0;
  #frame: Frame | undefined;
  #inMessage = false;
  #control: Buffer[] = [];
  #ended = false;

  constructor(role: Role, handler: FrameHandler) {
    this.#role = role;
    this.#handler = handler;
  }

  /** Takes the next bytes, which are unmasked in place and belong to the reader from then on. */
  push(chunk: Buffer): void {
    let position = 0;
    while (!this.#ended && (position < chunk.length || this.#frame?.left === 0)) {
      position =
        this.#frame === undefined ? this.#readHeader(chunk, position) : this.#readPayload(chunk, position);
    }
  }

  #readHeader(chunk: Buffer, start: number): number {
    let position = start;
    const header = this.#header;
    while (position < chunk.length) {
      header[this.#headerLength++] = chunk[position++] ?? 0;
      if (this.#headerLength >= 2 && this.#headerLength === headerSize(header)) {
        this.#headerLength = 0;
        this.#openFrame();
        return position;
      }
    }
    return position;
  }

  #openFrame(): void {
    const [first = 0, second = 0] = this.#header;
    const opcode = first & 0x0f;
    const fin = (first & 0x80) !== 0;
    const masked = (second & 0x80) !== 0;
    const length = payloadLength(this.#header);
    const isControl = opcode >= Opcode.close;
    if ((first & 0x70) !== 0 || masked !== (this.#role === 'server'))
      return this.#fail(CloseCode.protocolError);
    if (isControl) {
      if (!fin || length > CONTROL_PAYLOAD_MAX || opcode > Opcode.pong)
        return this.#fail(CloseCode.protocolError);
    } else if (opcode === Opcode.text) {
      return this.#fail(CloseCode.unsupportedData);
    } else if (opcode > Opcode.binary || (opcode === Opcode.continuation) !== this.#inMessage) {
      return this.#fail(CloseCode.protocolError);
    } else {
      this.#inMessage = !fin;
    }
    if (!Number.isSafeInteger(length)) return this.#fail(CloseCode.tooBig);
    const mask = masked ? this.#header.readInt32LE(headerSize(this.#header) - 4) : NO_MASK;
    this.#frame = { opcode, fin, left: length, mask, offset: 0 };
  }

  #readPayload(chunk: Buffer, start: number): number {
    const frame = this.#frame;
    if (frame === undefined) return start;
    const end = Math.min(chunk.length, start + frame.left);
    const piece = chunk.subarray(start, end);
    if (piece.length > 0) {
      if (frame.mask !== NO_MASK) applyMask(piece, frame.mask, frame.offset);
      frame.offset += piece.length;
      frame.left -= piece.length;
      if (frame.opcode >= Opcode.close) this.#control.push(piece);
    }
    if (frame.left === 0) this.#frame = undefined;
    if (frame.opcode < Opcode.close) {
      if (piece.length > 0) this.#handler.onData(piece);
    } else if (frame.left === 0) {
      this.#endControl(frame.opcode);
    }
    return end;
  }

  #endControl(opcode: number): void {
    const payload =
      this.#control.length === 1 ? (this.#control[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#control);
    this.#control = [];
    if (opcode === Opcode.ping) this.#handler.onPing(payload);
    else if (opcode === Opcode.close) this.#close(payload);
  }

  #close(payload: Buffer): void {
    const code = payload.length < 2 ? CloseCode.noStatus : payload.readUInt16BE();
    if (payload.length > 0 && !isSendable(code)) return this.#fail(CloseCode.protocolError);
    this.#ended = true;
    this.#handler.onClose(code);
  }

  #fail(code: number): void {
    this.#ended = true;
    this.#handler.onProtocolError(code);
  }
}

/** Whether a Close frame may carry the code (RFC 6455 section 7.4). */
function isSendable(code: number): boolean {
  return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) || (code >= 3000 && code <= 4999);
}

/** Bytes of the header, as far as its first two bytes tell. */
function headerSize(header: Buffer): number {
  const second = header[1] ?? 0;
  const short = second & 0x7f;
  return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + ((second & 0x80) === 0 ? 0 : 4);
}

/** Bytes of payload; not a safe integer for what no peer sends in earnest. */
function payloadLength(header: Buffer): number {
  const short = (header[1] ?? 0) & 0x7f;
  if (short < 126) return short;
  if (short === 126) return header.readUInt16BE(2);
  return header.readUInt32BE(2) * 0x1_0000_0000 + header.readUInt32BE(6);
}

/**
 * XORs bytes with a masking key in place, four at a time (RFC 6455 section 5.3).
 *
 * @param mask the key as a little-endian word
 * @param offset bytes of the payload that came before these
 */
export function applyMask(bytes: Buffer, mask: number, offset: number): void {
  let position = 0;
  const { length } = bytes;
  const byteAt = (index: number): number => mask >>> (8 * ((offset + index) & 3));
  // Words must begin at a multiple of four in the memory behind the buffer.
  const lead = Math.min(length, -bytes.byteOffset & 3);
  for (; position < lead; position++) bytes[position] = (bytes[position] ?? 0) ^ byteAt(position);
  const words = (length - position) >>> 2;
  if (words > 0) {
    const shift = 8 * ((offset + position) & 3);
    const word = shift === 0 ? mask : (mask >>> shift) | (mask << (32 - shift));
    const view = new Int32Array(bytes.buffer, bytes.byteOffset + position, words);
    for (let index = 0; index < words; index++) view[index] = (view[index] ?? 0) ^ word;
    position += words * 4;
  }
  for (; position < length; position++) bytes[position] = (bytes[position] ?? 0) ^ byteAt(position);
}

/**
 * Writes a frame header.
 *
 * @param target where to write; {@link frameHeaderSize} bytes are used
 * @param mask a fresh, unpredictable, non-zero key from a client; 0 from a server
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

/** Bytes of the header of a frame. */
export function frameHeaderSize(length: number, role: Role): number {
  return 2 + (length < 126 ? 0 : length < 0x1_0000 ? 2 : 8) + (role === 'client' ? 4 : 0);
}
