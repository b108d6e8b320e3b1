import {
  Opcode,
  applyMask,
  CONTROL_PAYLOAD_MAX,
  HEADER_MAX,
  headerSize,
  payloadLength,
} from '../../../../shared/websocket/frames.ts';
import { Capture } from '../capture.ts';
import { RECORDED_BODY_MIN_BYTES, type SocketMessage } from '../records.ts';

/** A complete message, as it was seen. */
export interface ScannedMessage extends Pick<SocketMessage, 'kind' | 'event'> {
  /** the beginning of its content, unmasked; valid during the call, and may be taken */
  readonly content: Capture;
  /** bytes of its whole content, compressed or not */
  readonly size: number;
  /** whether the content is compressed (RFC 7692) */
  readonly isCompressed: boolean;
}

/** Finds the messages in one direction of a connection as they pass, in pieces of any size, and changes none of its bytes. */
export interface Scanner {
  /** whether bytes came that have another form */
  readonly isLost: boolean;
  /** Memory used by a message that has not ended. */
  readonly memory: number;
  /** @param start where the messages continue in the piece */
  push(piece: Buffer, start: number): void;
  /** Keeps nothing from now on: later messages have a size only. */
  forget(): void;
}

/** Receives the messages of a scanner. */
export type OnMessage = (message: ScannedMessage) => void;

interface FrameScannerOptions {
  /** whether the direction is that of a client, which masks its frames */
  readonly isMasked: boolean;
  /** whether messages may be compressed (RFC 7692) */
  readonly mayCompress: boolean;
  readonly onMessage: OnMessage;
}

const KINDS: ReadonlyMap<number, SocketMessage['kind']> = new Map([
  [Opcode.text, 'text'],
  [Opcode.binary, 'binary'],
  [Opcode.close, 'close'],
  [Opcode.ping, 'ping'],
  [Opcode.pong, 'pong'],
]);
const FIN = 0x80;
const COMPRESSED = 0x40;
const RESERVED = 0x30;
const MASKED = 0x80;

/**
 * Reads the frames of one direction of a WebSocket (RFC 6455 section 5). Work and memory for a piece are proportional to its
 * frames and its captured bytes. Bytes that are not frames end it: what they mean is for the two ends to decide.
 */
export class FrameScanner implements Scanner {
  /** whether bytes came that are not a valid frame */
  isLost = false;
  /** whether a Close frame has come, so that no frames follow */
  isClosed = false;
  readonly #options: FrameScannerOptions;
  #maxBytes = RECORDED_BODY_MIN_BYTES;
  #message = new Capture();
  #control = new Capture();
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

  get memory(): number {
    return this.#message.capacity + this.#control.capacity;
  }

  forget(): void {
    this.#maxBytes = 0;
    this.#message = new Capture();
    this.#control = new Capture();
  }

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
    capture.append(piece, start, end, this.#maxBytes);
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
      this.#tell(this.#opcode, this.#control, this.#offset, false);
    } else if (this.#isLast) {
      this.#tell(this.#messageOpcode, this.#message, this.#messageSize, this.#isCompressed);
      this.#message.clear();
    }
  }

  #tell(opcode: number, content: Capture, size: number, isCompressed: boolean): void {
    this.#options.onMessage({ kind: KINDS.get(opcode) ?? 'binary', content, size, isCompressed });
  }
}
