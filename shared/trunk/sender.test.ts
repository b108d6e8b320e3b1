import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { FakeTrunkSocket, read } from '../testing/trunk-world.ts';
import { FRAME_HEADER_BYTES, FrameType, WINDOW_BYTES, WINDOW_MAX_BYTES, writeHeader } from './frames.ts';
import { Batch, BATCH_BYTES, Sender } from './sender.ts';

/** The frames sent with that limit of payload bytes. */
function leave(outlet: Sender, limit: number): Buffer {
  const batch = new Batch();
  outlet.putInto(batch, 1, limit);
  const socket = new FakeTrunkSocket();
  if (batch.size > 0) batch.sendOn(socket);
  return socket.take();
}

describe('Sender', () => {
  it('puts at most the allowed bytes into a frame, and creates no empty frame', () => {
    const outlet = new Sender();
    outlet.add(Buffer.from('abc'));
    outlet.add(Buffer.from('def'));
    assert.deepEqual(read(leave(outlet, 4)), ['data 1 abcd']);
    assert.deepEqual(read(leave(outlet, 0)), []);
    assert.deepEqual([read(leave(outlet, 10)), outlet.isEmpty], [['data 1 ef'], true]);
    assert.deepEqual(read(leave(outlet, 10)), []);
  });

  it('does not keep the reads in memory that brought tiny pieces', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const held = (): number => {
      // The second one waits for what the first one releases.
      for (let times = 0; times < 2; times += 1) collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    const before = held();
    const outlet = new Sender();
    for (let count = 0; count < 500; count += 1) outlet.add(Buffer.alloc(64 * 1024, 'a').subarray(0, 1));
    assert.ok(held() - before < 1024 * 1024);
    assert.deepEqual(read(leave(outlet, 4)), ['data 1 aaaa']);
  });

  it('sends what the peer allows: a window, and every grant', () => {
    const outlet = new Sender();
    outlet.add(Buffer.alloc(WINDOW_BYTES + 10));
    assert.deepEqual([read(leave(outlet, Infinity)), outlet.isOpen], [[`data 1 ${WINDOW_BYTES}`], false]);
    assert.deepEqual(read(leave(outlet, Infinity)), []);
    assert.deepEqual([outlet.widen(9), outlet.isOpen], [true, true]);
    assert.deepEqual([read(leave(outlet, Infinity)), outlet.isEmpty], [['data 1 9'], false]);
  });

  it('detects a peer that lets more than 256 KiB be open', () => {
    const outlet = new Sender();
    assert.deepEqual([outlet.widen(WINDOW_MAX_BYTES - WINDOW_BYTES), outlet.widen(1)], [true, false]);
    const other = new Sender();
    other.add(Buffer.from('abc'));
    leave(other, 3);
    assert.deepEqual([other.widen(WINDOW_MAX_BYTES - WINDOW_BYTES + 3), other.widen(1)], [true, false]);
  });

  it('reports room once to a waiting writer when all data was sent or dropped', () => {
    for (const empty of [
      (outlet: Sender) => void leave(outlet, Infinity),
      (outlet: Sender) => outlet.clear(),
    ]) {
      const outlet = new Sender();
      assert.equal(outlet.add(Buffer.alloc(16 * 1024 - 1)), true);
      assert.equal(outlet.takeRoom(), false);
      assert.equal(outlet.add(Buffer.alloc(1)), false);
      leave(outlet, 16 * 1024 - 1);
      assert.equal(outlet.takeRoom(), false);
      empty(outlet);
      assert.deepEqual([outlet.takeRoom(), outlet.takeRoom()], [true, false]);
    }
  });

  it('sends the written data in order, for any sizes of writes and frames', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9000 }), { maxLength: 8 });
    const limits = fc.array(fc.integer({ min: 1, max: 9000 }), { maxLength: 20 });
    fc.assert(
      fc.property(sizes, limits, (written, allowed) => {
        const outlet = new Sender();
        const all = Buffer.alloc(
          written.reduce((sum, size) => sum + size, 0),
          Uint8Array.from({ length: 251 }, (_, index) => index),
        );
        let at = 0;
        // Sent bytes are masked in place, so the sender gets a copy.
        for (const size of written) outlet.add(Buffer.from(all.subarray(at, (at += size))));
        const left = [...allowed, Infinity].map((limit) => leave(outlet, limit).subarray(FRAME_HEADER_BYTES));
        // Up to one window.
        const sent = Buffer.concat(left);
        assert.ok(sent.equals(all.subarray(0, sent.length)));
        assert.equal(sent.length, Math.min(all.length, WINDOW_BYTES));
      }),
    );
  });
});

/** Size up to which payload is copied, in bytes. */
const COPIED = 4096;

/** The calls of a batch to its socket. */
class FakeSocket {
  readonly writes: { pieces: readonly Buffer[]; size: number }[] = [];
  room = true;

  /** The real one copies the data of a single write. */
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

function batchWritten(frames: readonly Frame[]): Buffer {
  return Buffer.concat(
    frames.flatMap(({ id, payload = Buffer.alloc(0) }) => {
      const bytes = Buffer.alloc(FRAME_HEADER_BYTES);
      writeHeader(bytes, 0, payload.length === 0 ? FrameType.open : FrameType.data, id, payload.length);
      return [bytes, payload];
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
  it('sends all frames in one write', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { minLength: 1, maxLength: 60 }), fc.boolean(), (frames, room) => {
        const socket = new FakeSocket();
        socket.room = room;
        const batch = fill(frames);
        const bytes = batchWritten(frames);
        assert.equal(batch.size, bytes.length);
        assert.equal(batch.sendOn(socket), room);
        const [only] = socket.writes;
        assert.deepEqual([socket.writes.length, only?.size], [1, bytes.length]);
        assert.ok(Buffer.concat(only?.pieces ?? []).equals(bytes));
      }),
    );
  });

  it('does not mix a batch with the next one', () => {
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
        Buffer.concat(pieces).equals(batchWritten(pieces.length === 3 ? frames : others)),
      ),
      [true, true],
    );
  });

  it('copies small payload beside its header, and passes large payload on unchanged', () => {
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

  it('sends small batches in one piece', () => {
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
