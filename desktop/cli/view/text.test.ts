import assert from 'node:assert/strict';
import { escapeControls, paint, shorten, span, wrap, knowsLinks } from './text.ts';

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

describe('an address in the terminal', () => {
  const line = [{ ...span('https://a.example'), url: 'https://a.example' }];

  it('is a link if the terminal opens links', () => {
    assert.equal(paint(line, 40, false), 'https://a.example');
    assert.equal(
      paint(line, 40, false, true),
      `${ESC}]8;;https://a.example${ESC}\\https://a.example${ESC}]8;;${ESC}\\`,
    );
  });

  it('is only text if it could do anything else', () => {
    for (const url of [`https://a${ESC}\\`, 'file:///etc', 'https://a b'])
      assert.equal(paint([{ ...span('x'), url }], 40, false, true), 'x');
  });

  it('is a link in terminals that are known to open them, and not through a multiplexer', () => {
    assert.ok(knowsLinks({ TERM_PROGRAM: 'WezTerm' }));
    assert.ok(knowsLinks({ VTE_VERSION: '7006' }));
    assert.ok(knowsLinks({ TERM: 'xterm-kitty' }));
    assert.ok(!knowsLinks({ TERM: 'xterm-256color' }));
    assert.ok(!knowsLinks({ VTE_VERSION: '3400' }));
    assert.ok(!knowsLinks({ TERM_PROGRAM: 'WezTerm', TMUX: '/tmp/x' }));
  });
});
