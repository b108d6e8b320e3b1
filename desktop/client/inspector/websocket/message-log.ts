import {
  Opcode,
  applyMask,
  CONTROL_PAYLOAD_MAX,
  HEADER_MAX,
  headerSize,
  payloadLength,
} from '../../../../shared/websocket/frames.ts';
import { Capture } from '../capture.ts';
import {
  fieldValues,
  type RecordedMessage,
  type SocketMessage,
  type SocketMessages,
  RECORDED_BODY_MIN_BYTES,
} from '../records.ts';
import { type Compression, compressionOf, type InflateBudget, Inflater } from './inflate.ts';

/** Number of WebSocket messages that are kept per connection, in both directions together. */
export const RECORDED_MESSAGES_MAX = 500;
/** Maximum memory used for the messages of one WebSocket. Beyond that, the oldest are dropped. */
export const RECORDED_MESSAGES_MAX_BYTES = 1024 * 1024;
/** Number of messages that are dropped together, because decompressing them one by one would cost more. */
export const RECORDED_MESSAGES_DROPPED = 64;

/** A complete message or control frame, as it was seen. */
interface ScannedMessage {
  /** of its first frame */
  readonly opcode: number;
  /** the beginning of its unmasked payload; valid during the call */
  readonly content: Buffer;
  /** bytes of its whole payload, compressed or not */
  readonly size: number;
  /** whether the payload is compressed (RFC 7692) */
  readonly isCompressed: boolean;
}

interface FrameScannerOptions {
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
class FrameScanner {
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

/** Memory of a message without its content, in bytes. */
const MESSAGE_BYTES = 128;
/** Small contents share a buffer of this size. */
const SLAB_BYTES = 16 * 1024;
const EMPTY = Buffer.alloc(0);

const KINDS: ReadonlyMap<number, SocketMessage['kind']> = new Map([
  [Opcode.text, 'text'],
  [Opcode.binary, 'binary'],
  [Opcode.close, 'close'],
  [Opcode.ping, 'ping'],
  [Opcode.pong, 'pong'],
]);

/** A message that is kept; its body is compressed while it is waiting. */
type Kept = { -readonly [Field in keyof SocketMessage]: SocketMessage[Field] } & { body: Buffer };

/** One direction of a WebSocket. */
interface Direction {
  readonly scanner: FrameScanner;
  readonly inflater: Inflater | undefined;
}

/**
 * The last messages of one WebSocket: at most {@link RECORDED_MESSAGES_MAX}, within
 * {@link RECORDED_MESSAGES_MAX_BYTES}. Compressed ones are decompressed when they are shown, and not while they pass.
 */
export class MessageLog {
  readonly #elapsed: () => number;
  readonly #visitor: Direction;
  readonly #service: Direction;
  readonly #isUnknown: boolean;
  #kept: Kept[] = [];
  #count = 0;
  #keptBytes = 0;
  #slab = EMPTY;
  #slabUsed = 0;

  /**
   * @param extensions that the service has accepted, as in `Sec-WebSocket-Extensions`
   * @param elapsed ms since the request began
   */
  constructor(extensions: string, elapsed: () => number, budget: InflateBudget) {
    const compression = compressionOf(extensions);
    this.#isUnknown = compression === 'unknown';
    this.#elapsed = elapsed;
    const known = compression === 'unknown' ? undefined : compression;
    this.#visitor = this.#direction(true, known, budget);
    this.#service = this.#direction(false, known, budget);
  }

  /** Memory used, in bytes. */
  get memory(): number {
    return this.#keptBytes + memoryOf(this.#visitor) + memoryOf(this.#service);
  }

  /** Number of messages so far. */
  get count(): number {
    return this.#count;
  }

  /**
   * Takes bytes as they pass.
   *
   * @param start where the frames begin
   */
  push(isFromVisitor: boolean, bytes: Buffer, start = 0): void {
    if (this.#isUnknown) return;
    (isFromVisitor ? this.#visitor : this.#service).scanner.push(bytes, start);
  }

  /**
   * The messages that are kept.
   *
   * @param after number of the last one that is known
   */
  list(after = 0): SocketMessages {
    this.#inflateWaiting();
    this.#drop();
    const isDamaged = this.#visitor.scanner.isLost || this.#service.scanner.isLost;
    return {
      count: this.#count,
      oldest: this.#kept[0]?.id ?? this.#count + 1,
      messages: this.#kept
        .filter(({ id }) => id > after)
        .map((kept) => ({ ...kept, body: kept.form === 'waiting' ? EMPTY : Uint8Array.from(kept.body) })),
      problem: this.#isUnknown ? 'extension' : isDamaged ? 'damaged' : undefined,
    };
  }

  #direction(isFromVisitor: boolean, compression: Compression | undefined, budget: InflateBudget): Direction {
    const keepsContext =
      (isFromVisitor ? compression?.visitorKeepsContext : compression?.serviceKeepsContext) === true;
    return {
      scanner: new FrameScanner({
        isMasked: isFromVisitor,
        mayCompress: compression !== undefined,
        maxBytes: RECORDED_BODY_MIN_BYTES,
        onMessage: (message) => this.#add(isFromVisitor, message),
      }),
      inflater: compression && new Inflater(keepsContext, budget),
    };
  }

  #add(isFromVisitor: boolean, { opcode, content, size, isCompressed }: ScannedMessage): void {
    this.#count += 1;
    this.#kept.push({
      id: this.#count,
      atMs: this.#elapsed(),
      isFromVisitor,
      kind: KINDS.get(opcode) ?? 'binary',
      size,
      form: isCompressed ? 'waiting' : 'plain',
      body: this.#copy(content),
      isCut: size > content.length,
    });
    this.#keptBytes += content.length + MESSAGE_BYTES;
    this.#drop();
  }

  #copy(content: Buffer): Buffer {
    if (content.length === 0) return EMPTY;
    if (content.length > SLAB_BYTES / 8) {
      const copy = Buffer.allocUnsafeSlow(content.length);
      content.copy(copy);
      return copy;
    }
    if (this.#slabUsed + content.length > this.#slab.length) {
      // Not from Node's pool, where a message would keep unrelated memory alive.
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#slabUsed = 0;
    }
    const start = this.#slabUsed;
    this.#slabUsed += content.copy(this.#slab, start);
    return this.#slab.subarray(start, this.#slabUsed);
  }

  #drop(): void {
    const isFull = this.#kept.length > RECORDED_MESSAGES_MAX + RECORDED_MESSAGES_DROPPED;
    if (!isFull && this.#keptBytes <= RECORDED_MESSAGES_MAX_BYTES) return;
    let count = isFull ? RECORDED_MESSAGES_DROPPED : 0;
    let left = this.#keptBytes;
    for (const { body } of this.#kept.slice(0, count)) left -= body.length + MESSAGE_BYTES;
    // Down to three quarters, so that this does not happen with every message.
    const wanted = (RECORDED_MESSAGES_MAX_BYTES * 3) / 4;
    for (; left > wanted && this.#keptBytes > RECORDED_MESSAGES_MAX_BYTES; count += 1)
      left -= (this.#kept[count]?.body.length ?? 0) + MESSAGE_BYTES;
    const dropped = this.#kept.slice(0, count);
    this.#kept = this.#kept.slice(count);
    this.#keptBytes = left;
    // Later messages may refer to these.
    for (const isFromVisitor of [true, false]) {
      const waiting = dropped.filter(
        (kept) => kept.isFromVisitor === isFromVisitor && kept.form === 'waiting',
      );
      const { inflater } = isFromVisitor ? this.#visitor : this.#service;
      if (waiting.length > 0)
        inflater?.skip(
          waiting.map(({ body }) => body),
          waiting.every(({ isCut }) => !isCut),
        );
    }
  }

  #inflateWaiting(): void {
    for (const kept of this.#kept) {
      if (kept.form !== 'waiting') continue;
      const { inflater } = kept.isFromVisitor ? this.#visitor : this.#service;
      if (inflater?.isReady !== true) return;
      const inflated = inflater.inflate([kept.body], !kept.isCut);
      this.#keptBytes -= kept.body.length;
      kept.form = inflated === undefined ? 'unreadable' : 'compressed';
      kept.body = inflated === undefined ? EMPTY : Buffer.from(inflated.subarray(0, RECORDED_BODY_MIN_BYTES));
      kept.isCut ||= (inflated?.length ?? 0) > RECORDED_BODY_MIN_BYTES;
      this.#keptBytes += kept.body.length;
    }
  }
}

function memoryOf({ scanner, inflater }: Direction): number {
  return scanner.memory + (inflater?.memory ?? 0);
}

const SWITCHING_PROTOCOLS = 101;

/**
 * @param response head of the response to an upgrade
 * @returns the extensions of a WebSocket, `''` for none; `undefined` for another protocol
 */
export function extensionsOf(status: number, message: Pick<RecordedMessage, 'fields'>): string | undefined {
  const valueOf = (name: string): string => fieldValues(message, name).join(', ');
  if (status !== SWITCHING_PROTOCOLS || valueOf('upgrade').toLowerCase() !== 'websocket') return undefined;
  return valueOf('sec-websocket-extensions');
}
