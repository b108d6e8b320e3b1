import assert from 'node:assert/strict';
import {
  duration,
  escapeVisitorText,
  jsonLine,
  dayTime,
  localTime,
  showsUtf8,
  table,
  targetText,
  timeLeft,
} from './format.ts';

it('a locale decides whether a terminal shows UTF-8', () => {
  for (const [env, expected] of [
    [{}, true],
    [{ LANG: 'C' }, false],
    [{ LANG: 'en_US.UTF-8' }, true],
    [{ LC_CTYPE: 'de_DE.utf8', LANG: 'C' }, true],
    [{ LC_ALL: 'POSIX', LC_CTYPE: 'C.UTF-8', LANG: 'C.UTF-8' }, false],
    [{ LC_ALL: '', LANG: 'en_US.ISO-8859-1' }, false],
  ] as const)
    assert.equal(showsUtf8(env, 'linux'), expected, JSON.stringify(env));
  assert.ok(showsUtf8({ LC_ALL: 'C' }, 'darwin') && showsUtf8({ LANG: 'C' }, 'win32'));
});

describe('duration', () => {
  const cases: [number, string][] = [
    [0, '0 ms'],
    [12.4, '12 ms'],
    [999.4, '999 ms'],
    [999.5, '1.0 s'],
    [1506, '1.5 s'],
    [59_949, '59.9 s'],
    [59_950, '1 min 0 s'],
    [125_000, '2 min 5 s'],
  ];
  for (const [ms, text] of cases) it(`writes ${ms} ms as ${text}`, () => assert.equal(duration(ms), text));
});

describe('timeLeft', () => {
  const cases: [number, string][] = [
    [-5, '0 s'],
    [1, '1 s'],
    [60_000, '1 min'],
    [76 * 3_600_000, '3 d 4 h'],
  ];
  for (const [ms, text] of cases) it(`writes ${ms} ms as ${text}`, () => assert.equal(timeLeft(ms), text));
});

describe('dayTime', () => {
  const now = new Date(2026, 11, 30, 14, 3, 2).getTime();
  for (const [at, text] of [
    [new Date(2026, 11, 30, 15, 0, 0), '15:00'],
    [new Date(2026, 11, 31, 0, 0, 0), 'tomorrow 00:00'],
    [new Date(2026, 11, 31, 14, 5, 59), 'tomorrow 14:05'],
    [new Date(2027, 0, 1, 0, 0, 0), '2027-01-01 00:00'],
  ] as const)
    it(`is ${text}`, () => assert.equal(dayTime(at.getTime(), now), text));
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

describe('targetText', () => {
  const cases: [string, string][] = [
    ['/caf%C3%A9?x=%c3%bc', '/café?x=ü'],
    ['/caf\u{c3}\u{a9}', '/café'],
    ['/%D0%BC%D0%B8%D1%80/%CE%B1', '/мир/α'],
    ['/5%E2%82%AC/%C2%A3', '/5€/£'],
    // would imitate columns, another part of the path, or the beginning of a code
    ['/a%20%20500%2Fb%25C3', '/a%20%20500%2Fb%25C3'],
    // two columns wide, from right to left, combining, and the fullwidth form of a letter
    ['/%E6%BC%A2/%D7%90/e%CC%81/%EF%BC%A1', '/%E6%BC%A2/%D7%90/e%CC%81/%EF%BC%A1'],
    // ESC, CSI, a soft hyphen, and an override of the direction
    ['/%1B[2J%C2%9B%C2%AD%E2%80%AE', '/%1B[2J%C2%9B%C2%AD%E2%80%AE'],
    ['/\u{1B}[2J\u{9B}\u{e2}\u{80}\u{ae}', '/\\x1b[2J\\x9bâ\\x80\\xae'],
    ['/\u{e2}\u{80}\u{ae}', '/\\u{202e}'],
    // not UTF-8, and longer than needed
    ['/%FF%C3/%C0%AE', '/%FF%C3/%C0%AE'],
  ];
  for (const [target, text] of cases)
    it(`writes ${JSON.stringify(target)} as ${text}`, () => assert.equal(targetText(target), text));

  it('never writes anything wider than its length, or from right to left', () => {
    for (let code = 0; code < 0x1_1000; code += 1) {
      if (code >= 0xd800 && code < 0xe000) continue;
      const text = targetText(`/${encodeURIComponent(String.fromCodePoint(code))}`);
      assert.match(text, /^[ -~\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\u{2b0}-\u{4ff}\p{Sc}]+$/u);
      assert.doesNotMatch(text, /[\p{M}\p{C}]/u);
    }
  });
});
