import assert from 'node:assert/strict';
import { escapeVisitorText } from './visitor-text.ts';

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
