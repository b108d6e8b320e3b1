import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { Batch, BATCH_BYTES } from './batch.ts';
import { FRAME_HEADER_BYTES, FrameType, writeHeader } from './frames.ts';

/** Bytes of payload up to which a copy is made. */
const COPIED = 4096;

/** What a batch does with its socket. */
class FakeSocket {
  readonly writes: { pieces: readonly Buffer[]; size: number }[] = [];
  room = true;

  /** The real one copies what is written alone. */
  write(chunk: Buffer): boolean {
    this.writes.push({ pieces: [Buffer.from(chunk)], size: chunk.length });
    return this.room;
  }

  writeAll(pieces: readonly Buffer[], size: number): boolean {
    this.writes.push({ pieces: [...pieces], size });
    return this.room;
  }
}

interface Frame {
  readonly id: number;
  readonly payload: Buffer | undefined;
}

function written(frames: readonly Frame[]): Buffer {
  return Buffer.concat(
    frames.flatMap(({ id, payload }) => {
      const header = Buffer.alloc(FRAME_HEADER_BYTES);
      writeHeader(
        header,
        0,
        payload === undefined ? FrameType.open : FrameType.data,
        id,
        payload?.length ?? 0,
      );
      return [header, payload ?? Buffer.alloc(0)];
    }),
  );
}

function fill(frames: readonly Frame[]): Batch {
  const batch = new Batch();
  for (const { id, payload } of frames) {
    batch.add(payload === undefined ? FrameType.open : FrameType.data, id, payload?.length ?? 0);
    if (payload !== undefined) batch.addPayload(payload);
  }
  return batch;
}

const length = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 100 }) },
  { weight: 2, arbitrary: fc.constantFrom(COPIED - 1, COPIED, COPIED + 1) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20_000 }) },
);
const payload = fc.tuple(length, fc.nat(255)).map(([size, first]) => Buffer.alloc(size, first));
const anyFrame = fc.record({
  id: fc.integer({ min: 1, max: 0xffff_ffff }),
  payload: fc.option(payload, { nil: undefined }),
});

describe('Batch', () => {
  it('sends what was put in, in one write', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { minLength: 1, maxLength: 60 }), fc.boolean(), (frames, room) => {
        const socket = new FakeSocket();
        socket.room = room;
        const batch = fill(frames);
        const bytes = written(frames);
        assert.equal(batch.size, bytes.length);
        assert.equal(batch.sendOn(socket), room);
        const [only] = socket.writes;
        assert.deepEqual([socket.writes.length, only?.size], [1, bytes.length]);
        assert.ok(Buffer.concat(only?.pieces ?? []).equals(bytes));
      }),
    );
  });

  it('does not mix what one batch sends with the next', () => {
    const socket = new FakeSocket();
    const frames = [
      { id: 1, payload: Buffer.alloc(COPIED + 1, 'a') },
      { id: 2, payload: Buffer.from('b') },
    ];
    const others = [
      { id: 3, payload: Buffer.alloc(COPIED, 'c') },
      { id: 4, payload: Buffer.alloc(20_000, 'd') },
    ];
    fill(frames).sendOn(socket);
    fill(others).sendOn(socket);
    assert.deepEqual(
      socket.writes.map(({ pieces }) =>
        Buffer.concat(pieces).equals(written(pieces.length === 3 ? frames : others)),
      ),
      [true, true],
    );
  });

  it('copies what is small, beside its header, and passes on what is large as it is', () => {
    const socket = new FakeSocket();
    const small = Buffer.alloc(COPIED, 's');
    const large = Buffer.alloc(COPIED + 1, 'l');
    fill([
      { id: 1, payload: small },
      { id: 2, payload: large },
      { id: 3, payload: small },
      { id: 4, payload: undefined },
    ]).sendOn(socket);
    const pieces = socket.writes[0]?.pieces ?? [];
    assert.deepEqual(
      pieces.map((piece) => piece.length),
      [
        FRAME_HEADER_BYTES + COPIED + FRAME_HEADER_BYTES,
        COPIED + 1,
        FRAME_HEADER_BYTES + COPIED + FRAME_HEADER_BYTES,
      ],
    );
    assert.deepEqual(
      pieces.map((piece) => piece.buffer === large.buffer),
      [false, true, false],
    );
    small.fill('x');
    assert.equal(pieces[2]?.includes('x'), false);
  });

  it('sends in one piece what fits into one', () => {
    const socket = new FakeSocket();
    fill(
      Array.from({ length: 4 }, (_, id) => ({
        id: id + 1,
        payload: Buffer.alloc(COPIED - FRAME_HEADER_BYTES),
      })),
    ).sendOn(socket);
    assert.deepEqual(
      socket.writes.map(({ pieces }) => pieces.length),
      [1],
    );
  });

  it('is full from 64 KiB on', () => {
    const batch = new Batch();
    batch.add(FrameType.data, 1, BATCH_BYTES - FRAME_HEADER_BYTES - 1);
    batch.addPayload(Buffer.alloc(BATCH_BYTES - FRAME_HEADER_BYTES - 1));
    assert.equal(batch.isFull, false);
    batch.add(FrameType.end, 1, 0);
    assert.equal(batch.isFull, true);
  });
});
