/** One end of a trunk, whose other end is the test, and in-memory sockets below trunks. */
import { CloseCode } from '../control.ts';
import type { MoveTarget } from '../trunk/dedicated-socket.ts';
import { DATA_MAX_BYTES, FRAME_HEADER_BYTES, FrameReader, FrameType, writeHeader } from '../trunk/frames.ts';
import type { TrunkStream } from '../trunk/trunk-stream.ts';
import { Trunk, type TrunkSocket } from '../trunk/trunk.ts';
import type { ByteStreamHandler } from '../websocket/byte-stream.ts';
import type { FakeScheduler } from './fake-turns.ts';

/** A handler that ignores what is not given. */
export function handlerOf(given: Partial<ByteStreamHandler>): ByteStreamHandler {
  return { onStreamData() {}, onStreamDrain() {}, onStreamClose() {}, ...given };
}

/* One end of a trunk. The test plays the other. */

/** A stream with the recorded calls of its handler. */
export class StreamRecorder {
  readonly stream: TrunkStream;
  readonly pieces: Buffer[] = [];
  drained = 0;
  readonly closed: number[] = [];

  constructor(stream: TrunkStream, first?: Buffer) {
    this.stream = stream;
    if (first !== undefined) this.pieces.push(first);
    stream.attach({
      onStreamData: (piece) => this.pieces.push(piece),
      onStreamDrain: () => {
        this.drained += 1;
      },
      onStreamClose: (code) => this.closed.push(code),
    });
  }

  get text(): string {
    return Buffer.concat(this.pieces).toString();
  }

  get size(): number {
    return this.pieces.reduce((sum, { length }) => sum + length, 0);
  }
}

/** ms that a trunk in a test gives its peer to read more of the remaining data of an ended stream. */
export const FLUSH_MS = 300_000;

export class TrunkEnd {
  readonly turns: FakeScheduler;
  readonly socket: FakeTrunkSocket;
  readonly trunk: Trunk;
  /** streams begun by the peer */
  readonly begun: StreamRecorder[] = [];
  readonly closed: number[] = [];

  constructor(turns: FakeScheduler, begins: 'this' | 'peer', options?: FakeTrunkSocketOptions) {
    this.turns = turns;
    this.socket = new FakeTrunkSocket(options);
    this.trunk = new Trunk(this.socket, {
      flushMs: FLUSH_MS,
      begins,
      owner: {
        begun: (stream, first) => this.begun.push(new StreamRecorder(stream, first)),
        // A hostile peer may ask. Nothing moves.
        moveAsked() {},
        closed: (code) => this.closed.push(code),
      },
    });
  }

  /** Begins a stream. */
  open(): StreamRecorder {
    return new StreamRecorder(this.trunk.open());
  }

  /** Begins a stream that the peer knows. */
  begin(): StreamRecorder {
    const recorder = this.open();
    recorder.stream.write(Buffer.from('?'));
    this.sent();
    return recorder;
  }

  /** What the peer receives at the end of this turn, and of those that it causes. */
  sent(): string[] {
    do this.turns.end();
    while (this.turns.isBusy);
    return read(this.socket.take());
  }

  /** Frames of the peer arrive. */
  hear(...frames: readonly Buffer[]): void {
    this.socket.receive(Buffer.concat(frames));
  }
}

/* Writes and reads frames of a trunk for tests. */

/** A frame's header, valid or not. */
export function header(type: number, id: number, value: number): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES);
  writeHeader(bytes, 0, type as FrameType, id, value);
  return bytes;
}

export const open = (id: number, peers = ''): Buffer =>
  Buffer.concat([header(FrameType.open, id, peers.length), Buffer.from(peers)]);
export const eof = (id: number): Buffer => header(FrameType.eof, id, 0);
export const end = (id: number): Buffer => header(FrameType.end, id, 0);
export const abort = (id: number, code: number = CloseCode.goingAway): Buffer =>
  header(FrameType.abort, id, code);
export const moved = (id: number): Buffer => header(FrameType.moved, id, 0);
export const move = (id: number, connectionId: string): Buffer =>
  Buffer.concat([header(FrameType.move, id, connectionId.length), Buffer.from(connectionId)]);
export const window = (id: number, bytes: number): Buffer => header(FrameType.window, id, bytes);

/** Bytes of a stream, or that many dots, in DATA frames of the maximum size. */
export function data(id: number, content: string | number): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.alloc(content, '.');
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += DATA_MAX_BYTES) {
    const piece = bytes.subarray(at, at + DATA_MAX_BYTES);
    frames.push(header(FrameType.data, id, piece.length), piece);
  }
  return Buffer.concat(frames);
}

/** Frames as text; content of more than eight bytes becomes its length. */
export function read(bytes: Buffer): string[] {
  const seen: string[] = [];
  new FrameReader({
    onOpen: (id, peers) => seen.push(`open ${id} ${peers}`.trim()),
    onData: (id, piece) => seen.push(`data ${id} ${piece.length > 8 ? piece.length : piece.toString()}`),
    onEnd: (id, code) => seen.push(code === CloseCode.normal ? `end ${id}` : `abort ${id} ${code}`),
    onWindow: (id, more) => seen.push(`window ${id} ${more}`),
    onMove: (id, connectionId) => seen.push(`move ${id} ${connectionId}`),
    onMoved: (id) => seen.push(`moved ${id}`),
    onEof: (id) => seen.push(`eof ${id}`),
    onProtocolError: (reason) => seen.push(`error: ${reason}`),
  }).push(bytes);
  return seen;
}

/* An in-memory WebSocket below a trunk, or a data socket: written data is queued until the test passes it on. */

/** The size of one read. */
const READ_MAX_BYTES = 64 * 1024;

interface FakeTrunkSocketOptions {
  /** queued bytes at which there is no more room */
  readonly highWater?: number;
}

export class FakeTrunkSocket implements TrunkSocket, MoveTarget {
  /** How the owner has closed it; `undefined` while it is open. */
  closedWith: { code: number; reason: string } | undefined;
  isSilent = false;
  roundTripMs = Infinity;
  /** Whether received data waits at the other end. */
  isPaused = false;
  probes = 0;
  /** sizes of the writes */
  readonly writes: number[] = [];
  /** receives what is passed on, if set */
  peer: FakeTrunkSocket | undefined;
  /** sees received data before the owner does */
  watch: ((bytes: Buffer) => void) | undefined;
  readonly #highWater: number;
  #handler: ByteStreamHandler | undefined;
  #waiting: Buffer[] = [];
  #size = 0;
  #needsDrain = false;
  /** Whether the owner gets no further callbacks. */
  #ended = false;
  /** the peer's close code */
  #endedWith: number | undefined;
  #closePassedOn = false;
  /** Whether the owner has told that no more data follows. */
  #lastByte: 'open' | 'due' | 'told' = 'open';

  constructor({ highWater = 1024 * 1024 }: FakeTrunkSocketOptions = {}) {
    this.#highWater = highWater;
  }

  /** The number of queued bytes. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is something to pass on. */
  get isBusy(): boolean {
    return (
      this.#size > 0 || this.#lastByte === 'due' || (this.closedWith !== undefined && !this.#closePassedOn)
    );
  }

  attach(handler: ByteStreamHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (isFirst && this.#endedWith !== undefined) handler.onStreamClose(this.#endedWith);
  }

  write(chunk: Buffer): boolean {
    return this.#add([Buffer.from(chunk)]);
  }

  measureRoundTrip(): boolean {
    return true;
  }

  writeAll(pieces: readonly Buffer[], size: number): boolean {
    const copies = pieces.map((piece) => Buffer.from(piece));
    if (copies.reduce((sum, { length }) => sum + length, 0) !== size) throw new Error('not the size');
    // As masking does.
    for (const piece of pieces) piece.fill(0xff);
    return this.#add(copies);
  }

  close(code: number, reason = ''): void {
    if (this.#ended) return;
    this.#ended = true;
    // Data of the peer is read and dropped.
    this.isPaused = false;
    this.closedWith = { code, reason };
  }

  destroy(): void {
    this.#ended = true;
    this.isPaused = false;
    this.#cut();
    this.peer?.lose();
  }

  pause(): void {
    this.isPaused = !this.#ended;
  }

  resume(): void {
    this.isPaused = false;
  }

  lookForEnd(): void {}

  carryEnd(): void {}

  end(): boolean {
    if (!this.#ended) this.#lastByte = 'due';
    return true;
  }

  /** The peer tells that it has sent all its data. */
  endDataFrom(): void {
    if (!this.#ended) this.#handler?.onStreamEnd?.();
  }

  probe(): void {
    this.probes += 1;
    this.isSilent = true;
  }

  /** Removes that many of the queued bytes, or all of them. */
  take(limit = Infinity): Buffer {
    const all = Buffer.concat(this.#waiting);
    const taken = all.subarray(0, limit);
    this.#waiting = taken.length < all.length ? [all.subarray(limit)] : [];
    this.#size -= taken.length;
    if (this.#size === 0 && this.#needsDrain) {
      this.#needsDrain = false;
      if (!this.#ended) this.#handler?.onStreamDrain();
    }
    return taken;
  }

  /** Passes that many bytes on to the peer, and the owner's close after the last one. */
  passOn(limit: number): void {
    if (this.peer?.isPaused === true) return;
    if (this.#size > 0) return this.peer?.receive(this.take(Math.min(limit, READ_MAX_BYTES)));
    if (this.#lastByte === 'due') {
      this.#lastByte = 'told';
      return this.peer?.endDataFrom();
    }
    if (this.closedWith === undefined || this.#closePassedOn) return;
    this.#closePassedOn = true;
    this.peer?.closeFrom(this.closedWith.code);
  }

  /** Bytes arrive. */
  receive(bytes: Buffer): void {
    if (this.#ended) return;
    this.watch?.(bytes);
    this.#handler?.onStreamData(Buffer.from(bytes));
  }

  /** The peer's Close frame arrives. */
  closeFrom(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.isPaused = false;
    this.#endedWith = code;
    this.#cut();
    this.#handler?.onStreamClose(code);
  }

  /** The connection breaks. */
  lose(): void {
    this.closeFrom(CloseCode.abnormal);
  }

  #cut(): void {
    this.#waiting = [];
    this.#size = 0;
    this.#lastByte = 'told';
  }

  #add(pieces: readonly Buffer[]): boolean {
    if (this.#ended) return true;
    this.#waiting.push(...pieces);
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    this.writes.push(size);
    this.#size += size;
    const hasRoom = this.#size < this.#highWater;
    this.#needsDrain ||= !hasRoom;
    return hasRoom;
  }
}

/** Two connected ends. */
export function joinedTrunkSockets(options?: FakeTrunkSocketOptions): [FakeTrunkSocket, FakeTrunkSocket] {
  const one = new FakeTrunkSocket(options);
  const other = new FakeTrunkSocket(options);
  one.peer = other;
  other.peer = one;
  return [one, other];
}
