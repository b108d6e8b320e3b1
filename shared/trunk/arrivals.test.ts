import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { withArrival } from './arrivals.ts';
import { FRAME_HEADER_BYTES } from './frames.ts';

const content = fc.uint8Array({ minLength: 1, maxLength: 40 });
/** Pieces of one stream with what is between them: a header, or more than that. */
const arrivals = fc.array(
  fc.record({ piece: content, between: fc.constantFrom(FRAME_HEADER_BYTES, 2 * FRAME_HEADER_BYTES, 30) }),
  { minLength: 1, maxLength: 12 },
);

describe('withArrival', () => {
  it('joins what came, and touches nothing but what is in between', () => {
    fc.assert(
      fc.property(arrivals, fc.boolean(), (parts, together) => {
        const bytes = Buffer.concat(
          parts.flatMap(({ piece, between }) => [Buffer.alloc(between, '-'), piece]),
        );
        const memory = Buffer.concat([Buffer.alloc(50, 'a'), bytes, Buffer.alloc(50, 'z')]);
        let held: Buffer | undefined;
        let at = 50;
        for (const { piece, between } of parts) {
          at += between;
          const part = memory.subarray(at, at + piece.length);
          held = withArrival(held, together ? part : Buffer.from(part));
          at += piece.length;
        }
        assert.ok(held?.equals(Buffer.concat(parts.map(({ piece }) => piece))));
        assert.equal(memory.subarray(0, 50).toString(), 'a'.repeat(50));
        assert.equal(memory.subarray(at).toString(), 'z'.repeat(50));
      }),
    );
  });

  it('copies neither of two with a header between them', () => {
    for (const [first, second] of [
      ['long', 'x'],
      ['x', 'long'],
    ] as const) {
      const memory = Buffer.from(`${first}${'-'.repeat(FRAME_HEADER_BYTES)}${second}`);
      const joined = withArrival(
        memory.subarray(0, first.length),
        memory.subarray(first.length + FRAME_HEADER_BYTES),
      );
      assert.equal(joined.toString(), first + second);
      assert.equal(joined.buffer, memory.buffer);
    }
  });
});
