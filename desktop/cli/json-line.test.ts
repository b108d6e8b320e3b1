import assert from 'node:assert/strict';
import { jsonLine } from './json-line.ts';

describe('jsonLine', () => {
  it('is one line of JSON without a character that a terminal obeys or that reverses text', () => {
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
