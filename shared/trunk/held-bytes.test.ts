import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { HeldBytes } from './held-bytes.ts';

const KIB = 1024;

function takeAll(held: HeldBytes): Buffer[] {
  const pieces: Buffer[] = [];
  for (let piece = held.shift(); piece !== undefined; piece = held.shift()) pieces.push(piece);
  return pieces;
}

describe('HeldBytes', () => {
  it('gives back what was put in, in order, whatever is taken out meanwhile', () => {
    const length = fc.oneof(
      fc.integer({ min: 1, max: 200 }),
      fc.constantFrom(16 * KIB - 1, 16 * KIB, 40 * KIB),
    );
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ length, first: fc.nat(255) }) },
      { weight: 1, arbitrary: fc.constant(undefined) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const held = new HeldBytes();
        const memory = Buffer.alloc(100 * KIB);
        const given: Buffer[] = [];
        const taken: Buffer[] = [];
        let size = 0;
        for (const added of steps) {
          if (added === undefined) {
            const piece = held.shift();
            taken.push(piece ?? Buffer.alloc(0));
            size -= piece?.length ?? 0;
          } else {
            const piece = memory.subarray(added.first, added.first + added.length).fill(added.first);
            given.push(Buffer.from(piece));
            size += piece.length;
            held.add(piece);
            // Who reads uses the memory again.
            piece.fill(0xff);
          }
          assert.equal(held.size, size);
        }
        taken.push(...takeAll(held));
        assert.ok(Buffer.concat(taken).equals(Buffer.concat(given)));
        assert.equal(held.size, 0);
      }),
    );
  });

  it('takes hardly more memory than what it holds', () => {
    const held = new HeldBytes();
    const memory = Buffer.alloc(64 * KIB, 'x');
    for (let at = 0; at < memory.length; at += 1) held.add(memory.subarray(at, at + 1));
    const pieces = takeAll(held);
    assert.deepEqual(
      pieces.map(({ length, buffer }) => [length, buffer.byteLength]),
      Array.from({ length: 4 }, () => [16 * KIB, 16 * KIB]),
    );
    held.add(memory.subarray(0, 20 * KIB));
    held.add(memory);
    held.add(memory.subarray(0, 5));
    assert.deepEqual(
      takeAll(held).map(({ buffer }) => buffer.byteLength),
      [20 * KIB, 64 * KIB, 5],
    );
  });

  it('holds nothing once it was cleared', () => {
    const held = new HeldBytes();
    held.add(Buffer.from('a'));
    held.clear();
    assert.deepEqual([held.size, held.shift()], [0, undefined]);
    held.add(Buffer.from('b'));
    assert.equal(String(held.shift()), 'b');
  });
});
