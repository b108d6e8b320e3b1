import assert from 'node:assert/strict';
import { escapeControls, paint, shorten, span, wrap } from './text.ts';

const ESC = '\u{1B}';

describe('escapeControls', () => {
  it('keeps words of any language, but no terminal control characters', () => {
    assert.equal(escapeControls(`Zürich… ${ESC}[2J\u{202E}\u{200B}`), 'Zürich… \\x1b[2J\\u{202e}\\u{200b}');
  });
});

describe('paint', () => {
  it('fits a line to its width, and marks what is cut off', () => {
    const line = [span('abc', 'good'), span('defgh'), span('ijk', 'dim')];
    assert.equal(paint(line, 11, false), 'abcdefghijk');
    assert.equal(paint(line, 10, false), 'abcdefghi…');
    assert.equal(paint(line, 6, false), 'abcde…');
    assert.equal(paint(line, 8, false), 'abcdefg…');
    assert.equal(paint(line, 1, false), '…');
    assert.equal(paint(line, 0, false), '');
  });

  it('ends every colour at the end of its piece', () => {
    assert.equal(paint([span('a', 'bad'), span('b')], 2, true), `${ESC}[31ma${ESC}[0mb`);
    assert.equal(paint([span('abc', 'bad')], 2, true), `${ESC}[31ma${ESC}[0m…`);
  });
});

describe('shorten and wrap', () => {
  it('keep text that fits', () => {
    assert.equal(shorten('abc', 3), 'abc');
    assert.deepEqual(wrap('one two three', 7), ['one two', 'three']);
    assert.deepEqual(wrap('incomprehensible it is', 5), ['incomprehensible', 'it is']);
  });
});
