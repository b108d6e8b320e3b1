import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { joined } from './fields.ts';

describe('joined', () => {
  it('equals Buffer.concat, even if bytes are removed from the front, and never changes earlier results', () => {
    const step = fc.record({ piece: fc.uint8Array({ maxLength: 700 }), taken: fc.nat(900) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let held: Buffer = Buffer.alloc(0);
        let expected: Buffer = Buffer.alloc(0);
        const seen: [Buffer, string][] = [];
        for (const { piece, taken } of steps) {
          held = joined(held, Buffer.from(piece));
          expected = Buffer.concat([expected, piece]);
          assert.ok(held.equals(expected));
          seen.push([held, held.toString('hex')]);
          held = held.subarray(taken);
          expected = expected.subarray(taken);
        }
        for (const [bytes, text] of seen) assert.equal(bytes.toString('hex'), text);
      }),
    );
  });

  it('never writes outside its own memory, nor twice after the same bytes', () => {
    const foreign = Buffer.from('abcdef');
    assert.equal(joined(foreign.subarray(0, 3), Buffer.from('x')).toString(), 'abcx');
    assert.equal(foreign.toString(), 'abcdef');
    const first = joined(Buffer.from('a'), Buffer.from('b'));
    const [second, third] = [joined(first, Buffer.from('c')), joined(first, Buffer.from('d'))];
    assert.deepEqual([first, second, third].map(String), ['ab', 'abc', 'abd']);
  });
});
