import assert from 'node:assert/strict';
import { formatDuration, parseDuration } from './duration.ts';

describe('parseDuration', () => {
  const accepted: [string, number][] = [
    ['30m', 1800],
    ['4h', 14_400],
    ['168h', 604_800],
    ['1h30m', 5400],
    ['1.5h', 5400],
    ['90s', 90],
    ['1m1m', 120],
    ['.5m', 30],
    ['2.s', 2],
    ['1500ms', 1],
    ['999ms', 0],
    ['0.1s0.7s0.2s', 1],
    ['0s', 0],
    ['1h0m0s', 3600],
  ];
  for (const [text, seconds] of accepted) {
    it(`reads ${text} as ${seconds} s`, () => {
      assert.equal(parseDuration(text), seconds);
    });
  }

  for (const text of [
    '',
    '1',
    '0',
    'h',
    '.h',
    '1x',
    '-1h',
    '+1h',
    ' 1h',
    '1h ',
    '1 h',
    '1H',
    '1d',
    '1us',
    '1e3s',
    '1,5h',
  ]) {
    it(`rejects ${JSON.stringify(text)}`, () => {
      assert.equal(parseDuration(text), undefined);
    });
  }

  it('reads a well-formed duration of any size', () => {
    assert.equal(parseDuration(`${'9'.repeat(400)}h`), Infinity);
    assert.equal(parseDuration(`1.${'0'.repeat(5000)}h`), 3600);
  });
});

describe('formatDuration', () => {
  const cases: [number, string][] = [
    [3600, '1h0m0s'],
    [1800, '30m0s'],
    [5400, '1h30m0s'],
    [604_800, '168h0m0s'],
    [45, '45s'],
    [0, '0s'],
    [3661, '1h1m1s'],
  ];
  for (const [seconds, text] of cases) {
    it(`writes ${seconds} s as ${text}`, () => {
      assert.equal(formatDuration(seconds), text);
    });
  }
});
