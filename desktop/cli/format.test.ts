import assert from 'node:assert/strict';
import { byteSize, localTime, table, timeLeft } from './format.ts';

describe('byteSize', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1536, '1.5 KiB'],
    [1024 ** 3, '1.0 GiB'],
    [1024 ** 5, '1024.0 TiB'],
  ];
  for (const [bytes, text] of cases)
    it(`writes ${bytes} as ${text}`, () => assert.equal(byteSize(bytes), text));
});

describe('timeLeft', () => {
  const cases: [number, string][] = [
    [-5, '0s'],
    [1, '1s'],
    [59_000, '59s'],
    [60_000, '1m 00s'],
    [545_000, '9m 05s'],
    [3_720_000, '1h 02m'],
    [47 * 3_600_000, '47h 00m'],
    [76 * 3_600_000, '3d 4h'],
  ];
  for (const [ms, text] of cases) it(`writes ${ms} ms as ${text}`, () => assert.equal(timeLeft(ms), text));
});

describe('localTime', () => {
  it('writes the time of this machine', () => {
    assert.equal(localTime(new Date(2026, 6, 9, 4, 3, 2).toISOString()), '2026-07-09 04:03:02');
  });

  it('leaves text that it does not understand', () => assert.equal(localTime('soon'), 'soon'));
});

describe('table', () => {
  it('aligns columns', () => {
    assert.equal(
      table([
        ['A', 'B'],
        ['long', 'x'],
      ]),
      'A     B\nlong  x\n',
    );
  });
});
