/**
 * One stream of a trunk, with the interface of a data socket: readers and writers do not know which of the two it is.
 */
import { CloseCode } from '../control.ts';
import { type ByteStreamHandler, flushesBefore } from '../websocket/byte-stream.ts';
import { DedicatedSocket, type MoveTarget, type SocketEvent } from './dedicated-socket.ts';
import { FLUSH_STEP_BYTES, FrameType } from './frames.ts';
import { type Received, Receiver, type WideStreams } from './receiver.ts';
import { type Batch, Sender } from './sender.ts';

/** The trunk as a stream uses it. */
export interface StreamCarrier {
  /** Whether the peer has neither sent nor read anything since it was probed. */
  readonly isSilent: boolean;
  /**
   * ms in which the peer has to read {@link FLUSH_STEP_BYTES} of the remaining data of an ended stream, or all of it
   */
  readonly flushMs: number;
  /** its streams with windows that have grown */
  readonly wide: WideStreams<TrunkStream>;
  /** bytes of all its streams */
  readonly carried: Carried;
  /** Asks the peer for a sign of life. */
  probe(): void;
  /** The stream has data to send. */
  ready(stream: TrunkStream): void;
  /** Assigns an id to a stream, which must be the next one sent. */
  begin(stream: TrunkStream): number;
  /** The peer was told that the stream has ended, and must answer. */
  awaitAnswer(stream: TrunkStream): void;
  /** Neither side sends anything more of the stream. */
  forget(stream: TrunkStream): void;
}

export class TrunkStream {
  readonly #trunk: StreamCarrier;
  readonly #receiver: Receiver;
  readonly #sender = new Sender();
  /** shows whether the stream is large */
  readonly run: Run;
  /** 0 before anything was sent. */
  id: number;
  /** as in {@link FrameHandler.onOpen} of the trunk's frames */
  readonly peers: string;

  /** Whether the peer should get a grant. */
  #isGrantDue = false;

  /** code of the end to send after the written data; `undefined` while the stream is open */
  #closing: number | undefined;
  /** the last frames of this side and of the peer on the trunk, if sent; only windows may follow `moved` */
  #sentLast: 'end' | 'moved' | undefined;
  #peerLast: 'end' | 'moved' | undefined;
  #flushTimer: NodeJS.Timeout | undefined;
  /** whether this side has sent all its data, and whether the peer was told so on the trunk */
  #eof: 'none' | 'due' | 'sent' = 'none';
  /** whether the peer has told that on the trunk */
  #peerEof = false;

  #move: 'none' | 'asked' | 'failed' = 'none';
  /** the id to send to the peer for the move */
  #connectionId: string | undefined;
  /** the data socket that the stream continues on */
  #own: DedicatedSocket | undefined;
  /** the code of its end there, while data on the trunk is outstanding */
  #ownCode: number | undefined;
  /** the data socket that is being opened at the peer's request */
  #opening: { cancel(): void } | undefined;
  /** the same socket once nothing is sent or received on the trunk any longer */
  #direct: MoveTarget | undefined;

  /**
   * @param id assigned by the peer; 0 if it is assigned with the first bytes
   */
  constructor(trunk: StreamCarrier, id = 0, peers = '') {
    this.#trunk = trunk;
    this.run = new Run(trunk.carried);
    this.#receiver = new Receiver(this.#onReceiver);
    this.id = id;
    this.peers = peers;
  }

  /** Whether the peer was told the end of the stream on the trunk: data that it still sends there is dropped. */
  get hasSentEnd(): boolean {
    return this.#sentLast === 'end';
  }

  /** Whether this side has ended the stream, or has learned of its end. */
  get #isOver(): boolean {
    return this.#closing !== undefined;
  }

  /** Starts the flow, or passes it to another handler. */
  attach(handler: ByteStreamHandler): void {
    if (this.#direct !== undefined) return this.#direct.attach(handler);
    this.#receiver.attach(handler);
    this.#follow();
  }

  /** Takes back the end of the data that the handler is just getting, for a handler that it attaches now. */
  unread(piece: Buffer): void {
    if (piece.length > 0) this.#receiver.unread(piece);
  }

  /**
   * Sends bytes. The caller must not use them afterwards, because they may be masked in place.
   *
   * @returns `false` if too much is queued: wait for `onStreamDrain`
   */
  write(chunk: Buffer): boolean {
    if (this.#direct !== undefined) return this.#direct.write(chunk);
    if (this.#isOver || chunk.length === 0) return true;
    if (this.#own !== undefined) return this.#own.write(chunk);
    if (this.#sender.isOpen) this.#trunk.ready(this);
    return this.#sender.add(chunk);
  }

  /** Stops the flow to the handler. The peer may send only what it was granted. */
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

  /**
   * As {@link WebSocketByteStream.lookForEnd}. Reports an end that has already arrived, and drops the data before it.
   */
  lookForEnd(): void {
    (this.#direct ?? this.#own?.socket)?.lookForEnd();
    this.#receiver.tellEndNow();
  }

  get isSilent(): boolean {
    return (this.#own?.socket ?? this.#trunk).isSilent;
  }

  /** Tells the peer after the written data that no more follows. The peer may still send. */
  end(): void {
    if (this.#isOver || this.#eof !== 'none') return;
    this.#eof = 'due';
    if (this.#own === undefined) this.#trunk.ready(this);
    else this.#own.socket.end();
  }

  /**
   * Ends the stream after the written data, or after as much of it as the peer accepts now: see {@link flushesBefore}. The
   * handler is no longer called.
   *
   * @param code {@link CloseCode}; `normal` means that all data was sent
   */
  close(code: number): void {
    if (this.#direct !== undefined) return this.#direct.close(code);
    if (this.#isOver) return this.#receiver.silence();
    this.#closing = code;
    this.#opening?.cancel();
    this.#own?.socket.close(code);
    if (!this.#sender.isEmpty) this.#armFlushTimer();
    this.#receiver.silence();
    this.#trunk.ready(this);
    this.#awaitAnswer();
  }

  /** Breaks the stream off, and drops unsent data. The handler is no longer called. */
  destroy(): void {
    const mustTell = this.#sentLast === undefined && this.#peerLast !== 'end';
    this.#closing = mustTell ? CloseCode.goingAway : CloseCode.normal;
    this.#drop();
    this.#opening?.cancel();
    this.#receiver.silence();
    this.#own?.socket.destroy();
    if (mustTell) this.#trunk.ready(this);
    this.#awaitAnswer();
  }

  /** Asks the peer to open the data socket of this id, to continue there; once per stream. */
  offerMove(connectionId: string): void {
    if (this.#isOver) return;
    this.#move = 'asked';
    this.#connectionId = connectionId;
    this.#trunk.ready(this);
  }

  /**
   * The peer asks to continue over a data socket.
   *
   * @param tell not called if this side ended the stream while the frame was on its way
   * @returns whether this is allowed
   */
  moveAsked(tell: () => void): boolean {
    if (this.#move !== 'none' || this.#peerLast !== undefined) return false;
    this.#move = 'asked';
    if (!this.#isOver) tell();
    return true;
  }

  /** @param opening the data socket for {@link moveTo}, canceled if the stream ends before */
  opens(opening: { cancel(): void }): void {
    this.#opening = opening;
  }

  /** Continues over a data socket without a handler, for everything written from now on. */
  moveTo(socket: MoveTarget): void {
    if (this.#isOver) return socket.close(CloseCode.goingAway);
    this.#opening = undefined;
    this.#own = new DedicatedSocket(socket, (event) => this.#onOwnSocket(event));
    // A slow trunk, or a window without room, holds back nothing that can go over the data socket.
    socket.carryEnd();
    this.#own.takeOver(this.#sender.takeAll(), this.#sender.isAwaited);
    if (this.#eof === 'due') socket.end();
    this.#trunk.ready(this);
    if (this.#peerLast === 'moved') this.#own.read();
    this.#follow();
  }

  /** No data socket is available to continue over. */
  moveFailed(): void {
    this.#move = 'failed';
    this.#opening = undefined;
    if (this.#peerLast === 'moved') this.#breakOff();
  }

  /**
   * Adds the data that may be sent now to a batch.
   *
   * @param limit maximum bytes of payload, at most one frame
   * @returns whether more data may be sent
   */
  putInto(batch: Batch, limit: number): boolean {
    if (this.id === 0) {
      if (this.#sender.isEmpty && (this.peers === '' || this.#isOver)) return this.#gone();
      this.id = this.#trunk.begin(this);
      const peers = Buffer.from(this.peers, 'latin1');
      batch.add(FrameType.open, this.id, peers.length);
      batch.addPayload(peers);
    }
    if (this.#isGrantDue && this.#peerLast === undefined)
      batch.add(
        FrameType.window,
        this.id,
        this.#receiver.grant(this.#trunk.wide.has(this) || !this.#trunk.wide.isFull),
      );
    this.#trunk.wide.set(this, this.#receiver.isWide);
    this.#isGrantDue = false;
    if (this.#sentLast === undefined) {
      this.#putMove(batch);
      const sent = this.#sender.putInto(batch, this.id, limit);
      if (sent > 0) this.run.sent(sent);
      this.#putEof(batch);
      this.#putLast(batch);
    }
    return !this.#sender.isEmpty && this.#sender.isOpen;
  }

  /** @returns whether {@link putInto} has made room for a waiting writer; once */
  takeRoom(): boolean {
    return this.#sender.takeRoom();
  }

  /** Notifies the waiting writer of room. */
  tellRoom(): void {
    if (!this.#isOver && this.#own?.isAwaited !== true) this.#receiver.handler?.onStreamDrain();
  }

  /** As {@link Receiver.received}. */
  received(piece: Buffer): Received {
    if (this.#peerLast !== undefined || this.#peerEof) return 'refused';
    this.run.received(piece.length);
    return this.#receiver.received(piece);
  }

  /**
   * The peer has sent all its data on the trunk.
   *
   * @returns whether this was allowed
   */
  sentAll(): boolean {
    if (this.#peerLast !== undefined || this.#peerEof) return false;
    this.#peerEof = true;
    this.#receiver.endData();
    return true;
  }

  /** All data that is available now has been read: hands it over in one piece. */
  handOverArrived(): void {
    this.#receiver.handOverArrived();
  }

  /** @returns whether that much was allowed */
  granted(bytes: number): boolean {
    if (this.#peerLast === 'end' || !this.#sender.widen(bytes)) return false;
    if (this.#flushTimer !== undefined && bytes >= FLUSH_STEP_BYTES) this.#armFlushTimer();
    if (!this.#sender.isEmpty) this.#trunk.ready(this);
    return true;
  }

  /**
   * The peer has ended the stream. Its earlier data is handed over first.
   *
   * @returns whether this was allowed
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
   * The peer continues over the data socket.
   *
   * @returns whether this was allowed
   */
  moved(): boolean {
    if (this.#peerLast !== undefined || this.#move === 'none') return false;
    this.#peerLast = 'moved';
    if (this.#sentLast !== undefined) this.#trunk.forget(this);
    this.#receiver.handOverArrived();
    if (this.#isOver) return true;
    if (this.#move === 'failed') this.#breakOff();
    else this.#own?.read();
    this.#follow();
    return true;
  }

  /** The trunk is lost, and with it any stream that has not completely moved to its data socket. */
  lost(): void {
    this.#sentLast ??= 'end';
    if (this.#peerLast === undefined) this.ended(CloseCode.abnormal);
    else if (!this.#isOver) this.#breakOff();
    else this.#drop();
    this.#trunk.forget(this);
  }

  readonly #onReceiver = (event: 'emptied' | 'grant'): void => {
    if (event === 'emptied') return this.#follow();
    // An ended stream gets no more data; a stream that moved before waits for all data of the trunk.
    const moves =
      this.#sentLast === 'moved' ||
      (this.#own !== undefined && this.#closing !== undefined && flushesBefore(this.#closing));
    const isUnwanted = this.#isOver && this.#sender.isEmpty && !moves;
    if (this.#peerLast !== undefined || isUnwanted) return;
    this.#isGrantDue = true;
    this.#trunk.ready(this);
  };

  #onOwnSocket(event: SocketEvent): void {
    if (event === 'room' || event === 'drained') {
      if (event === 'room' && !this.#sender.isAwaited) this.tellRoom();
      this.#follow();
    } else if (event === 'ended') this.#receiver.endData();
    else if (typeof event !== 'number') this.#receiver.add(event);
    else if (!this.#isOver) {
      // Whatever the code: a peer that ended the stream while it opened the socket sends its end on the trunk.
      this.#ownCode = event;
      this.#follow();
    }
  }

  #putMove(batch: Batch): void {
    if (this.#connectionId === undefined || this.#isOver) return;
    const id = Buffer.from(this.#connectionId, 'latin1');
    batch.add(FrameType.move, this.id, id.length);
    batch.addPayload(id);
    this.#connectionId = undefined;
  }

  /** The end of the stream says the same, and so does the data socket. */
  #putEof(batch: Batch): void {
    if (this.#eof !== 'due' || !this.#sender.isEmpty || this.#isOver || this.#own !== undefined) return;
    this.#eof = 'sent';
    batch.add(FrameType.eof, this.id, 0);
  }

  #putLast(batch: Batch): void {
    const flushes = this.#closing === undefined || flushesBefore(this.#closing);
    if (!this.#sender.isEmpty && (flushes || this.#sender.isOpen)) return;
    const moves = flushes && this.#own !== undefined;
    if (moves) batch.add(FrameType.moved, this.id, 0);
    else if (this.#closing === CloseCode.normal) batch.add(FrameType.end, this.id, 0);
    else if (this.#closing !== undefined) batch.add(FrameType.abort, this.id, this.#closing);
    else return;
    this.#sentLast = moves ? 'moved' : 'end';
    this.#drop();
    if (this.#peerLast !== undefined) this.#trunk.forget(this);
    this.#awaitAnswer();
    this.#follow();
  }

  /**
   * Data of the data socket follows after all earlier data was handed over, and directly once nothing is sent on the
   * trunk any longer.
   */
  #follow(): void {
    const own = this.#own;
    if (own === undefined || this.#direct !== undefined || this.#peerLast !== 'moved' || this.#isOver) return;
    const { isOpen, handler } = this.#receiver;
    if (this.#ownCode !== undefined) return this.#over(this.#ownCode);
    if (!isOpen || handler === undefined) return own.socket.pause();
    if (this.#sentLast !== undefined && !own.isFull) {
      this.#direct = own.socket;
      own.socket.attach(handler);
    }
    own.socket.resume();
  }

  /** The peer has ended the stream in some way. Unsent data is dropped. */
  #over(code: number): void {
    this.#drop();
    this.#opening?.cancel();
    const wasOver = this.#isOver;
    this.#closing = CloseCode.normal;
    // Confirms to the peer that its end was seen.
    if (this.#sentLast === undefined) this.#trunk.ready(this);
    if (!wasOver) this.#receiver.end(code);
  }

  /** The missing data will not arrive. */
  #breakOff(): void {
    const { handler } = this.#receiver;
    this.destroy();
    handler?.onStreamClose(CloseCode.abnormal);
  }

  /** A stream that continues on its data socket may wait for outstanding data of the trunk; an ended one may not. */
  #awaitAnswer(): void {
    if (this.#isOver && this.#sentLast !== undefined && this.#peerLast === undefined)
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

  /** It ends before the peer has learned of it. */
  #gone(): false {
    if (this.#closing !== undefined) this.#trunk.forget(this);
    return false;
  }
}

/** Bytes of all streams of a trunk, by direction. */
export interface Carried {
  sent: number;
  received: number;
}

/** When a stream counts as large. */
export interface LargeFrom {
  /** bytes in one direction without any in the other */
  readonly bytes: number;
  /** when fewer are enough, because other streams compete for a slow trunk */
  readonly crowded?: {
    readonly bytes: number;
    /** of the others in the same time */
    readonly others: number;
    /** bytes per ms of all of them, below which the trunk is slow */
    readonly rate: number;
    /** after which that is judged */
    readonly ms: number;
  };
}

/** Counts the bytes in one direction without any in the other, which shows whether a stream is large. */
export class Run {
  readonly #carried: Carried;
  readonly #now: () => number;
  /** bytes received; negative for sent ones */
  #bytes = 0;
  /** when the first of them was, and what the trunk had carried in this direction before */
  #since = 0;
  #before = 0;
  #from: LargeFrom | undefined;
  #onLarge: (() => void) | undefined;

  /**
   * @param carried of the trunk; this adds what it counts
   * @param now monotonic ms
   */
  constructor(carried: Carried, now = () => performance.now()) {
    this.#carried = carried;
    this.#now = now;
  }

  /** Calls back once when the stream has become large. */
  whenLarge(from: LargeFrom, tell: () => void): void {
    this.#from = from;
    this.#onLarge = tell;
  }

  received(bytes: number): void {
    if (this.#bytes <= 0) this.#begin(this.#carried.received);
    this.#carried.received += bytes;
    this.#bytes += bytes;
    this.#check(this.#bytes, this.#carried.received);
  }

  sent(bytes: number): void {
    if (this.#bytes >= 0) this.#begin(this.#carried.sent);
    this.#carried.sent += bytes;
    this.#bytes -= bytes;
    this.#check(-this.#bytes, this.#carried.sent);
  }

  #begin(before: number): void {
    this.#bytes = 0;
    this.#before = before;
    if (this.#from?.crowded !== undefined) this.#since = this.#now();
  }

  #check(bytes: number, carried: number): void {
    const from = this.#from;
    if (from === undefined || (bytes <= from.bytes && !this.#isCrowded(from, bytes, carried))) return;
    this.#from = undefined;
    this.#onLarge?.();
  }

  #isCrowded({ crowded }: LargeFrom, bytes: number, carried: number): boolean {
    if (crowded === undefined || bytes <= crowded.bytes) return false;
    const ofAll = carried - this.#before;
    const ms = this.#now() - this.#since;
    return ofAll - bytes > crowded.others && ms >= crowded.ms && ofAll < crowded.rate * ms;
  }
}
