import assert from 'node:assert/strict';
import { escapeUnprintable, replaceUnprintable, withoutEnd } from './unprintable.ts';

describe('escapeUnprintable', () => {
  const cases: [string, string][] = [
    [
      '/a?b=%20&c – Zürich 漢 \u{1F469}\u{200D}\u{1F4BB}',
      '/a?b=%20&c – Zürich 漢 \u{1F469}\u{200D}\u{1F4BB}',
    ],
    ['\u{1B}[2J\u{7F}\0\r', '\\x1b[2J\\x7f\\x00\\x0d'],
    ['\u{9B}31m \u{85}', '\\x9b31m \\x85'],
    ['\u{202E}gpj.exe\u{2066}\u{200B}\u{FEFF}', '\\u{202e}gpj.exe\\u{2066}\\u{200b}\\u{feff}'],
    ['\u{2028}\u{2029}\u{E0041}', '\\u{2028}\\u{2029}\\u{e0041}'],
  ];
  for (const [text, escaped] of cases) {
    it(`escapes ${JSON.stringify(text)} as ${escaped}`, () => assert.equal(escapeUnprintable(text), escaped));
  }

  it('keeps allowed characters', () => {
    assert.equal(escapeUnprintable('a\tb\nc\u{9B}', '\n\t'), 'a\tb\nc\\x9b');
  });
});

describe('replaceUnprintable', () => {
  it('replaces characters that control a terminal or reverse text', () => {
    assert.equal(replaceUnprintable('a\u{9B}b\u{202E}c\n', ' '), 'a b c ');
  });
});

describe('withoutEnd', () => {
  for (const [text, without] of [
    ['is it paid ??', 'is it paid'],
    ['too many. ', 'too many'],
    ['wait…', 'wait'],
    ['did you mean port?', 'did you mean port'],
    ['port? 3000', 'port? 3000'],
    ['? ?', ''],
  ] as const)
    it(`shortens "${text}" to "${without}"`, () => assert.equal(withoutEnd(text), without));
});
