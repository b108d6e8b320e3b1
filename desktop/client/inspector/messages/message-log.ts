import { type Capture, spareBuffer } from '../capture.ts';
import {
  type MessageCounts,
  fieldValues,
  type RecordedMessage,
  type SocketMessage,
  type SocketMessages,
  RECORDED_BODY_MIN_BYTES,
} from '../records.ts';
import { EventScanner } from './event-scanner.ts';
import { FrameScanner, type ScannedMessage, type Scanner } from './frame-scanner.ts';
import { compressionOf, type InflateBudget, Inflater } from './inflate.ts';

/** Number of messages that are kept per connection, in both directions together. */
export const RECORDED_MESSAGES_MAX = 500;
/** Maximum memory used for the messages of one connection. Beyond that, the oldest are dropped. */
export const RECORDED_MESSAGES_MAX_BYTES = 1024 * 1024;
/** Number of messages that are dropped together, because decompressing them one by one would cost more. */
export const RECORDED_MESSAGES_DROPPED = 64;

/** Memory of a message without its content, in bytes. */
const MESSAGE_BYTES = 128;
/** Small contents share a buffer of this size. */
const SLAB_BYTES = 16 * 1024;
/** Larger ones have a buffer of their own. */
const SLAB_SHARE_BYTES = SLAB_BYTES / 8;
const EMPTY = Buffer.alloc(0);

/** A message that is kept; its body is compressed while it is waiting. */
type Kept = { -readonly [Field in keyof SocketMessage]: SocketMessage[Field] } & { body: Buffer };

/** One direction of a connection. */
interface Direction {
  readonly scanner: Scanner;
  readonly inflater?: Inflater | undefined;
}

/** Messages that are no part of a conversation, but of its protocol. */
const CONTROL: ReadonlySet<SocketMessage['kind']> = new Set(['close', 'ping', 'pong', 'comment']);

/**
 * The last messages of one WebSocket or event stream: at most {@link RECORDED_MESSAGES_MAX}, within
 * {@link RECORDED_MESSAGES_MAX_BYTES}. Compressed ones are decompressed when they are shown, and not while they pass.
 */
export class MessageLog {
  readonly #kind: MessageCounts['kind'];
  readonly #elapsed: () => number;
  readonly #unknown: SocketMessages['problem'];
  #visitor: Direction | undefined;
  #service: Direction | undefined;
  #keepsNothing = false;
  #kept: Kept[] = [];
  #fromVisitor = 0;
  #fromService = 0;
  #control = 0;
  /** ms when the current piece arrived */
  #atMs = 0;
  #keptBytes = 0;
  #slab = EMPTY;
  #slabUsed = 0;

  private constructor(
    kind: MessageCounts['kind'],
    elapsed: () => number,
    unknown: SocketMessages['problem'],
    direction: (
      isFromVisitor: boolean,
      onMessage: (message: ScannedMessage) => void,
    ) => Direction | undefined,
  ) {
    this.#kind = kind;
    this.#elapsed = elapsed;
    this.#unknown = unknown;
    const of = (isFromVisitor: boolean): Direction | undefined =>
      unknown === undefined
        ? direction(isFromVisitor, (message) => this.#add(isFromVisitor, message))
        : undefined;
    this.#visitor = of(true);
    this.#service = of(false);
  }

  /**
   * @param extensions that the service has accepted, as in `Sec-WebSocket-Extensions`
   * @param elapsed ms since the request began
   */
  static ofSocket(extensions: string, elapsed: () => number, budget: InflateBudget): MessageLog {
    const known = compressionOf(extensions);
    const compression = known === 'unknown' ? undefined : known;
    const problem = known === 'unknown' ? 'extension' : undefined;
    return new MessageLog('websocket', elapsed, problem, (isFromVisitor, onMessage) => ({
      scanner: new FrameScanner({
        isMasked: isFromVisitor,
        mayCompress: compression !== undefined,
        onMessage,
      }),
      inflater:
        compression &&
        new Inflater(
          isFromVisitor ? compression.visitorKeepsContext : compression.serviceKeepsContext,
          budget,
        ),
    }));
  }

  /** @param isEncoded whether the response has a content coding, with which its events cannot be read */
  static ofEvents(isEncoded: boolean, elapsed: () => number): MessageLog {
    return new MessageLog(
      'event-stream',
      elapsed,
      isEncoded ? 'encoded' : undefined,
      (isFromVisitor, onMessage) => (isFromVisitor ? undefined : { scanner: new EventScanner(onMessage) }),
    );
  }

  /** Memory used, in bytes. */
  get memory(): number {
    return this.#keptBytes + memoryOf(this.#visitor) + memoryOf(this.#service);
  }

  get counts(): MessageCounts {
    return {
      kind: this.#kind,
      fromVisitor: this.#fromVisitor,
      fromService: this.#fromService,
      control: this.#control,
    };
  }

  /**
   * Takes bytes as they pass.
   *
   * @param start where the messages begin or continue
   */
  push(isFromVisitor: boolean, bytes: Buffer, start = 0): void {
    this.#atMs = this.#elapsed();
    (isFromVisitor ? this.#visitor : this.#service)?.scanner.push(bytes, start);
  }

  /** Forgets the messages, and counts what follows. */
  forget(): void {
    this.#keepsNothing = true;
    this.#kept = [];
    this.#keptBytes = 0;
    this.#slab = EMPTY;
    this.#slabUsed = 0;
    this.#visitor = forgotten(this.#visitor);
    this.#service = forgotten(this.#service);
  }

  /**
   * The messages that are kept.
   *
   * @param after number of the last one that is known
   */
  list(after = 0): SocketMessages {
    this.#inflateWaiting();
    this.#drop();
    const isDamaged = this.#visitor?.scanner.isLost === true || this.#service?.scanner.isLost === true;
    return {
      count: this.#count,
      oldest: this.#kept[0]?.id ?? this.#count + 1,
      messages: this.#kept
        .filter(({ id }) => id > after)
        .map((kept) => ({ ...kept, body: kept.form === 'waiting' ? EMPTY : Uint8Array.from(kept.body) })),
      problem: this.#unknown ?? (isDamaged ? 'damaged' : undefined),
    };
  }

  get #count(): number {
    return this.#fromVisitor + this.#fromService + this.#control;
  }

  #add(isFromVisitor: boolean, { kind, event, content, size, isCompressed }: ScannedMessage): void {
    if (CONTROL.has(kind)) this.#control += 1;
    else if (isFromVisitor) this.#fromVisitor += 1;
    else this.#fromService += 1;
    if (this.#keepsNothing) return;
    const isCut = size > content.length;
    const kept: Kept = {
      id: this.#count,
      atMs: this.#atMs,
      isFromVisitor,
      kind,
      size,
      form: isCompressed ? 'waiting' : 'plain',
      body: this.#copy(content),
      isCut,
      event,
    };
    this.#kept.push(kept);
    this.#keptBytes += memoryOfMessage(kept);
    this.#drop();
  }

  #copy(content: Capture): Buffer {
    const { length } = content;
    if (length === 0) return EMPTY;
    if (length > SLAB_SHARE_BYTES) return content.take();
    if (this.#slabUsed + length > this.#slab.length) {
      // Not from Node's pool, where a message would keep unrelated memory alive.
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#slabUsed = 0;
    }
    const start = this.#slabUsed;
    content.copyTo(this.#slab, start);
    this.#slabUsed += length;
    return this.#slab.subarray(start, this.#slabUsed);
  }

  #drop(): void {
    const isFull = this.#kept.length > RECORDED_MESSAGES_MAX + RECORDED_MESSAGES_DROPPED;
    if (!isFull && this.#keptBytes <= RECORDED_MESSAGES_MAX_BYTES) return;
    let count = isFull ? RECORDED_MESSAGES_DROPPED : 0;
    let left = this.#keptBytes;
    for (const kept of this.#kept.slice(0, count)) left -= memoryOfMessage(kept);
    // Down to three quarters, so that this does not happen with every message.
    const wanted = (RECORDED_MESSAGES_MAX_BYTES * 3) / 4;
    for (; left > wanted && this.#keptBytes > RECORDED_MESSAGES_MAX_BYTES; count += 1) {
      const kept = this.#kept[count];
      left -= kept === undefined ? left : memoryOfMessage(kept);
    }
    const dropped = this.#kept.slice(0, count);
    this.#kept = this.#kept.slice(count);
    this.#keptBytes = left;
    // Later messages may refer to these.
    for (const isFromVisitor of [true, false]) {
      const waiting = dropped.filter(
        (kept) => kept.isFromVisitor === isFromVisitor && kept.form === 'waiting',
      );
      const inflater = (isFromVisitor ? this.#visitor : this.#service)?.inflater;
      if (waiting.length > 0)
        inflater?.skip(
          waiting.map(({ body }) => body),
          waiting.every(({ isCut }) => !isCut),
        );
    }
    for (const { body } of dropped) if (body.length > SLAB_SHARE_BYTES) spareBuffer(body);
  }

  #inflateWaiting(): void {
    for (const kept of this.#kept) {
      if (kept.form !== 'waiting') continue;
      const inflater = (kept.isFromVisitor ? this.#visitor : this.#service)?.inflater;
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

function memoryOf(direction: Direction | undefined): number {
  return (direction?.scanner.memory ?? 0) + (direction?.inflater?.memory ?? 0);
}

function forgotten(direction: Direction | undefined): Direction | undefined {
  direction?.scanner.forget();
  return direction && { scanner: direction.scanner };
}

function memoryOfMessage({ body, event }: Kept): number {
  return MESSAGE_BYTES + body.length + 2 * ((event?.name?.length ?? 0) + (event?.id?.length ?? 0));
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
