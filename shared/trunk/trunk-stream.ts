/** One stream of a trunk. It offers what a data socket does: who reads and writes it does not know which of the two it is. */
import { CloseCode } from '../control.ts';
import { type ByteStreamHandler, isCleanClose } from '../websocket/byte-stream.ts';
import { type MoveTarget, DedicatedSocket, type OwnSocketOwner } from './dedicated-socket.ts';
import { FrameType } from './frames.ts';
import { Receiver, type ReceiverOwner } from './receiver.ts';
import { type Batch, Sender } from './sender.ts';

/**
 * @limit Bytes that the peer has to take again and again of what is before the end of a stream: with a byte now and then it could have
 * the rest kept for ever.
 */
const FLUSH_STEP_BYTES = 16 * 1024;

/** What a stream needs of its trunk. */
export interface StreamCarrier {
  /** Whether the peer has sent nothing at all since it was asked to, nor taken anything. */
  readonly isSilent: boolean;
  /** ms in which the peer has to take {@link FLUSH_STEP_BYTES} of what is before the end of a stream, or all of it */
  readonly flushMs: number;
  /** Asks the peer for a sign of life. */
  probe(): void;
  /** The stream has something to send. */
  ready(stream: TrunkStream): void;
  /** Something has come for the stream: {@link TrunkStream.handOverArrived} is due when all has been read. */
  arrived(stream: TrunkStream): void;
  /** Gives a stream its id; it is to be the next that is sent. */
  begin(stream: TrunkStream): number;
  /** The peer was told that the stream is over, and is to answer. */
  awaitAnswer(stream: TrunkStream): void;
  /** Neither side sends anything more of the stream. */
  forget(stream: TrunkStream): void;
}

export class TrunkStream implements ReceiverOwner, OwnSocketOwner {
  readonly #trunk: StreamCarrier;
  readonly #receiver = new Receiver(this);
  readonly #sender = new Sender();
  readonly #run = new Run();
  #id: number;

  /** Whether the peer is to be let send more. */
  #isGrantDue = false;

  /** code of the end that is to follow what was written; `undefined` while the stream is open */
  #closing: number | undefined;
  /** what this side, and the peer, have sent last on the trunk, once they have; behind `moved`, there may be windows */
  #sentLast: 'end' | 'moved' | undefined;
  #peerLast: 'end' | 'moved' | undefined;
  #flushTimer: NodeJS.Timeout | undefined;

  #move: 'none' | 'asked' | 'failed' = 'none';
  /** what the peer is to be told about where to move */
  #connectionId: string | undefined;
  /** where the stream goes on */
  #own: DedicatedSocket | undefined;
  /** how it has ended there, while something is still to come on the trunk */
  #ownCode: number | undefined;
  /** the same once nothing comes on the trunk any more, nor leaves there */
  #direct: MoveTarget | undefined;

  /**
   * @param id that the peer has given it; 0 for one that gets it with its first bytes
   */
  constructor(trunk: StreamCarrier, id = 0) {
    this.#trunk = trunk;
    this.#id = id;
  }

  /** 0 before anything was sent. */
  get id(): number {
    return this.#id;
  }

  /** Whether the peer was told the end of the stream on the trunk: what it still sends there has nobody to take it. */
  get hasSentEnd(): boolean {
    return this.#sentLast === 'end';
  }

  /** Whether this side has ended it, or has heard its end. */
  get isOver(): boolean {
    return this.#closing !== undefined;
  }

  /** Starts the flow, or hands it to another handler. */
  attach(handler: ByteStreamHandler): void {
    if (this.#direct !== undefined) return this.#direct.attach(handler);
    this.#receiver.attach(handler);
    this.#follow();
  }

  /**
   * Sends bytes, which belong to the stream from then on: they may be masked in place.
   *
   * @returns `false` when more is queued than should be: wait for `onStreamDrain`
   */
  write(chunk: Buffer): boolean {
    if (this.#direct !== undefined) return this.#direct.write(chunk);
    if (this.isOver || chunk.length === 0) return true;
    if (this.#own !== undefined) return this.#own.write(chunk);
    if (this.#sender.isOpen) this.#trunk.ready(this);
    return this.#sender.add(chunk);
  }

  /** Stops the flow towards the handler. The peer may send what it has been let, and no more. */
  pause(): void {
    if (this.#direct !== undefined) return this.#direct.pause();
    this.#receiver.pause();
    this.#own?.socket.pause();
  }

  resume(): void {
    if (this.#direct !== undefined) return this.#direct.resume();
    this.#receiver.resume();
    this.#follow();
  }

  get isPaused(): boolean {
    return this.#direct === undefined ? this.#receiver.isPaused : this.#direct.isPaused;
  }

  probe(): void {
    (this.#own?.socket ?? this.#trunk).probe();
  }

  /** As {@link WebSocketByteStream.lookForEnd}; an end that has come already is told, and what was before it is dropped. */
  lookForEnd(): void {
    (this.#direct ?? this.#own?.socket)?.lookForEnd();
    this.#receiver.tellEndNow();
  }

  get isSilent(): boolean {
    return (this.#own?.socket ?? this.#trunk).isSilent;
  }

  /**
   * Ends the stream: behind what was written, and where that is not a clean end, behind as much of it as the peer takes
   * now. The handler hears nothing more.
   *
   * @param code {@link CloseCode}; `normal` says that everything was sent
   */
  close(code: number): void {
    if (this.#direct !== undefined) return this.#direct.close(code);
    if (this.isOver) return this.#receiver.silence();
    this.#closing = code;
    this.#own?.socket.close(code);
    if (!this.#sender.isEmpty) this.#armFlushTimer();
    this.#receiver.silence();
    this.#trunk.ready(this);
    this.#awaitAnswer();
  }

  /** Breaks the stream off, and drops what was not sent. The handler hears nothing more. */
  destroy(): void {
    const mustTell = this.#sentLast === undefined && this.#peerLast !== 'end';
    this.#closing = mustTell ? CloseCode.goingAway : CloseCode.normal;
    this.#drop();
    this.#receiver.silence();
    this.#own?.socket.destroy();
    if (mustTell) this.#trunk.ready(this);
    this.#awaitAnswer();
  }

  /** Has somebody told, once, when more than so many bytes have gone one way without any the other way. */
  whenLarge(bytes: number, tell: () => void): void {
    this.#run.whenAbove(bytes, tell);
  }

  /** Asks the peer to open the data socket of this id, to go on there; once for a stream. */
  offerMove(connectionId: string): void {
    if (this.isOver) return;
    this.#move = 'asked';
    this.#connectionId = connectionId;
    this.#trunk.ready(this);
  }

  /**
   * The peer asks to go on over a data socket.
   *
   * @returns whether it may
   */
  moveAsked(): boolean {
    if (this.#move !== 'none' || this.#peerLast !== undefined) return false;
    this.#move = 'asked';
    return true;
  }

  /** Goes on over a data socket, which nobody is attached to, with everything that is written from now on. */
  moveTo(socket: MoveTarget): void {
    if (this.isOver) return socket.close(CloseCode.goingAway);
    this.#own = new DedicatedSocket(socket, this);
    this.#trunk.ready(this);
    if (this.#peerLast === 'moved') this.#own.read();
    this.#follow();
  }

  /** There is no data socket to go on over. */
  moveFailed(): void {
    this.#move = 'failed';
    if (this.#peerLast === 'moved') this.#breakOff();
  }

  /**
   * Puts what may leave now into a batch.
   *
   * @param limit bytes of payload that may, no more than one frame carries
   * @returns whether there is more that may leave
   */
  putInto(batch: Batch, limit: number): boolean {
    if (this.#id === 0) {
      if (this.#sender.isEmpty) return this.#gone();
      this.#id = this.#trunk.begin(this);
      batch.add(FrameType.open, this.#id, 0);
    }
    if (this.#isGrantDue && this.#peerLast === undefined) {
      batch.add(FrameType.window, this.#id, this.#receiver.grant());
    }
    this.#isGrantDue = false;
    if (this.#sentLast === undefined) {
      this.#putMove(batch);
      const sent = this.#sender.putInto(batch, this.#id, limit);
      if (sent > 0) this.#run.sent(sent);
      this.#putLast(batch);
    }
    return !this.#sender.isEmpty && this.#sender.isOpen;
  }

  /** @returns whether what {@link putInto} has taken makes room for a writer who waits; once */
  takeRoom(): boolean {
    return this.#sender.takeRoom();
  }

  /** Tells the writer who waits for it that there is room. */
  tellRoom(): void {
    if (!this.isOver && this.#own?.isAwaited !== true) this.#receiver.handler?.onStreamDrain();
  }

  /** @returns whether the peer was allowed to send it */
  received(piece: Buffer): boolean {
    if (this.#peerLast !== undefined) return false;
    this.#run.received(piece.length);
    return this.#receiver.received(piece);
  }

  /** All that comes for now has come: it is handed over in one piece. */
  handOverArrived(): void {
    this.#receiver.handOverArrived();
  }

  /** @returns whether so much was allowed */
  granted(bytes: number): boolean {
    if (this.#peerLast === 'end' || !this.#sender.widen(bytes)) return false;
    if (this.#flushTimer !== undefined && bytes >= FLUSH_STEP_BYTES) this.#armFlushTimer();
    if (!this.#sender.isEmpty) this.#trunk.ready(this);
    return true;
  }

  /**
   * The peer has ended the stream. What it sent before is handed over first.
   *
   * @returns whether it could
   */
  ended(code: number): boolean {
    if (this.#peerLast !== undefined) return false;
    this.#peerLast = 'end';
    this.#own?.socket.destroy();
    this.#own = undefined;
    if (this.#sentLast !== undefined) this.#trunk.forget(this);
    this.#over(code);
    return true;
  }

  /**
   * The peer goes on over the data socket.
   *
   * @returns whether it could
   */
  moved(): boolean {
    if (this.#peerLast !== undefined || this.#move === 'none') return false;
    this.#peerLast = 'moved';
    if (this.#sentLast !== undefined) this.#trunk.forget(this);
    this.#receiver.handOverArrived();
    if (this.isOver) return true;
    if (this.#move === 'failed') this.#breakOff();
    else this.#own?.read();
    this.#follow();
    return true;
  }

  /** The trunk is gone, and with it the stream, which is not wholly on its data socket. */
  lost(): void {
    this.#sentLast ??= 'end';
    if (this.#peerLast === undefined) this.ended(CloseCode.abnormal);
    else if (!this.isOver) this.#breakOff();
    else this.#drop();
    this.#trunk.forget(this);
  }

  arrived(): void {
    this.#trunk.arrived(this);
  }

  letSend(): void {
    // Who ends a stream is to be sent nothing more; who has moved it before waits for all that was sent on the trunk.
    const moves =
      this.#sentLast === 'moved' || (this.#own !== undefined && this.#closing === CloseCode.normal);
    const isUnwanted = this.isOver && this.#sender.isEmpty && !moves;
    if (this.#peerLast !== undefined || isUnwanted) return;
    this.#isGrantDue = true;
    this.#trunk.ready(this);
  }

  emptied(): void {
    this.#follow();
  }

  drained(): void {
    if (!this.#sender.isAwaited) this.tellRoom();
  }

  came(piece: Buffer): void {
    this.#receiver.add(piece);
  }

  closed(code: number): void {
    if (this.isOver) return;
    if (this.#peerLast !== 'moved' && !isCleanClose(code)) return this.#breakOff(code);
    this.#ownCode = code;
    this.#follow();
  }

  #putMove(batch: Batch): void {
    if (this.#connectionId === undefined || this.isOver) return;
    const id = Buffer.from(this.#connectionId, 'latin1');
    batch.add(FrameType.move, this.#id, id.length);
    batch.addPayload(id);
    this.#connectionId = undefined;
  }

  #putLast(batch: Batch): void {
    const isClean = this.#closing === undefined || this.#closing === CloseCode.normal;
    if (!this.#sender.isEmpty && (isClean || this.#sender.isOpen)) return;
    const moves = isClean && this.#own !== undefined;
    if (moves) batch.add(FrameType.moved, this.#id, 0);
    else if (this.#closing === CloseCode.normal) batch.add(FrameType.end, this.#id, 0);
    else if (this.#closing !== undefined) batch.add(FrameType.abort, this.#id, this.#closing);
    else return;
    this.#sentLast = moves ? 'moved' : 'end';
    this.#drop();
    if (this.#peerLast !== undefined) this.#trunk.forget(this);
    this.#awaitAnswer();
    this.#follow();
  }

  /**
   * What comes through the data socket follows when all before it was handed over; and without a detour once nothing leaves
   * on the trunk any more.
   */
  #follow(): void {
    const own = this.#own;
    if (own === undefined || this.#direct !== undefined || this.#peerLast !== 'moved' || this.isOver) return;
    const { isOpen, handler } = this.#receiver;
    if (this.#ownCode !== undefined) return this.#over(this.#ownCode);
    if (!isOpen || handler === undefined) return own.socket.pause();
    if (this.#sentLast !== undefined) {
      this.#direct = own.socket;
      own.socket.attach(handler);
    }
    own.socket.resume();
  }

  /** The peer has ended the stream, one way or the other. What is not sent yet has nobody to take it. */
  #over(code: number): void {
    this.#drop();
    const wasOver = this.isOver;
    this.#closing = CloseCode.normal;
    // The peer hears that its end was seen.
    if (this.#sentLast === undefined) this.#trunk.ready(this);
    if (!wasOver) this.#receiver.end(code);
  }

  /** What is missing comes no more. */
  #breakOff(code: number = CloseCode.abnormal): void {
    const { handler } = this.#receiver;
    this.destroy();
    handler?.onStreamClose(code);
  }

  /** One that goes on over its data socket may take its time with what is to come on the trunk; not so one that is over. */
  #awaitAnswer(): void {
    if (this.isOver && this.#sentLast !== undefined && this.#peerLast === undefined)
      this.#trunk.awaitAnswer(this);
  }

  #armFlushTimer(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = setTimeout(() => this.destroy(), this.#trunk.flushMs);
  }

  #drop(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    this.#sender.clear();
  }

  /** It ends before the peer has heard of it. */
  #gone(): false {
    if (this.#closing !== undefined) this.#trunk.forget(this);
    return false;
  }
}

/** How much goes one way on a stream without anything the other way: what a stream is that is large. */

export class Run {
  /** bytes; below 0 for those that were sent */
  #bytes = 0;
  #limit = Infinity;
  #onLarge: (() => void) | undefined;

  /** Has somebody told, once, when it is above so many bytes. */
  whenAbove(bytes: number, tell: () => void): void {
    this.#limit = bytes;
    this.#onLarge = tell;
  }

  received(bytes: number): void {
    this.#set(this.#bytes > 0 ? this.#bytes + bytes : bytes);
  }

  sent(bytes: number): void {
    this.#set(this.#bytes < 0 ? this.#bytes - bytes : -bytes);
  }

  #set(bytes: number): void {
    this.#bytes = bytes;
    if (Math.abs(bytes) <= this.#limit) return;
    this.#limit = Infinity;
    this.#onLarge?.();
  }
}
