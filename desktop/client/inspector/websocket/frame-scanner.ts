import {
  applyMask,
  CONTROL_PAYLOAD_MAX,
  HEADER_MAX,
  headerSize,
  Opcode,
  payloadLength,
} from '../../../../shared/websocket/frames.ts';
import { Capture } from '../capture.ts';

/** A complete message or control frame, as it was seen. */
export interface ScannedMessage {
  /** of its first frame */
  readonly opcode: number;
  /** the beginning of its unmasked payload; valid during the call */
  readonly content: Buffer;
  /** bytes of its whole payload, compressed or not */
  readonly size: number;
  /** whether the payload is compressed (RFC 7692) */
  readonly isCompressed: boolean;
}

export interface FrameScannerOptions {
  /** whether the direction is that of a client, which masks its frames */
  readonly isMasked: boolean;
  /** whether messages may be compressed (RFC 7692) */
  readonly mayCompress: boolean;
  /** maximum number of bytes that are captured of a message */
  readonly maxBytes: number;
  readonly onMessage: (message: ScannedMessage) => void;
}

const FIN = 0x80;
const COMPRESSED = 0x40;
const RESERVED = 0x30;
const MASKED = 0x80;

/**
 * Watches the frames of one direction of a WebSocket as they pass (RFC 6455 section 5), in pieces of any size, and changes
 * none of its bytes. Work and memory for a piece are proportional to its frames and its captured bytes. Bytes that are
 * not frames end it: what they mean is for the two ends to decide.
 */
export class FrameScanner {
  /** whether bytes came that are not a valid frame */
  isLost = false;
  /** whether a Close frame has come, so that no frames follow */
  isClosed = false;
  readonly #options: FrameScannerOptions;
  readonly #message = new Capture();
  readonly #control = new Capture();
  /** the part of a frame's header that arrived in an earlier piece */
  #header: Buffer | undefined;
  #headerLength = 0;
  #isInMessage = false;
  #messageOpcode = 0;
  #messageSize = 0;
  #isCompressed = false;

  #isInFrame = false;
  #opcode = 0;
  #isLast = false;
  /** payload bytes that have not arrived yet */
  #left = 0;
  #mask = 0;
  #offset = 0;

  constructor(options: FrameScannerOptions) {
    this.#options = options;
  }

  /** Memory used by a message that has not ended. */
  get memory(): number {
    return this.#message.capacity + this.#control.capacity;
  }

  /** @param start where the frames continue in the piece */
  push(piece: Buffer, start: number): void {
    let at = start;
    while (at < piece.length && !this.isLost && !this.isClosed)
      at = this.#isInFrame ? this.#readPayload(piece, at) : this.#readHeader(piece, at);
  }

  #readHeader(piece: Buffer, start: number): number {
    if (this.#header === undefined && start + 2 <= piece.length) {
      const size = headerSize(piece, start);
      if (start + size <= piece.length) {
        this.#open(piece, start, size);
        return start + size;
      }
    }
    const header = (this.#header ??= Buffer.alloc(HEADER_MAX));
    let at = start;
    while (at < piece.length) {
      header[this.#headerLength++] = piece[at++] ?? 0;
      if (this.#headerLength < 2 || this.#headerLength < headerSize(header, 0)) continue;
      const size = this.#headerLength;
      this.#header = undefined;
      this.#headerLength = 0;
      this.#open(header, 0, size);
      break;
    }
    return at;
  }

  #open(header: Buffer, at: number, size: number): void {
    const first = header[at] ?? 0;
    const opcode = first & 0x0f;
    const isMasked = ((header[at + 1] ?? 0) & MASKED) !== 0;
    const length = payloadLength(header, at);
    this.#opcode = opcode;
    this.#isLast = (first & FIN) !== 0;
    this.isLost =
      isMasked !== this.#options.isMasked ||
      !Number.isSafeInteger(length) ||
      !this.#isValid(opcode, length, first);
    if (this.isLost) return;
    if (opcode === Opcode.text || opcode === Opcode.binary) {
      this.#message.clear();
      this.#messageOpcode = opcode;
      this.#messageSize = 0;
      this.#isCompressed = (first & COMPRESSED) !== 0;
    } else if (opcode >= Opcode.close) this.#control.clear();
    if (opcode < Opcode.close) {
      this.#isInMessage = !this.#isLast;
      this.#messageSize += length;
    }
    this.#left = length;
    this.#mask = isMasked ? header.readInt32LE(at + size - 4) : 0;
    this.#offset = 0;
    this.#isInFrame = true;
    if (length === 0) this.#end();
  }

  #isValid(opcode: number, length: number, first: number): boolean {
    const isCompressed = (first & COMPRESSED) !== 0;
    if ((first & RESERVED) !== 0 || (isCompressed && !this.#options.mayCompress)) return false;
    if (opcode >= Opcode.close)
      return opcode <= Opcode.pong && this.#isLast && length <= CONTROL_PAYLOAD_MAX && !isCompressed;
    if (opcode === Opcode.continuation) return this.#isInMessage && !isCompressed;
    return opcode <= Opcode.binary && !this.#isInMessage;
  }

  #readPayload(piece: Buffer, start: number): number {
    const end = Math.min(piece.length, start + this.#left);
    const capture = this.#opcode >= Opcode.close ? this.#control : this.#message;
    const before = capture.length;
    capture.append(piece, start, end, this.#options.maxBytes);
    // The copy is unmasked; the piece belongs to the two ends.
    if (this.#mask !== 0 && capture.length > before)
      applyMask(capture.bytes.subarray(before), this.#mask, this.#offset);
    this.#offset += end - start;
    this.#left -= end - start;
    if (this.#left === 0) this.#end();
    return end;
  }

  #end(): void {
    this.#isInFrame = false;
    if (this.#opcode >= Opcode.close) {
      this.isClosed = this.#opcode === Opcode.close;
      const { bytes, length } = this.#control;
      this.#options.onMessage({ opcode: this.#opcode, content: bytes, size: length, isCompressed: false });
    } else if (this.#isLast) {
      const { bytes } = this.#message;
      this.#options.onMessage({
        opcode: this.#messageOpcode,
        content: bytes,
        size: this.#messageSize,
        isCompressed: this.#isCompressed,
      });
      this.#message.clear();
    }
  }
}
