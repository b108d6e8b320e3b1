import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { FakeScheduler } from '../testing/fake-turns.ts';
import { type StreamRecorder, TrunkEnd, window } from '../testing/trunk-world.ts';
import { FRAME_HEADER_BYTES, FrameType } from './frames.ts';
import type { TrunkStream } from './trunk-stream.ts';

const KIB = 1024;
/** Bytes of a stream that are sent at a time while others wait. */
const TURN = 16 * KIB;

const bulks = fc.constantFrom(1000, 4096, TURN - 1, TURN, 64 * KIB);
/** Which stream writes something small; 0: the sent data is passed on. */
const steps = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 4 })), {
  maxLength: 40,
  size: 'max',
});

function refill(stream: TrunkStream, bytes: number): void {
  const write = (): void => {
    while (stream.write(Buffer.alloc(bytes)));
  };
  stream.attach({ onStreamData() {}, onStreamDrain: write, onStreamClose() {} });
  write();
}

/** The DATA frames among frames, with their positions. */
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

describe('a trunk with more data than room', () => {
  it('delays small data by at most one turn of each other stream', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), bulks, steps, (bulky, bulk, happens) => {
        const turns = new FakeScheduler();
        try {
          const near = new TrunkEnd(turns, 'this', { highWater: 64 * KIB });
          for (let count = 0; count < bulky; count += 1) refill(near.trunk.open(), bulk);
          const small = [1, 2, 3, 4].map(() => near.open());
          for (const { stream } of small) stream.write(Buffer.from('?'));
          const taken: Buffer[] = [];
          const take = (): void => {
            const bytes = near.socket.take();
            taken.push(bytes);
            for (const { id, size } of dataFrames(bytes)) near.hear(window(id, size));
          };
          do {
            turns.end();
            take();
          } while (small.some(({ stream }) => stream.id === 0));
          /** the writes, each with the earliest possible position in the sent data */
          const written: { id: number; from: number }[] = [];
          for (const which of happens) {
            turns.end();
            if (which === 0) {
              take();
              continue;
            }
            const { stream } = small[which - 1] as StreamRecorder;
            stream.write(Buffer.alloc(100));
            written.push({ id: stream.id, from: near.socket.writes.reduce((sum, bytes) => sum + bytes, 0) });
          }
          for (let count = 0; count < 20; count += 1) {
            turns.end();
            take();
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
      { numRuns: 30 },
    );
  }).timeout(60_000);
});
