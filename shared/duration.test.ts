import assert from 'node:assert/strict';
import {
  durationParts,
  durationText,
  formatDuration,
  parseDuration,
  roughDuration,
  typedDuration,
} from './duration.ts';

describe('parseDuration', () => {
  const accepted =
    '30m=1800 4h=14400 168h=604800 1h30m=5400 1.5h=5400 90s=90 1m1m=120 .5m=30 2.s=2 1500ms=1 999ms=0 ' +
    '0.1s0.7s0.2s=1 0s=0 1h0m0s=3600';
  for (const row of accepted.split(' ')) {
    const [text = '', seconds] = row.split('=');
    it(`reads ${text} as ${seconds} s`, () => assert.equal(parseDuration(text), Number(seconds)));
  }

  const rejected = ['', ' 1h', '1h ', '1 h', ...'1 0 h .h 1x -1h +1h 1H 1d 1us 1e3s 1,5h'.split(' ')];
  for (const text of rejected)
    it(`rejects ${JSON.stringify(text)}`, () => assert.equal(parseDuration(text), undefined));

  it('reads a well-formed duration of any size', () => {
    assert.equal(parseDuration(`${'9'.repeat(400)}h`), Infinity);
    assert.equal(parseDuration(`1.${'0'.repeat(5000)}h`), 3600);
  });
});

describe('a duration for people', () => {
  for (const [seconds, exact, rough, typed] of [
    [0, '0 s', '0 s', '0s'],
    [59, '59 s', '59 s', '59s'],
    [60, '1 min', '1 min', '1m'],
    [90, '1 min 30 s', '1 min 30 s', '1m30s'],
    [545, '9 min 5 s', '9 min', '9m5s'],
    [3600, '1 h', '1 h', '1h'],
    [3605, '1 h 5 s', '1 h', '1h0m5s'],
    [5400, '1 h 30 min', '1 h 30 min', '1h30m'],
    [93_630, '1 d 2 h 30 s', '1 d 2 h', '26h0m30s'],
    [604_800, '7 d', '7 d', '168h'],
  ] as const)
    it(`is ${exact}, ${rough} while somebody waits, and ${typed} to type`, () => {
      const shown = [durationText(durationParts(seconds)), durationText(roughDuration(seconds))];
      assert.deepEqual([...shown, typedDuration(seconds)], [exact, rough, typed]);
      assert.equal(parseDuration(typed), seconds);
    });
});

describe('formatDuration', () => {
  for (const row of '3600=1h0m0s 1800=30m0s 5400=1h30m0s 604800=168h0m0s 45=45s 0=0s 3661=1h1m1s'.split(
    ' ',
  )) {
    const [seconds, text] = row.split('=');
    it(`writes ${seconds} s as ${text}`, () => assert.equal(formatDuration(Number(seconds)), text));
  }
});
