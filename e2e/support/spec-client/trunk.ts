import { eventually } from '../deadline.ts';
import type { Scope } from '../scope.ts';
import type { RelayAddress } from './client.ts';
import { type Closed, WebSocketClient } from './websocket.ts';

/** Kinds of frames (protocol.md section 10.2). */
export const Kind = { open: 0, data: 1, end: 2, abort: 3, window: 4, move: 5, moved: 6, eof: 7 } as const;

const HEADER_BYTES = 9;
const WINDOW = 65_536;
const LARGEST_WINDOW = 262_144;
const LARGEST_DATA = 65_536;
const LONGEST_ID = 64;

/** A frame's header. */
interface TrunkFrame {
  readonly kind: number;
  readonly stream: number;
  readonly value: number;
}

/** Encodes a frame without checking whether it is allowed. */
export function trunkFrame(
  kind: number,
  stream: number,
  value: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(kind);
  header.writeUInt32BE(stream, 1);
  header.writeUInt32BE(value, 5);
  return Buffer.concat([header, payload]);
}

/**
 * How the relay ended a stream: 1000 for `END`, otherwise the code of its `ABORT`; 1006 if the trunk ended first. If
 * the stream has moved, how its data socket ended.
 */
type StreamEnd = number;

/** One visitor's connection. It stays on its trunk unless the test moves it. */
export class TrunkClientStream {
  readonly id: number;
  readonly ended: Promise<StreamEnd>;
  /** Whether the relay is granted more bytes as bytes arrive; initially the setting of the trunk. */
  grants: boolean;
  /** bytes that the relay has allowed this side to send, including the initial window */
  granted = WINDOW;
  /** bytes that this side has sent on the trunk */
  sent = 0;
  /** the id of the data socket to which the stream may move, once the relay has sent it */
  connectionId: string | undefined;
  /** Whether the relay has sent its last byte on the trunk, and continues on the data socket. */
  relayHasMoved = false;
  readonly #trunk: TrunkClient;
  readonly #settle: (end: StreamEnd) => void;
  #pieces: Buffer[] = [];
  #received = 0;
  /** bytes that arrived on the trunk, and how many of them the relay was granted since */
  #carried = 0;
  #regranted = 0;
  #queue: Buffer = Buffer.alloc(0);
  /** the frame that follows the queue, the last one on the trunk except for windows */
  #last: { readonly kind: number; readonly value: number } | undefined;
  #hasSentLast = false;
  #relayHasEnded = false;
  #data: WebSocketClient | undefined;
  /** Whether data is sent through the data socket. */
  #isMoving = false;
  /** data that arrived on the data socket before the relay's `MOVED` */
  #early: Buffer[] = [];

  constructor(trunk: TrunkClient, id: number) {
    this.id = id;
    this.grants = trunk.grants;
    this.#trunk = trunk;
    const ended = Promise.withResolvers<StreamEnd>();
    this.ended = ended.promise;
    this.#settle = ended.resolve;
  }

  /** Everything received. */
  get received(): Buffer {
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [all];
    return all;
  }

  /** Waits until this many bytes have been received in total. */
  async receivedBytes(count: number, ms = 60_000): Promise<Buffer> {
    await eventually(ms, () => {
      if (this.#received < count) throw new Error(`received ${this.#received} of ${count} bytes`);
    });
    return this.received;
  }

  /** Waits until what was received contains a text, and returns all of it. */
  async receivedUpTo(text: string, ms = 20_000): Promise<string> {
    return await eventually(ms, () => {
      const all = this.received.toString('latin1');
      if (!all.includes(text)) throw new Error(`received only ${JSON.stringify(all)}`);
      return all;
    });
  }

  /** Waits until the relay allows the stream to move, and returns the id of its data socket. */
  async mayMove(ms = 20_000): Promise<string> {
    return await eventually(ms, () => {
      if (this.connectionId === undefined) throw new Error('the relay does not let the stream move');
      return this.connectionId;
    });
  }

  /** Waits until the relay continues on the data socket. */
  async relayMoved(ms = 20_000): Promise<void> {
    await eventually(ms, () => {
      if (!this.relayHasMoved) throw new Error('the relay stays on the trunk');
    });
  }

  /** Sends bytes: within the relay's window, or through the data socket once the stream has moved. */
  send(bytes: string | Buffer): void {
    const added = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    if (this.#isMoving) return void this.#data?.send(added);
    this.#queue = this.#queue.length === 0 ? added : Buffer.concat([this.#queue, added]);
    this.#flush();
  }

  /** Grants the relay this many more bytes. */
  grant(bytes: number): void {
    this.#regranted += bytes;
    this.#trunk.send(Kind.window, this.id, bytes);
  }

  /** Grants one byte per frame, with all frames in one message. */
  grantByteByByte(bytes: number): void {
    this.#regranted += bytes;
    this.#trunk.socket.send(Buffer.concat(Array<Buffer>(bytes).fill(trunkFrame(Kind.window, this.id, 1))));
  }

  /** Receives the data of the stream's data socket, and ends when that ends. */
  join(data: WebSocketClient): void {
    this.#data = data;
    data.attach({
      data: (bytes) => {
        if (this.relayHasMoved) this.#take(bytes);
        else this.#early.push(Buffer.from(bytes));
      },
    });
    void data.closed.then(({ code }) => this.#settle(code));
  }

  /** Continues on the joined data socket, after the queued bytes. */
  move(): void {
    this.#isMoving = true;
    this.#finish(Kind.moved, 0);
  }

  /** Ends the stream after the queued bytes. */
  end(): void {
    if (this.#isMoving) this.#data?.close(1000);
    else this.#finish(Kind.end, 0);
  }

  /** Aborts the stream after the queued bytes. */
  abort(code: number): void {
    if (this.#isMoving) this.#data?.close(code);
    else this.#finish(Kind.abort, code);
  }

  /** @throws Error for a frame that the relay must not send */
  take({ kind, value }: TrunkFrame): void {
    if (this.#relayHasEnded) throw new Error(`a frame of stream ${this.id} behind its end`);
    if (this.relayHasMoved && kind !== Kind.window)
      throw new Error(`a frame of stream ${this.id} behind MOVED`);
    switch (kind) {
      case Kind.window:
        if (value < 1 || value > LARGEST_WINDOW) throw new Error(`a window of ${value} bytes`);
        this.granted += value;
        if (this.granted - this.sent > LARGEST_WINDOW) throw new Error('a window larger than allowed');
        return this.#flush();
      case Kind.moved:
        if (value !== 0) throw new Error(`MOVED with value ${value}`);
        return this.#movedByRelay();
      case Kind.end:
        if (value !== 0) throw new Error(`END with value ${value}`);
        return this.#endedByRelay(1000);
      case Kind.abort:
        if (value === 1000 || value < 1000 || value > 4999) throw new Error(`ABORT with code ${value}`);
        return this.#endedByRelay(value);
      default:
        throw new Error(`a frame of kind ${kind}`);
    }
  }

  /** @throws Error for bytes that the relay must not send */
  takeData(bytes: Buffer): void {
    if (this.#relayHasEnded || this.relayHasMoved)
      throw new Error(`bytes of stream ${this.id} behind its end`);
    this.#take(bytes);
    this.#carried += bytes.length;
    if (this.#carried > WINDOW + this.#regranted) throw new Error('more bytes than the window allows');
    if (this.grants && (!this.#hasSentLast || this.#isMoving)) this.grant(bytes.length);
  }

  /** @throws Error for an id that the relay must not send */
  takeMove(connectionId: string): void {
    if (this.#relayHasEnded || this.relayHasMoved || this.connectionId !== undefined)
      throw new Error(`MOVE of stream ${this.id} is not allowed`);
    this.connectionId = connectionId;
  }

  /** Called when the trunk has ended while the stream still needs it. */
  lost(): void {
    this.#data?.drop();
    this.#settle(1006);
  }

  #take(bytes: Buffer): void {
    this.#pieces.push(Buffer.from(bytes));
    this.#received += bytes.length;
  }

  #movedByRelay(): void {
    if (this.connectionId === undefined) throw new Error(`MOVED of stream ${this.id} without MOVE`);
    this.relayHasMoved = true;
    for (const piece of this.#early.splice(0)) this.#take(piece);
    if (this.#hasSentLast) this.#trunk.forget(this);
  }

  #endedByRelay(code: number): void {
    this.#relayHasEnded = true;
    if (!this.#hasSentLast && this.#trunk.answersEnds) this.#trunk.send(Kind.end, this.id, 0);
    this.#hasSentLast = true;
    this.#data?.drop();
    this.#queue = Buffer.alloc(0);
    this.#trunk.forget(this);
    this.#settle(code);
  }

  #finish(kind: number, value: number): void {
    this.#last = { kind, value };
    this.#flush();
  }

  #flush(): void {
    while (!this.#hasSentLast && this.#queue.length > 0 && this.sent < this.granted) {
      const size = Math.min(this.#queue.length, this.granted - this.sent, LARGEST_DATA);
      const piece = this.#queue.subarray(0, size);
      this.#queue = this.#queue.subarray(size);
      this.#trunk.send(Kind.data, this.id, size, piece);
    }
    if (this.#queue.length > 0 || this.#hasSentLast || this.#last === undefined) return;
    this.#hasSentLast = true;
    this.#trunk.send(this.#last.kind, this.id, this.#last.value);
    if (this.relayHasMoved) this.#trunk.forget(this);
  }
}

export interface TrunkClientOptions {
  /**
   * Whether it leaves the first ping unanswered, which makes the relay consider it far away (protocol.md section
   * 10.3).
   */
  readonly isFar?: boolean;
}

/**
 * A trunk, written from protocol.md section 10 alone. Anything that the relay must not send ends the connection,
 * and becomes the `violation` of the socket.
 */
export class TrunkClient {
  readonly socket: WebSocketClient;
  /** Headers of the relay's frames, in their order. */
  readonly frames: TrunkFrame[] = [];
  /** How many pings have been received. */
  pings = 0;
  /** Whether the relay is granted more bytes, for streams that start from now on. */
  grants = true;
  /** Whether to answer when the relay ends a stream. */
  answersEnds = true;
  /** streams that have not ended for both sides */
  readonly #streams = new Map<number, TrunkClientStream>();
  /** streams that nobody has accepted */
  readonly #come: TrunkClientStream[] = [];
  #pending: Buffer = Buffer.alloc(0);
  /** the stream whose bytes are being received, and how many are missing */
  #reading: TrunkClientStream | undefined;
  #missing = 0;
  /** the part of the id received in a MOVE frame; `undefined` in a DATA frame */
  #connectionId: string | undefined;
  #lastId = 0;

  private constructor(socket: WebSocketClient, { isFar = false }: TrunkClientOptions) {
    this.socket = socket;
    socket.answersPings = !isFar;
    socket.attach({
      data: (bytes, kind) => {
        if (kind !== 'binary') throw new Error('a text message on a trunk');
        this.#read(bytes);
      },
      ping: () => {
        this.pings += 1;
        if (isFar && this.pings === 1) socket.answersPings = true;
      },
    });
    void socket.closed.then(() => this.#lost());
  }

  /**
   * @param key API key, or `undefined` to send none
   * @throws HandshakeRefused
   */
  static async open(
    scope: Scope,
    relay: RelayAddress,
    key: string | undefined,
    tunnelId: string,
    options: TrunkClientOptions = {},
  ): Promise<TrunkClient> {
    const socket = await WebSocketClient.open(scope, {
      port: relay.port,
      host: `localhost:${relay.port}`,
      target: `/ws/trunk?tunnel_id=${tunnelId}`,
      headers: key === undefined ? [] : [['Authorization', `Bearer ${key}`]],
    });
    const trunk = new TrunkClient(socket, options);
    scope.defer(() => {
      if (socket.violation !== undefined) throw socket.violation;
    });
    return trunk;
  }

  get closed(): Promise<Closed> {
    return this.socket.closed;
  }

  /** How many visitors have arrived and were not accepted. */
  get waiting(): number {
    return this.#come.length;
  }

  /** The next visitor's stream. */
  async accept(ms = 20_000): Promise<TrunkClientStream> {
    return await eventually(ms, () => {
      const stream = this.#come.shift();
      if (stream === undefined) throw new Error('no visitor came through the trunk');
      return stream;
    });
  }

  /** Sends a frame unchanged. */
  send(kind: number, stream: number, value: number, payload?: Buffer): void {
    const sender = kind === Kind.data ? this.#streams.get(stream) : undefined;
    if (sender !== undefined) sender.sent += value;
    this.socket.send(trunkFrame(kind, stream, value, payload));
  }

  /** Called when both sides have ended the stream. */
  forget(stream: TrunkClientStream): void {
    this.#streams.delete(stream.id);
  }

  #lost(): void {
    for (const stream of this.#streams.values()) stream.lost();
  }

  #read(bytes: Buffer): void {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    for (;;) {
      if (this.#missing > 0) {
        const piece = this.#pending.subarray(0, this.#missing);
        if (piece.length === 0) return;
        this.#pending = this.#pending.subarray(piece.length);
        this.#missing -= piece.length;
        this.#takePayload(piece);
      } else {
        if (this.#pending.length < HEADER_BYTES) return;
        const header = this.#pending.subarray(0, HEADER_BYTES);
        this.#pending = this.#pending.subarray(HEADER_BYTES);
        this.#take({
          kind: header.readUInt8(),
          stream: header.readUInt32BE(1),
          value: header.readUInt32BE(5),
        });
      }
    }
  }

  #take(frame: TrunkFrame): void {
    this.frames.push(frame);
    if (frame.kind === Kind.open) return this.#opened(frame);
    const stream = this.#streams.get(frame.stream);
    if (stream === undefined) {
      if (frame.kind === Kind.window && frame.stream <= this.#lastId) return;
      throw new Error(`a frame of stream ${frame.stream}, which there is not`);
    }
    const isMove = frame.kind === Kind.move;
    if (frame.kind !== Kind.data && !isMove) return stream.take(frame);
    if (frame.value < 1 || frame.value > (isMove ? LONGEST_ID : LARGEST_DATA))
      throw new Error(`${isMove ? 'MOVE' : 'DATA'} of ${frame.value} bytes`);
    this.#reading = stream;
    this.#missing = frame.value;
    this.#connectionId = isMove ? '' : undefined;
  }

  #takePayload(piece: Buffer): void {
    if (this.#connectionId === undefined) return this.#reading?.takeData(piece);
    this.#connectionId += piece.toString('latin1');
    if (this.#missing === 0) this.#reading?.takeMove(this.#connectionId);
  }

  #opened({ stream: id, value }: TrunkFrame): void {
    if (id <= this.#lastId || value !== 0) throw new Error(`OPEN of stream ${id} with value ${value}`);
    this.#lastId = id;
    const stream = new TrunkClientStream(this, id);
    this.#streams.set(id, stream);
    this.#come.push(stream);
  }
}
