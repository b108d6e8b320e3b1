import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { FakeTrunkSocket } from '../testing/fake-trunk-socket.ts';
import { read } from '../testing/trunk-frames.ts';
import { Batch } from './batch.ts';
import { FRAME_HEADER_BYTES, WINDOW_BYTES } from './frames.ts';
import { Outlet } from './outlet.ts';

/** What leaves when so many bytes may: frames as they are sent. */
function leave(outlet: Outlet, limit: number): Buffer {
  const batch = new Batch();
  outlet.putInto(batch, 1, limit);
  const socket = new FakeTrunkSocket();
  if (batch.size > 0) batch.sendOn(socket);
  return socket.take();
}

describe('Outlet', () => {
  it('puts no more into a frame than may leave, and nothing where nothing may', () => {
    const outlet = new Outlet();
    outlet.add(Buffer.from('abc'));
    outlet.add(Buffer.from('def'));
    assert.deepEqual(read(leave(outlet, 4)), ['data 1 abcd']);
    assert.deepEqual(read(leave(outlet, 0)), []);
    assert.deepEqual([read(leave(outlet, 10)), outlet.isEmpty], [['data 1 ef'], true]);
    assert.deepEqual(read(leave(outlet, 10)), []);
  });

  it('lets leave what the peer takes: a window, and what it is let go on by', () => {
    const outlet = new Outlet();
    outlet.add(Buffer.alloc(WINDOW_BYTES + 10));
    assert.deepEqual([read(leave(outlet, Infinity)), outlet.isOpen], [[`data 1 ${WINDOW_BYTES}`], false]);
    assert.deepEqual(read(leave(outlet, Infinity)), []);
    assert.deepEqual([outlet.widen(9), outlet.isOpen], [true, true]);
    assert.deepEqual([read(leave(outlet, Infinity)), outlet.isEmpty], [['data 1 9'], false]);
  });

  it('knows when the peer lets it go on by more than was sent', () => {
    const outlet = new Outlet();
    assert.equal(outlet.widen(1), false);
    const other = new Outlet();
    other.add(Buffer.from('abc'));
    leave(other, 3);
    assert.deepEqual([other.widen(3), other.widen(1)], [true, false]);
  });

  it('has room for a writer who waits once when all has left, or was dropped', () => {
    for (const empty of [
      (outlet: Outlet) => void leave(outlet, Infinity),
      (outlet: Outlet) => outlet.clear(),
    ]) {
      const outlet = new Outlet();
      assert.equal(outlet.add(Buffer.alloc(16 * 1024 - 1)), true);
      assert.equal(outlet.takeRoom(), false);
      assert.equal(outlet.add(Buffer.alloc(1)), false);
      leave(outlet, 16 * 1024 - 1);
      assert.equal(outlet.takeRoom(), false);
      empty(outlet);
      assert.deepEqual([outlet.takeRoom(), outlet.takeRoom()], [true, false]);
    }
  });

  it('sends what was written, in order, however it is written and leaves', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9000 }), { maxLength: 8 });
    const limits = fc.array(fc.integer({ min: 1, max: 9000 }), { maxLength: 20 });
    fc.assert(
      fc.property(sizes, limits, (written, allowed) => {
        const outlet = new Outlet();
        const all = Buffer.alloc(
          written.reduce((sum, size) => sum + size, 0),
          Uint8Array.from({ length: 251 }, (_, index) => index),
        );
        let at = 0;
        // What leaves is masked in place, so the outlet gets its own.
        for (const size of written) outlet.add(Buffer.from(all.subarray(at, (at += size))));
        const left = [...allowed, Infinity].map((limit) => leave(outlet, limit).subarray(FRAME_HEADER_BYTES));
        // Up to what one window takes.
        const sent = Buffer.concat(left);
        assert.ok(sent.equals(all.subarray(0, sent.length)));
        assert.equal(sent.length, Math.min(all.length, WINDOW_BYTES));
      }),
    );
  });
});
