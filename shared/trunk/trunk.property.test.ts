import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { CloseCode } from '../control.ts';
import { FakeTurns } from '../testing/fake-turns.ts';
import { type StreamRecorder, TrunkEnd } from '../testing/trunk-end.ts';
import { window } from '../testing/trunk-frames.ts';
import { type Habits, World, type WorldOptions } from '../testing/trunk-world.ts';
import { FRAME_HEADER_BYTES, FrameType, WINDOW_MAX_BYTES } from './frames.ts';
import { WINDOW_START_BYTES } from './receive-window.ts';
import type { TrunkStream } from './trunk-stream.ts';

const KIB = 1024;

const size = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 300 }) },
  { weight: 3, arbitrary: fc.constantFrom(4096, 4097, 16 * KIB - 1, 16 * KIB, 64 * KIB, 70_000) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 200 * KIB }) },
);
const passed = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 20_000 }),
  fc.constant(Infinity),
);
const habits: fc.Arbitrary<Habits> = fc.record({
  pauses: fc.boolean(),
  closesAfter: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: size }),
  refills: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: size }),
});
const code = fc.constantFrom(
  CloseCode.normal,
  CloseCode.normal,
  CloseCode.internalError,
  CloseCode.tunnelClosed,
);
const which = fc.constantFrom(0 as const, 1 as const);
const stream = fc.nat(7);

/** Something that happens. */
const event = fc.oneof(
  { weight: 3, arbitrary: fc.record({ open: fc.tuple(habits, habits), first: fc.option(size) }) },
  { weight: 8, arbitrary: fc.record({ write: size, stream, which }) },
  { weight: 8, arbitrary: fc.record({ pass: passed, which }) },
  { weight: 8, arbitrary: fc.constant('turn' as const) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('pause' as const), stream, which }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('resume' as const), stream, which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('destroy' as const), stream, which }) },
  { weight: 1, arbitrary: fc.record({ close: code, stream, which }) },
  { weight: 1, arbitrary: fc.record({ ms: fc.constantFrom(1, 30, 1000) }) },
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

function happen(world: World, it: Event): void {
  if (it === 'turn') return world.turns.end();
  if ('open' in it) {
    world.open(...it.open);
    if (it.first !== null) world.streams.at(-1)?.[0].write(it.first);
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

const events = fc.array(event, { maxLength: 80, size: 'max' });
const options: fc.Arbitrary<WorldOptions> = fc.record({
  highWater: fc.constantFrom(1, 1000, 16 * KIB, 64 * KIB, KIB * KIB),
  roundTripMs: fc.constantFrom(undefined, 50),
  budget: fc.constantFrom(0, 100 * KIB, KIB * KIB),
});

/** What happens to a world, and then what must be true of it in the end. */
async function live(worldOptions: WorldOptions, act: (world: World) => Promise<void>): Promise<void> {
  const world = new World(worldOptions);
  try {
    await act(world);
    await world.settle();
    await world.end();
  } finally {
    world.turns.reset();
  }
}

describe('two trunks, whatever happens between them', () => {
  it('carry many streams at once, each as if it were alone', async () => {
    await fc.assert(
      fc.asyncProperty(options, events, (worldOptions, happens) =>
        live(worldOptions, async (world) => {
          for (const it of happens) await world.step(() => happen(world, it));
        }),
      ),
    );
  }).timeout(60_000);

  it('tell of what was lost, and keep nothing of it', async () => {
    const how = fc.constantFrom('lost' as const, 'closed' as const, 'gone' as const);
    await fc.assert(
      fc.asyncProperty(options, events, events, how, which, (worldOptions, before, after, way, end) =>
        live(worldOptions, async (world) => {
          for (const it of before) await world.step(() => happen(world, it));
          await world.step(() => world.lose(way, end));
          for (const it of after) await world.step(() => happen(world, it));
        }),
      ),
      { numRuns: 50 },
    );
  }).timeout(60_000);
});

describe('a trunk with more to send than there is room for', () => {
  /** Bytes of a stream that go out at a time while others wait. */
  const TURN = 16 * KIB;
  const bulks = fc.constantFrom(1000, 4096, TURN - 1, TURN, 64 * KIB, 200 * KIB);
  /** Which stream writes something small; 0: what was sent is taken. */
  const steps = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 4 })), {
    maxLength: 60,
    size: 'max',
  });

  it('lets what is small wait for no more than one turn of each other stream', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), bulks, steps, (bulky, bulk, happens) => {
        const turns = new FakeTurns();
        try {
          const near = new TrunkEnd(turns, 'this', { highWater: 64 * KIB });
          for (let count = 0; count < bulky; count += 1) refill(near.trunk.open(), bulk);
          const small = [1, 2, 3, 4].map(() => near.open());
          for (const { stream } of small) stream.write(Buffer.from('?'));
          const taken: Buffer[] = [];
          do {
            turns.end();
            taken.push(near.socket.take());
          } while (small.some(({ stream }) => stream.id === 0));
          for (let id = 1; id <= bulky; id += 1) near.hear(window(id, WINDOW_MAX_BYTES - WINDOW_START_BYTES));
          /** what was written, and where in all that is sent it could have been at the earliest */
          const written: { id: number; from: number }[] = [];
          for (const which of happens) {
            turns.end();
            if (which === 0) {
              taken.push(near.socket.take());
              continue;
            }
            const { stream } = small[which - 1] as StreamRecorder;
            stream.write(Buffer.alloc(100));
            written.push({ id: stream.id, from: near.socket.writes.reduce((sum, bytes) => sum + bytes, 0) });
          }
          for (let count = 0; count < 20; count += 1) {
            turns.end();
            taken.push(near.socket.take());
          }
          const frames = dataFrames(Buffer.concat(taken));
          for (const { id, from } of written) {
            const frame = frames.find((sent) => sent.id === id && sent.at >= from);
            assert.ok(frame !== undefined, 'it was not sent');
            const before = new Map<number, number>();
            for (const other of frames) {
              if (other.at < from || other.at >= frame.at || other.id === id) continue;
              before.set(other.id, (before.get(other.id) ?? 0) + other.size);
            }
            for (const bytes of before.values())
              assert.ok(bytes <= TURN, `${bytes} bytes of another before it`);
          }
        } finally {
          turns.reset();
        }
      }),
    );
  }).timeout(60_000);

  function refill(stream: TrunkStream, bytes: number): void {
    const write = (): void => {
      while (stream.write(Buffer.alloc(bytes)));
    };
    stream.attach({ onStreamData() {}, onStreamDrain: write, onStreamClose() {} });
    write();
  }

  /** The DATA frames among frames, and where they are. */
  function dataFrames(bytes: Buffer): { id: number; size: number; at: number }[] {
    const frames: { id: number; size: number; at: number }[] = [];
    let at = 0;
    while (at < bytes.length) {
      const isData = bytes[at] === FrameType.data;
      const size = isData ? bytes.readUInt32BE(at + 5) : 0;
      if (isData) frames.push({ id: bytes.readUInt32BE(at + 1), size, at });
      at += FRAME_HEADER_BYTES + size;
    }
    return frames;
  }
});
