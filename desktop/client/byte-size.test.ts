import assert from 'node:assert/strict';
import { byteSize } from './byte-size.ts';

describe('byteSize', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [1536, '1.5 kB'],
    [99_949, '99.9 kB'],
    [123_456, '123 kB'],
    [999_950, '1.0 MB'],
    [10 ** 9, '1.0 GB'],
    [10 ** 15, '1000 TB'],
  ];
  for (const [bytes, text] of cases)
    it(`writes ${bytes} as ${text}`, () => assert.equal(byteSize(bytes), text));
});
