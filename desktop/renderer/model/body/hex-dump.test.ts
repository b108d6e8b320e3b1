import assert from 'node:assert/strict';
import { hexDump } from './hex-dump.ts';

describe('hexDump', () => {
  it('has offsets, bytes and what of them can be printed', () => {
    const dump = hexDump(new TextEncoder().encode('0123456789abcdef\n!'));
    assert.deepEqual(dump.split('\n'), [
      '000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef',
      `000010  0a 21${' '.repeat(42)}  .!`,
    ]);
  });

  it('ends after 64 KiB', () => {
    assert.equal(hexDump(new Uint8Array(100_000)).split('\n').length, 4096);
  });
});
