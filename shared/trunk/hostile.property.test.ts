import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { CloseCode } from '../control.ts';
import { FakeScheduler } from '../testing/fake-turns.ts';
import {
  abort,
  data,
  end,
  header,
  move,
  moved,
  open,
  type StreamRecorder,
  TrunkEnd,
  window,
} from '../testing/trunk-world.ts';
import { DATA_MAX_BYTES, LAST_STREAM_ID, WINDOW_BYTES, WINDOW_MAX_BYTES } from './frames.ts';

/** Streams of the relay's side, and those that a peer is likely to begin. */
const STREAMS = 4;

const id = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 1, max: STREAMS }) },
  { weight: 1, arbitrary: fc.constantFrom(0, STREAMS + 1, LAST_STREAM_ID) },
);
const size = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(1000, WINDOW_BYTES / 2, WINDOW_BYTES));
const value = fc.oneof(
  size,
  fc.constantFrom(
    0,
    WINDOW_BYTES + 1,
    WINDOW_MAX_BYTES,
    WINDOW_MAX_BYTES + 1,
    8 * 1024 * 1024,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
  ),
);
const frame = fc.oneof(
  { weight: 6, arbitrary: id.map(open) },
  { weight: 12, arbitrary: fc.tuple(id, size).map(([stream, bytes]) => data(stream, bytes)) },
  {
    weight: 3,
    arbitrary: fc.tuple(id, fc.integer({ min: 1, max: 40 })).map(([stream, bytes]) => window(stream, bytes)),
  },
  { weight: 2, arbitrary: id.map(end) },
  { weight: 2, arbitrary: id.map((stream) => abort(stream)) },
  { weight: 1, arbitrary: id.map((stream) => move(stream, 'somewhere')) },
  { weight: 1, arbitrary: id.map(moved) },
  { weight: 1, arbitrary: fc.tuple(fc.nat(255), id, value).map((parts) => header(...parts)) },
  { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes)) },
);
const act = fc.record({
  act: fc.constantFrom('pause', 'resume', 'write', 'close', 'destroy', 'turn', 'look'),
  stream: fc.nat(STREAMS - 1),
});
/** Data of a peer, cut anywhere, and the events on this side in between. */
const happens = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ frames: fc.array(frame, { maxLength: 6 }), cut: fc.nat(200) }) },
    { weight: 2, arbitrary: act },
  ),
  { maxLength: 40 },
);
type Event = typeof happens extends fc.Arbitrary<(infer T)[]> ? T : never;

/** A side of a trunk with a hostile peer. */
class Attacked {
  readonly #end: TrunkEnd;
  readonly #own: StreamRecorder[] = [];

  constructor(turns: FakeScheduler, begins: 'this' | 'peer') {
    this.#end = new TrunkEnd(turns, begins);
    if (begins === 'peer') return;
    for (let count = 0; count < STREAMS; count += 1) this.#own.push(this.#end.open());
    for (const { stream } of this.#own) stream.write(Buffer.from('?'));
    this.#end.sent();
  }

  get #streams(): readonly StreamRecorder[] {
    return [...this.#own, ...this.#end.begun];
  }

  happen(event: Event): void {
    if ('frames' in event) {
      const bytes = Buffer.concat(event.frames);
      this.#end.socket.receive(bytes.subarray(0, event.cut));
      this.#end.socket.receive(bytes.subarray(event.cut));
      return;
    }
    const stream = this.#streams[event.stream]?.stream;
    if (event.act === 'turn') this.#end.sent();
    else if (event.act === 'look') this.#end.trunk.expectAnswers();
    else if (event.act === 'write') stream?.write(Buffer.from('answer'));
    else if (event.act === 'close') stream?.close(CloseCode.normal);
    else stream?.[event.act]();
  }

  /** Invariants. */
  check(received: number): void {
    const { closed, socket, trunk } = this.#end;
    assert.ok(closed.length <= 1, 'the owner is told of the end once');
    if (closed.length > 0) {
      assert.equal(socket.closedWith?.code, CloseCode.protocolError);
      assert.equal(trunk.size, 0, 'a trunk that has ended keeps streams');
    }
    assert.ok(trunk.size <= STREAMS + 2 * STREAMS, 'streams that nobody has begun');
    const handedOver = this.#streams.reduce((sum, recorder) => sum + recorder.size, 0);
    assert.ok(handedOver <= received, 'bytes that nobody has sent');
    for (const { closed: ends } of this.#streams) assert.ok(ends.length <= 1, 'an end is told twice');
  }

  /** The connection ends, and everything with it. */
  finish(): void {
    this.#end.socket.lose();
    for (const { stream } of this.#streams) stream.resume();
    this.#end.sent();
    assert.deepEqual([this.#end.closed.length, this.#end.trunk.size], [1, 0]);
    assert.equal(this.#end.turns.timers, 0);
  }
}

describe('a trunk with a hostile peer', () => {
  for (const [who, begins] of [
    ['client', 'this'],
    ['relay', 'peer'],
  ] as const) {
    it(`never accepts more than it has granted the ${who}, ends only with a protocol error, and leaks nothing`, () => {
      fc.assert(
        fc.property(happens, (events) => {
          const turns = new FakeScheduler();
          try {
            const attacked = new Attacked(turns, begins);
            let received = 0;
            for (const event of events) {
              if ('frames' in event) received += Buffer.concat(event.frames).length;
              attacked.happen(event);
              turns.settle();
              attacked.check(received);
            }
            attacked.finish();
          } finally {
            turns.reset();
          }
        }),
        { numRuns: 300 },
      );
    }).timeout(60_000);
  }

  it('accepts at most a window of a paused stream, in frames of any size', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: DATA_MAX_BYTES }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(sizes, (parts) => {
        const turns = new FakeScheduler();
        try {
          const near = new TrunkEnd(turns, 'peer');
          near.hear(open(1), data(1, '?'));
          near.begun[0]?.stream.pause();
          let sent = 1;
          for (const bytes of parts) {
            near.hear(data(1, bytes));
            sent += bytes;
            assert.equal(near.closed.length > 0, sent > WINDOW_BYTES);
          }
        } finally {
          turns.reset();
        }
      }),
    );
  });

  it('accepts as much as it has granted of a stream that is paused after its window has changed', () => {
    const sizes = fc.array(fc.tuple(fc.integer({ min: 1, max: DATA_MAX_BYTES }), fc.boolean()), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(sizes, (parts) => {
        const turns = new FakeScheduler();
        try {
          const near = new TrunkEnd(turns, 'peer');
          near.hear(open(1), data(1, '?'));
          const { stream, pieces } = near.begun[0] ?? assert.fail();
          let mayCome = WINDOW_BYTES - 1;
          let sent = 1;
          const answer = (): void => {
            for (const text of near.sent()) mayCome += Number(/^window 1 (\d+)$/.exec(text)?.[1]);
            const handedOver = pieces.reduce((sum, { length }) => sum + length, 0);
            assert.ok(sent - handedOver + mayCome <= WINDOW_MAX_BYTES, 'more than a window');
          };
          for (const [bytes, pauses] of parts) {
            if (bytes > mayCome) continue;
            if (pauses) stream.pause();
            else stream.resume();
            near.hear(data(1, bytes));
            sent += bytes;
            mayCome -= bytes;
            answer();
          }
          stream.pause();
          assert.deepEqual(near.closed, []);
          if (mayCome > 0) near.hear(data(1, mayCome));
          assert.deepEqual(near.closed, []);
          near.hear(data(1, 1));
          assert.deepEqual(near.closed, [CloseCode.abnormal]);
        } finally {
          turns.reset();
        }
      }),
    );
  });
});
