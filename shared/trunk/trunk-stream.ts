/** One stream of a trunk. It offers what a data socket does: who reads and writes it does not know which of the two it is. */
import { CloseCode } from '../control.ts';
import type { ByteStreamHandler } from '../websocket/byte-stream.ts';
import { withArrival } from './arrivals.ts';
import type { Batch } from './batch.ts';
import { FrameType, WINDOW_MAX_BYTES } from './frames.ts';
import { HeldBytes } from './held-bytes.ts';
import { ReceiveWindow, type WindowBudget, WINDOW_START_BYTES } from './receive-window.ts';

/** Bytes that wait to be sent from which on a writer is asked to wait. */
const HIGH_WATER_BYTES = 16 * 1024;
/**
 * ms in which the peer has to take more of what is before the end of a stream. Half a window lasts that long at 110 B/s, and a
 * visitor may be slow.
 */
const FLUSH_TIMEOUT_MS = 300_000;

/** What a stream needs of its trunk. */
export interface StreamCarrier {
  readonly budget: WindowBudget;
  /** of the path, as far as it is known */
  readonly roundTripMs: number | undefined;
  /** Whether the peer has sent nothing at all since it was asked to, nor taken anything. */
  readonly isSilent: boolean;
  /** Asks the peer for a sign of life. */
  probe(): void;
  /** The stream has something to send. */
  ready(stream: TrunkStream): void;
  /** Something has come for the stream: {@link TrunkStream.handOverArrived} is due when all has been read. */
  arrived(stream: TrunkStream): void;
  /** Gives a stream its id; it is to be the next that is sent. */
  begin(stream: TrunkStream): number;
  /** Both sides have ended the stream. */
  forget(stream: TrunkStream): void;
}

export class TrunkStream {
  readonly #trunk: StreamCarrier;
  readonly #window: ReceiveWindow;
  #handler: ByteStreamHandler | undefined;
  #id: number;

  #queue: Buffer[] = [];
  #queued = 0;
  /** bytes that the peer takes */
  #mayLeave = WINDOW_START_BYTES;
  /** Whether a writer waits for room. */
  #isAwaited = false;
  /** how many more bytes the peer is to be let send */
  #grant = 0;

  /** code of the end that is to follow what was written; `undefined` while the stream is open */
  #closing: number | undefined;
  #closeSent = false;
  #peerClosed = false;
  #flushTimer: NodeJS.Timeout | undefined;

  #isPaused = false;
  /** bytes that the handler has and has no room for: it has paused the stream */
  #unsettled = 0;
  /** what came in the bytes that are being read */
  #arrived: Buffer | undefined;
  /** what came while the stream was paused, or had no handler */
  readonly #held = new HeldBytes();
  #isHandingOver = false;
  /** code of the peer's end, behind what is held */
  #endCode: number | undefined;

  /**
   * @param id that the peer has given it; 0 for one that gets it with its first bytes
   */
  constructor(trunk: StreamCarrier, id = 0) {
    this.#trunk = trunk;
    this.#id = id;
    this.#window = new ReceiveWindow(trunk.budget, performance.now());
  }

  /** 0 before anything was sent. */
  get id(): number {
    return this.#id;
  }

  /** Starts the flow, or hands it to another handler. */
  attach(handler: ByteStreamHandler): void {
    this.#handler = handler;
    this.#handOverLater();
  }

  /**
   * Sends bytes, which belong to the stream from then on: they may be masked in place.
   *
   * @returns `false` when more is queued than should be: wait for `onStreamDrain`
   */
  write(chunk: Buffer): boolean {
    if (this.#isOver || chunk.length === 0) return true;
    this.#queue.push(chunk);
    this.#queued += chunk.length;
    if (this.#mayLeave > 0) this.#trunk.ready(this);
    if (this.#queued < HIGH_WATER_BYTES) return true;
    this.#isAwaited = true;
    return false;
  }

  /** Stops the flow towards the handler. The peer may send what it has been let, and no more. */
  pause(): void {
    this.#isPaused = true;
    if (this.#arrived !== undefined) this.#held.add(this.#arrived);
    this.#arrived = undefined;
  }

  resume(): void {
    this.#isPaused = false;
    this.#settle();
    this.#handOverLater();
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  probe(): void {
    this.#trunk.probe();
  }

  get isSilent(): boolean {
    return this.#trunk.isSilent;
  }

  /**
   * Ends the stream: behind what was written, and where that is not a clean end, behind as much of it as the peer takes
   * now. The handler hears nothing more.
   *
   * @param code {@link CloseCode}; `normal` says that everything was sent
   */
  close(code: number): void {
    const wasOver = this.#isOver;
    this.#silence();
    if (wasOver) return;
    this.#closing = code;
    if (this.#queued > 0) this.#armFlushTimer();
    this.#settle();
    this.#trunk.ready(this);
  }

  /** Breaks the stream off, and drops what was not sent. The handler hears nothing more. */
  destroy(): void {
    this.#silence();
    this.#drop();
    if (this.#closeSent || this.#peerClosed) return;
    this.#closing = CloseCode.goingAway;
    this.#trunk.ready(this);
  }

  /**
   * Puts what may leave now into a batch.
   *
   * @param limit bytes of payload that may, no more than one frame carries
   * @returns whether there is more that may leave
   */
  putInto(batch: Batch, limit: number): boolean {
    if (this.#id === 0) {
      if (this.#queued === 0) return this.#gone();
      this.#id = this.#trunk.begin(this);
      batch.add(FrameType.open, this.#id, 0);
    }
    if (this.#grant > 0) {
      batch.add(FrameType.window, this.#id, this.#grant);
      this.#grant = 0;
    }
    this.#putData(batch, limit);
    const isClean = this.#closing === CloseCode.normal;
    const mayEnd = this.#queued === 0 || (!isClean && this.#mayLeave === 0);
    if (this.#closing !== undefined && mayEnd && !this.#closeSent) {
      batch.add(isClean ? FrameType.end : FrameType.abort, this.#id, isClean ? 0 : this.#closing);
      this.#closeSent = true;
      this.#drop();
      if (this.#peerClosed) this.#trunk.forget(this);
    }
    return this.#queued > 0 && this.#mayLeave > 0;
  }

  /** @returns whether what {@link putInto} has taken makes room for a writer who waits; once */
  takeRoom(): boolean {
    if (!this.#isAwaited || this.#queued > 0) return false;
    this.#isAwaited = false;
    return true;
  }

  /** Tells the writer who waits for it that there is room. */
  tellRoom(): void {
    if (!this.#isOver) this.#handler?.onStreamDrain();
  }

  /** @returns whether the peer was allowed to send it */
  received(piece: Buffer): boolean {
    if (!this.#window.received(piece.length) || this.#peerClosed) return false;
    if (this.#isOver) {
      this.#unsettled += piece.length;
      this.#settle();
    } else if (this.#isPaused || this.#held.size > 0 || this.#handler === undefined) {
      this.#held.add(piece);
    } else {
      this.#arrive(piece);
    }
    return true;
  }

  /** All that comes for now has come: it is handed over in one piece. */
  handOverArrived(): void {
    const piece = this.#arrived;
    this.#arrived = undefined;
    if (piece !== undefined) this.#handOver(piece);
  }

  /** @returns whether so much was allowed */
  granted(bytes: number): boolean {
    if (this.#mayLeave + bytes > WINDOW_MAX_BYTES || this.#peerClosed) return false;
    this.#mayLeave += bytes;
    if (this.#flushTimer !== undefined) this.#armFlushTimer();
    if (this.#queued > 0) this.#trunk.ready(this);
    return true;
  }

  /**
   * The peer has ended the stream. What it sent before is handed over first.
   *
   * @returns whether it had not done so before
   */
  ended(code: number): boolean {
    if (this.#peerClosed) return false;
    this.#peerClosed = true;
    if (this.#closeSent) this.#trunk.forget(this);
    const wasOver = this.#isOver;
    // What is not sent yet has nobody to take it; the peer hears that the end was seen.
    this.#drop();
    this.#closing = CloseCode.normal;
    if (!this.#closeSent) this.#trunk.ready(this);
    if (wasOver) return true;
    this.handOverArrived();
    this.#endCode = code;
    if (this.#held.size === 0) this.#tellEnd();
    return true;
  }

  /** The trunk is gone, and with it the stream. */
  lost(): void {
    this.#closeSent = true;
    if (this.#peerClosed) this.#trunk.forget(this);
    else this.ended(CloseCode.abnormal);
  }

  /** Whether this side has ended it, or has heard its end. */
  get #isOver(): boolean {
    return this.#closing !== undefined;
  }

  #putData(batch: Batch, limit: number): void {
    const size = Math.min(limit, this.#mayLeave, this.#queued);
    if (size === 0) return;
    batch.add(FrameType.data, this.#id, size);
    this.#queued -= size;
    this.#mayLeave -= size;
    let left = size;
    let whole = 0;
    for (const piece of this.#queue) {
      if (piece.length > left) break;
      batch.addPayload(piece);
      left -= piece.length;
      whole += 1;
    }
    if (whole === this.#queue.length) this.#queue.length = 0;
    else this.#queue.splice(0, whole);
    const [rest] = this.#queue;
    if (left === 0 || rest === undefined) return;
    batch.addPayload(rest.subarray(0, left));
    this.#queue[0] = rest.subarray(left);
  }

  #arrive(piece: Buffer): void {
    if (this.#arrived === undefined) this.#trunk.arrived(this);
    this.#arrived = withArrival(this.#arrived, piece);
  }

  #handOver(piece: Buffer): void {
    this.#unsettled += piece.length;
    this.#handler?.onStreamData(piece);
    // What a handler has no room for is not to make room for more.
    if (!this.#isPaused) this.#settle();
  }

  /** What was passed on makes room for more, and so does what nobody hears any more: the peer is to come to its end. */
  #settle(): void {
    if (this.#unsettled === 0 || (this.#isOver && this.#queued === 0)) return;
    const isDue = this.#window.passedOn(this.#unsettled);
    this.#unsettled = 0;
    if (!isDue) return;
    const roundTripMs = this.#isOver ? undefined : this.#trunk.roundTripMs;
    const grant = this.#window.grant(roundTripMs, performance.now());
    if (grant === 0) return;
    this.#grant += grant;
    this.#trunk.ready(this);
  }

  /** Not within `resume`: whoever calls it may be about to attach another handler. */
  #handOverLater(): void {
    if (this.#isHandingOver || (this.#held.size === 0 && this.#endCode === undefined)) return;
    this.#isHandingOver = true;
    queueMicrotask(() => {
      this.#isHandingOver = false;
      while (!this.#isPaused) {
        const piece = this.#held.shift();
        if (piece === undefined) break;
        this.#handOver(piece);
      }
      if (this.#held.size === 0) this.#tellEnd();
    });
  }

  #tellEnd(): void {
    const code = this.#endCode;
    if (code === undefined || this.#handler === undefined) return;
    this.#endCode = undefined;
    this.#window.close();
    const handler = this.#handler;
    this.#handler = undefined;
    handler.onStreamClose(code);
  }

  /** Nothing more is heard of it here. */
  #silence(): void {
    this.#handler = undefined;
    this.#unsettled += (this.#arrived?.length ?? 0) + this.#held.size;
    this.#arrived = undefined;
    this.#held.clear();
    this.#endCode = undefined;
    this.#window.close();
  }

  #armFlushTimer(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = setTimeout(() => this.destroy(), FLUSH_TIMEOUT_MS);
  }

  #drop(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    this.#queue = [];
    this.#queued = 0;
  }

  /** It ends before the peer has heard of it. */
  #gone(): false {
    if (this.#closing !== undefined) this.#trunk.forget(this);
    return false;
  }
}
