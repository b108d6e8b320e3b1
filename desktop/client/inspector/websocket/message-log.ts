import { Opcode } from '../../../../shared/websocket/frames.ts';
import {
  RECORDED_BODY_MAX_BYTES,
  RECORDED_MESSAGES_DROPPED,
  RECORDED_MESSAGES_MAX,
  RECORDED_MESSAGES_MAX_BYTES,
} from '../../limits.ts';
import type { RecordedMessage, SocketMessage, SocketMessages } from '../records.ts';
import { FrameScanner, type ScannedMessage } from './frame-scanner.ts';
import { type Compression, compressionOf, type InflateBudget, Inflater } from './inflate.ts';

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
        maxBytes: RECORDED_BODY_MAX_BYTES,
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
      kept.body = inflated === undefined ? EMPTY : Buffer.from(inflated.subarray(0, RECORDED_BODY_MAX_BYTES));
      kept.isCut ||= (inflated?.length ?? 0) > RECORDED_BODY_MAX_BYTES;
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
export function extensionsOf(
  status: number,
  { fields }: Pick<RecordedMessage, 'fields'>,
): string | undefined {
  const valueOf = (wanted: string): string =>
    fields
      .filter(([name]) => name.toLowerCase() === wanted)
      .map(([, value]) => value)
      .join(', ');
  if (status !== SWITCHING_PROTOCOLS || valueOf('upgrade').toLowerCase() !== 'websocket') return undefined;
  return valueOf('sec-websocket-extensions');
}
