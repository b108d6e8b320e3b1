import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { CloseCode } from '../control.ts';
import { FakeScheduler } from '../testing/fake-turns.ts';
import { type FakeTrunkSocket, joinedTrunkSockets } from '../testing/trunk-world.ts';
import { FrameReader, WINDOW_BYTES, WINDOW_MAX_BYTES } from './frames.ts';
import type { TrunkStream } from './trunk-stream.ts';
import { Trunk } from './trunk.ts';

const KIB = 1024;

const anySize = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 300 }) },
  { weight: 3, arbitrary: fc.constantFrom(4096, 4097, 16 * KIB - 1, 16 * KIB, 64 * KIB, 70_000) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 200 * KIB }) },
);
const anyPassed = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 20_000 }),
  fc.constant(Infinity),
);
const anyHabits: fc.Arbitrary<Habits> = fc.record({
  pauses: fc.boolean(),
  closesAfter: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: anySize }),
  refills: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(2000, 16 * KIB, 70_000) },
  ),
});
const anyCode = fc.constantFrom(
  CloseCode.normal,
  CloseCode.normal,
  CloseCode.internalError,
  CloseCode.tunnelClosed,
);
const anyWhich = fc.constantFrom(0 as const, 1 as const);
const anyStream = fc.nat(7);

/** Something that happens. */
const anyEvent = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      open: fc.tuple(anyHabits, anyHabits),
      first: fc.option(anySize),
      isRaw: fc.boolean(),
    }),
  },
  { weight: 8, arbitrary: fc.record({ write: anySize, stream: anyStream, which: anyWhich }) },
  { weight: 8, arbitrary: fc.record({ pass: anyPassed, which: anyWhich }) },
  { weight: 8, arbitrary: fc.constant('turn' as const) },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant('pause' as const), stream: anyStream, which: anyWhich }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ act: fc.constant('resume' as const), stream: anyStream, which: anyWhich }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant('destroy' as const), stream: anyStream, which: anyWhich }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant('end' as const), stream: anyStream, which: anyWhich }),
  },
  { weight: 1, arbitrary: fc.record({ close: anyCode, stream: anyStream, which: anyWhich }) },
  { weight: 4, arbitrary: fc.record({ own: fc.nat(7), pass: anyPassed, which: anyWhich }) },
  { weight: 2, arbitrary: fc.record({ move: anyStream }) },
  { weight: 2, arbitrary: fc.constant('connect' as const) },
  { weight: 2, arbitrary: fc.constant('opened' as const) },
  { weight: 1, arbitrary: fc.record({ ms: fc.constantFrom(1, 30, 1000) }) },
);
type Event = typeof anyEvent extends fc.Arbitrary<infer T> ? T : never;

function happen(world: World, it: Event): void {
  if (it === 'turn') return world.turns.end();
  if (it === 'connect') return world.connect(true);
  if (it === 'opened') return world.hearOpened(true);
  if ('open' in it) {
    world.open(...it.open, it.isRaw);
    if (it.first !== null) world.streams.at(-1)?.[0].write(it.first);
  } else if ('move' in it) {
    world.offerMove(it.move);
  } else if ('own' in it) {
    world.ownSockets[it.own % world.ownSockets.length]?.[it.which].passOn(it.pass);
  } else if ('pass' in it) {
    world.sockets[it.which].passOn(it.pass);
  } else if ('ms' in it) {
    world.turns.pass(it.ms);
  } else {
    const side = world.side(it.stream, it.which);
    if ('write' in it) side?.write(it.write);
    else if ('close' in it) side?.close(it.close);
    else side?.[it.act]();
  }
}

const events = fc.array(anyEvent, { maxLength: 80, size: 'max' });
const anyOptions: fc.Arbitrary<WorldOptions> = fc.record({
  highWater: fc.constantFrom(1, 1000, 16 * KIB, 64 * KIB, KIB * KIB),
});

/** Runs events in a world, and then checks its invariants. */
function live(worldOptions: WorldOptions, act: (world: World) => void): void {
  const world = new World(worldOptions);
  try {
    act(world);
    world.settle();
    world.end();
  } finally {
    world.turns.reset();
  }
}

describe('two trunks under any events', () => {
  it('carry many streams together, each as if it were alone', () => {
    fc.assert(
      fc.property(anyOptions, events, (worldOptions, happens) =>
        live(worldOptions, (world) => {
          for (const it of happens) world.step(() => happen(world, it));
        }),
      ),
    );
  }).timeout(60_000);

  it('continue streams over data sockets, whenever those open, or if they fail', () => {
    const moving = fc.oneof(
      { weight: 8, arbitrary: anyEvent },
      { weight: 1, arbitrary: fc.constant('refused' as const) },
      { weight: 1, arbitrary: fc.constant('settle' as const) },
    );
    const movings = fc.array(moving, { maxLength: 60, size: 'max' });
    fc.assert(
      fc.property(anyOptions, movings, (worldOptions, happens) =>
        live(worldOptions, (world) => {
          for (const it of happens) {
            if (it === 'settle') world.settle();
            else if (it === 'refused') world.step(() => world.connect(false));
            else world.step(() => happen(world, it));
          }
        }),
      ),
    );
  }).timeout(60_000);

  it('report losses, and leak nothing', () => {
    const how = fc.constantFrom(
      'lost' as const,
      'closed' as const,
      'gone' as const,
      'own' as const,
      'unheard' as const,
    );
    fc.assert(
      fc.property(anyOptions, events, events, how, anyWhich, (worldOptions, before, after, way, end) =>
        live(worldOptions, (world) => {
          for (const it of before) world.step(() => happen(world, it));
          world.step(() => {
            if (way === 'own') world.loseOwn(0);
            else if (way === 'unheard') world.hearOpened(false);
            else world.lose(way, end);
          });
          for (const it of after) world.step(() => happen(world, it));
        }),
      ),
      { numRuns: 50 },
    );
  }).timeout(60_000);
});

/*
 * Two connected in-memory trunks, with a simple model of what their streams promise: data arrives once and in order,
 * only on its stream, and an end is reported once, with its code, after everything else.
 */

/** Period of a stream's content in bytes; not a power of two. */
const PERIOD = 251;
const WRITE_MAX = 256 * 1024;
const REFILLED_BYTES = 300 * 1024;

/** The behaviour of a handler. */
interface Habits {
  /** pauses at each call */
  readonly pauses?: boolean;
  /** number of bytes after which it closes the stream */
  readonly closesAfter?: number | undefined;
  /** bytes that it writes whenever there is room, up to {@link REFILLED_BYTES} in total */
  readonly refills?: number | undefined;
}

/** One side of a stream. */
class Side {
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
  /** Whether it has told that it sends nothing more, and whether it was told so. */
  hasSentAll = false;
  hasReadAll = false;
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
      onStreamEnd: () => {
        assert.ok(this.isOpen && !this.hasReadAll, 'told of the end of the bytes twice');
        assert.ok(this.#other?.hasSentAll, 'told of an end of the bytes that is none');
        assert.equal(this.received, this.#other.written, 'told of the end of the bytes before the last one');
        this.hasReadAll = true;
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
    if (this.#stream === undefined || this.hasSentAll) return;
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

  end(): void {
    if (this.isOpen && this.#stream !== undefined) this.hasSentAll = true;
    this.#stream?.end();
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
    if (code === undefined)
      assert.equal(this.hasReadAll, other.hasSentAll, 'was not told of the end of the bytes');
    assert.ok(!this.isWaiting || code !== undefined, 'a writer waits for ever');
  }
}

interface WorldOptions {
  /** bytes that a socket accepts before it has no room */
  readonly highWater: number;
}

class World {
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
  open(relay: Habits, client: Habits, isRaw: boolean): void {
    if (!this.trunks[0].takesStreams) return;
    const near = new Side(2 * this.streams.length, relay);
    const far = new Side(2 * this.streams.length + 1, client);
    near.join(far);
    far.join(near);
    this.streams.push([near, far]);
    const stream = this.trunks[0].open(isRaw ? 'a b' : '');
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
      onEof() {},
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
