/**
 * Two connected in-memory trunks, with a simple model of what their streams promise: data arrives once and in order,
 * only on its stream, and an end is reported once, with its code, after everything else.
 */
import assert from 'node:assert/strict';
import { CloseCode } from '../control.ts';
import type { MoveTarget } from '../trunk/dedicated-socket.ts';
import {
  DATA_MAX_BYTES,
  FRAME_HEADER_BYTES,
  FrameReader,
  FrameType,
  WINDOW_BYTES,
  WINDOW_MAX_BYTES,
  writeHeader,
} from '../trunk/frames.ts';
import type { TrunkStream } from '../trunk/trunk-stream.ts';
import { Trunk, type TrunkSocket } from '../trunk/trunk.ts';
import type { ByteStreamHandler } from '../websocket/byte-stream.ts';
import { FakeScheduler } from './fake-turns.ts';

/** Period of a stream's content in bytes; not a power of two. */
const PERIOD = 251;
const WRITE_MAX = 256 * 1024;
const REFILLED_BYTES = 300 * 1024;

/** The behaviour of a handler. */
export interface Habits {
  /** pauses at each call */
  readonly pauses?: boolean;
  /** number of bytes after which it closes the stream */
  readonly closesAfter?: number | undefined;
  /** bytes that it writes whenever there is room, up to {@link REFILLED_BYTES} in total */
  readonly refills?: number | undefined;
}

/** One side of a stream. */
export class Side {
  readonly #content: Buffer;
  readonly #habits: Habits;
  #other: Side | undefined;
  #stream: TrunkStream | undefined;
  /** bytes written before an end */
  written = 0;
  received = 0;
  /** bytes that arrived at this end of the trunk */
  arrived = 0;
  /** bytes that the other side was allowed to send on the trunk, and with how many frames, as far as it knows */
  granted = WINDOW_BYTES;
  grants = 0;
  /** codes with which it has ended the stream, the first one first */
  readonly ends: number[] = [];
  /** codes reported to it */
  readonly told: number[] = [];
  /** Whether it has broken off the stream instead of closing it. */
  isCut = false;
  /** Whether a writer was asked to wait, and there is no room yet. */
  isWaiting = false;

  /** @param seed distinguishes its content from that of other streams */
  constructor(seed: number, habits: Habits) {
    const period = Uint8Array.from({ length: PERIOD }, (_, index) => index * 7 + seed * 29);
    this.#content = Buffer.alloc(WRITE_MAX + PERIOD, period);
    this.#habits = habits;
  }

  join(other: Side): void {
    this.#other = other;
  }

  /** bytes that may wait: each grant at most doubles the window */
  get #windowBytes(): number {
    return Math.min(WINDOW_BYTES * 2 ** this.grants, WINDOW_MAX_BYTES);
  }

  /** Checks what must always hold. */
  look(): void {
    assert.ok(this.arrived <= this.granted, 'more arrives than was granted');
    if (!this.isOpen) return;
    assert.ok(this.arrived - this.received <= this.#windowBytes, 'more waits than a window');
    assert.ok(this.granted - this.received <= this.#windowBytes, 'more is granted than a window');
  }

  /** Whether it takes part: it knows the stream, has not ended it, and was not notified of its end. */
  get isOpen(): boolean {
    return this.#stream !== undefined && this.ends.length === 0 && this.told.length === 0;
  }

  get id(): number {
    return this.#stream?.id ?? 0;
  }

  get isPaused(): boolean {
    return this.#stream?.isPaused === true;
  }

  start(stream: TrunkStream): void {
    this.#stream = stream;
    stream.attach({
      onStreamData: (piece) => this.took(piece),
      onStreamDrain: () => {
        assert.ok(this.isWaiting && this.isOpen, 'told of room that nobody waits for');
        this.isWaiting = false;
        const { refills } = this.#habits;
        if (refills !== undefined && this.written < REFILLED_BYTES) this.write(refills);
      },
      onStreamClose: (code) => {
        assert.ok(this.isOpen, 'told of an end after the end');
        this.told.push(code);
      },
    });
  }

  took(piece: Buffer): void {
    assert.ok(this.isOpen, 'told of bytes after the end');
    const other = this.#other;
    assert.ok(other !== undefined);
    assert.ok(other.contentAt(this.received, piece.length).equals(piece), 'other bytes than were written');
    // The receiver may change the bytes.
    piece.fill(0);
    this.received += piece.length;
    assert.ok(this.received <= other.written, 'more than was written');
    if (this.#habits.pauses === true) this.#stream?.pause();
    if (this.received >= (this.#habits.closesAfter ?? Infinity)) this.close(CloseCode.normal);
  }

  contentAt(offset: number, size: number): Buffer {
    return this.#content.subarray(offset % PERIOD, (offset % PERIOD) + size);
  }

  write(size: number): void {
    if (this.#stream === undefined) return;
    const isOpen = this.isOpen;
    const room = this.#stream.write(Buffer.from(this.contentAt(this.written, size)));
    if (!isOpen) assert.equal(room, true);
    else this.written += size;
    if (!room) this.isWaiting = true;
  }

  pause(): void {
    this.#stream?.pause();
  }

  resume(): void {
    this.#stream?.resume();
  }

  close(code: number): void {
    if (this.isOpen) this.ends.push(code);
    this.#stream?.close(code);
  }

  destroy(): void {
    if (this.#stream !== undefined && this.told.length === 0) this.ends.push(CloseCode.goingAway);
    this.isCut = true;
    this.#stream?.destroy();
  }

  /** Checks what must hold when all data has arrived. */
  check(isLost: boolean): void {
    const other = this.#other;
    assert.ok(other !== undefined);
    const [code] = this.told;
    if (this.#stream === undefined) {
      const isWhole = !isLost && other.ends.every((end) => end === CloseCode.normal);
      assert.ok(other.written === 0 || !isWhole, 'was not begun');
      return;
    }
    if (this.ends.length > 0) return;
    // A side that uses a data socket gets no code if the other one was cut.
    const expected =
      isLost || other.isCut ? [...other.ends, CloseCode.abnormal, CloseCode.goingAway] : other.ends;
    if (code === undefined) assert.equal(other.ends.length, 0, `was not told of ${other.ends.join()}`);
    else assert.ok(expected.includes(code), `was told ${code}, not ${expected.join()}`);
    const isWhole = code === undefined || code === CloseCode.normal;
    if (isWhole) assert.equal(this.received, other.written, 'not all has arrived');
    assert.ok(!this.isWaiting || code !== undefined, 'a writer waits for ever');
  }
}

export interface WorldOptions {
  /** bytes that a socket accepts before it has no room */
  readonly highWater: number;
}

export class World {
  readonly turns = new FakeScheduler();
  /** both sides of each stream, the relay's first */
  readonly streams: [Side, Side][] = [];
  readonly trunks: [Trunk, Trunk];
  /** the relay's side first, which sends to the other */
  readonly sockets: [FakeTrunkSocket, FakeTrunkSocket];
  readonly closed: [number[], number[]] = [[], []];
  /** data sockets of moved streams, the relay's end first */
  readonly ownSockets: [FakeTrunkSocket, FakeTrunkSocket][] = [];
  readonly #highWater: number;
  /** streams not offered to move yet, and the offered ones, by the ids of their data sockets */
  readonly #mayMove: TrunkStream[] = [];
  readonly #offered: TrunkStream[] = [];
  /** moves that the client was asked for, and those whose data socket the relay has seen */
  readonly #asked: [near: TrunkStream, far: TrunkStream][] = [];
  readonly #opened: [far: TrunkStream, socket: FakeTrunkSocket][] = [];
  #isEnding = false;

  constructor(options: WorldOptions) {
    this.#highWater = options.highWater;
    this.sockets = joinedTrunkSockets({ highWater: options.highWater });
    for (const which of [0, 1] as const) this.#count(which);
    this.trunks = [
      new Trunk(this.sockets[0], {
        flushMs: 300_000,
        begins: 'this',
        owner: {
          begun: () => assert.fail(),
          moveAsked: () => assert.fail(),
          closed: (code) => this.closed[0].push(code),
        },
      }),
      new Trunk(this.sockets[1], {
        flushMs: 300_000,
        begins: 'peer',
        owner: {
          begun: (stream, first) => this.#begun(stream, first),
          moveAsked: (stream, connectionId) => this.#moveAsked(stream, connectionId),
          closed: (code) => this.closed[1].push(code),
        },
      }),
    ];
  }

  /** Begins a stream on the relay's side. */
  open(relay: Habits, client: Habits): void {
    if (!this.trunks[0].takesStreams) return;
    const near = new Side(2 * this.streams.length, relay);
    const far = new Side(2 * this.streams.length + 1, client);
    near.join(far);
    far.join(near);
    this.streams.push([near, far]);
    const stream = this.trunks[0].open();
    near.start(stream);
    this.#mayMove.push(stream);
  }

  /** The relay asks once to continue a stream over a data socket. */
  offerMove(which: number): void {
    const [stream] = this.#mayMove.splice(which % this.#mayMove.length, 1);
    stream?.offerMove(String(this.#offered.push(stream) - 1));
  }

  /** The data socket of a moving stream reaches the relay, or cannot be opened. */
  connect(succeeds: boolean): void {
    const [near, far] = this.#asked.shift() ?? [];
    if (!succeeds) far?.moveFailed();
    if (near === undefined || far === undefined || !succeeds) return;
    const sockets = joinedTrunkSockets({ highWater: this.#highWater });
    this.ownSockets.push(sockets);
    this.#opened.push([far, sockets[1]]);
    // It has no reader yet.
    sockets[1].pause();
    near.moveTo(sockets[0]);
  }

  /** The client learns that a data socket is open, or loses it. */
  hearOpened(succeeds: boolean): void {
    const [far, socket] = this.#opened.shift() ?? [];
    if (far === undefined || socket === undefined) return;
    if (succeeds) return far.moveTo(socket);
    this.#isEnding = true;
    far.moveFailed();
    socket.destroy();
  }

  /** The data socket of a moved stream is lost. */
  loseOwn(which: number): void {
    this.#isEnding = true;
    const sockets = this.ownSockets[which % this.ownSockets.length];
    for (const socket of sockets ?? []) socket.lose();
  }

  /** One side of one of the streams. */
  side(stream: number, which: number): Side | undefined {
    return this.streams[stream % this.streams.length]?.[which === 0 ? 0 : 1];
  }

  /** Performs one step. */
  step(act: () => void): void {
    act();
    this.turns.settle();
    this.#look();
  }

  /** The trunk ends in one of several ways, with everything under way. */
  lose(how: 'lost' | 'closed' | 'gone', which: 0 | 1): void {
    this.#isEnding = true;
    if (how === 'closed') this.trunks[which].close(CloseCode.goingAway);
    else if (how === 'gone') this.trunks[which].close(CloseCode.abnormal);
    else for (const socket of this.sockets) socket.lose();
  }

  /** Passes on all data until nothing happens. */
  settle(): void {
    for (let turn = 0; turn < 100_000; turn += 1) {
      for (const side of this.streams.flat()) if (side.isPaused) side.resume();
      this.turns.end();
      this.connect(true);
      this.hearOpened(true);
      for (const socket of [...this.ownSockets.flat(), ...this.sockets]) socket.passOn(Infinity);
      this.turns.settle();
      this.#look();
      if (!this.#isBusy) break;
    }
    assert.ok(!this.#isBusy, 'it never ends');
    for (const side of this.streams.flat()) side.check(this.#isEnding);
  }

  /** Ends all open streams, and then the trunk. */
  end(): void {
    for (const [near, far] of this.streams) (near.isOpen ? near : far).close(CloseCode.normal);
    this.settle();
    assert.deepEqual(
      this.trunks.map(({ size }) => size),
      [0, 0],
    );
    assert.equal(this.turns.timers, 0);
    if (this.#isEnding) return;
    this.trunks[0].retire();
    this.settle();
    assert.deepEqual(this.closed, [[CloseCode.normal], [CloseCode.normal]]);
  }

  get #isBusy(): boolean {
    return (
      this.turns.isBusy ||
      this.#asked.length + this.#opened.length > 0 ||
      [...this.ownSockets.flat(), ...this.sockets].some((socket) => socket.isBusy) ||
      this.streams.flat().some((side) => side.isOpen && (side.isPaused || side.arrived > side.received))
    );
  }

  /** Counts what one of the trunks receives. */
  #count(which: 0 | 1): void {
    const reader = new FrameReader({
      onOpen() {},
      onData: (id, piece) => {
        const side = this.streams.find(([near]) => near.id === id)?.[which];
        if (side !== undefined) side.arrived += piece.length;
      },
      onEnd() {},
      onWindow: (id, bytes) => {
        const side = this.streams.find(([near]) => near.id === id)?.[which === 0 ? 1 : 0];
        if (side === undefined) return;
        side.granted += bytes;
        side.grants += 1;
      },
      onMove() {},
      onMoved() {},
      onProtocolError: (reason) => assert.fail(reason),
    });
    this.sockets[which].watch = (bytes) => reader.push(bytes);
  }

  #moveAsked(far: TrunkStream, connectionId: string): void {
    const near = this.#offered[Number(connectionId)];
    assert.equal(near?.id, far.id, 'another stream');
    this.#asked.push([near, far]);
  }

  #begun(stream: TrunkStream, first: Buffer): void {
    const side = this.streams.find(([near]) => near.id === stream.id)?.[1];
    assert.ok(side !== undefined, 'a stream that nobody has begun');
    side.start(stream);
    side.took(first);
  }

  #look(): void {
    if (!this.#isEnding)
      assert.deepEqual(
        this.closed.flat().filter((code) => code !== CloseCode.normal),
        [],
      );
    for (const side of this.streams.flat()) side.look();
  }
}

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

export const open = (id: number): Buffer => header(FrameType.open, id, 0);
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
    onOpen: (id) => seen.push(`open ${id}`),
    onData: (id, piece) => seen.push(`data ${id} ${piece.length > 8 ? piece.length : piece.toString()}`),
    onEnd: (id, code) => seen.push(code === CloseCode.normal ? `end ${id}` : `abort ${id} ${code}`),
    onWindow: (id, more) => seen.push(`window ${id} ${more}`),
    onMove: (id, connectionId) => seen.push(`move ${id} ${connectionId}`),
    onMoved: (id) => seen.push(`moved ${id}`),
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

  constructor({ highWater = 1024 * 1024 }: FakeTrunkSocketOptions = {}) {
    this.#highWater = highWater;
  }

  /** The number of queued bytes. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is something to pass on. */
  get isBusy(): boolean {
    return this.#size > 0 || (this.closedWith !== undefined && !this.#closePassedOn);
  }

  attach(handler: ByteStreamHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (isFirst && this.#endedWith !== undefined) handler.onStreamClose(this.#endedWith);
  }

  write(chunk: Buffer): boolean {
    return this.#add([Buffer.from(chunk)]);
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
