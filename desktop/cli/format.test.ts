import assert from 'node:assert/strict';
import { byteSize, escapeVisitorText, jsonLine, localTime, table, timeLeft } from './format.ts';

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

describe('jsonLine', () => {
  it('returns one line of JSON without terminal control or text-reversing characters', () => {
    const value = { path: '/\u{1B}[2J\u{7F}\u{9B}31m\u{85}', body: '\u{202E}x\u{2028}\u{FEFF}\u{E0041}' };
    const line = jsonLine(value);
    assert.equal(
      line,
      String.raw`{"path":"/\u001b[2J\u007f\u009b31m\u0085","body":"\u202ex\u2028\ufeff\udb40\udc41"}` + '\n',
    );
    assert.deepEqual(JSON.parse(line), value);
  });

  it('leaves words of any language as they are', () => {
    assert.equal(jsonLine({ name: 'Zürich 漢' }), '{"name":"Zürich 漢"}\n');
  });
});

describe('escapeVisitorText', () => {
  const cases: [string, string][] = [
    ['/a?b=%20&c', '/a?b=%20&c'],
    [`/\u{1B}[2J\u{1B}]0;owned\u{7}`, '/\\x1b[2J\\x1b]0;owned\\x07'],
    ['/\r\n\t\0\u{7F}', '/\\x0d\\x0a\\x09\\x00\\x7f'],
    ['/\u{9B}31m', '/\\x9b31m'],
    ['/\u{202E}gpj.exe', '/\\u{202e}gpj.exe'],
    ['/ü/漢/\u{1F600}', '/\\xfc/\\u{6f22}/\\u{1f600}'],
    ['/\u{D800}', '/\\u{d800}'],
  ];
  for (const [text, escaped] of cases) {
    it(`writes ${JSON.stringify(text)} as ${escaped}`, () => assert.equal(escapeVisitorText(text), escaped));
  }

  it('leaves only printable ASCII, whatever character is given', () => {
    for (let code = 0; code < 0x3000; code += 1) {
      assert.match(escapeVisitorText(String.fromCodePoint(code)), /^[ -~]+$/);
    }
  });
});
