import assert from 'node:assert/strict';
import {
  HEADER_NAME_RULE,
  HEADER_NAMES_RULE,
  HEADER_RULE,
  HEADERS_RULE,
  isHeaderChanges,
  NO_HEADER_CHANGES,
  readHeader,
} from './header-changes.ts';

describe('a header to set', () => {
  it('has a name and a value without the blanks around it', () => {
    assert.deepEqual(readHeader('X-Env:  dev \t'), { name: 'X-Env', value: 'dev' });
    assert.deepEqual(readHeader('X-Env:a b: c'), { name: 'X-Env', value: 'a b: c' });
    assert.deepEqual(readHeader('X-Env:'), { name: 'X-Env', value: '' });
  });

  const refused = [
    '',
    'X-Env',
    ': dev',
    'X Env: dev',
    'X-Env : dev',
    ' X-Env: dev',
    'X-Env: a\r\nX-Other: b',
    'X-Env: a\nb',
    'X-Env: a\0b',
    'X-Env: \u{e9}',
    ':path: /',
    `X-Env: ${'x'.repeat(1024)}`,
    5,
    undefined,
  ];
  for (const line of refused) {
    it(`is not ${JSON.stringify(String(line).slice(0, 40))}`, () =>
      assert.equal(HEADER_RULE.accepts(line), false));
  }

  const fixed =
    'Connection content-length Expect HOST HTTP2-Settings Keep-Alive Proxy-Authenticate Proxy-Authorization ' +
    'Proxy-Connection Sec-WebSocket-Accept Sec-WebSocket-Extensions Sec-WebSocket-Key TE Trailer ' +
    'Transfer-Encoding Upgrade';
  for (const name of fixed.split(' ')) {
    it(`is not ${name}, which cannot be removed either`, () => {
      assert.equal(HEADER_RULE.accepts(`${name}: x`), false);
      assert.equal(HEADER_NAME_RULE.accepts(name), false);
    });
  }
});

describe('a list of headers', () => {
  it('has at most 16, and may be one alone', () => {
    assert.equal(HEADERS_RULE.accepts('A: b'), true);
    assert.equal(HEADERS_RULE.accepts(Array.from({ length: 16 }, () => 'A: b')), true);
    assert.equal(HEADERS_RULE.accepts(Array.from({ length: 17 }, () => 'A: b')), false);
    assert.equal(HEADERS_RULE.accepts(['A: b', 'Host: c']), false);
    assert.equal(HEADER_NAMES_RULE.accepts(['Cookie']), true);
    assert.equal(HEADER_NAMES_RULE.accepts({ Cookie: true }), false);
  });
});

describe('isHeaderChanges', () => {
  it('accepts exactly four lists', () => {
    assert.ok(isHeaderChanges(NO_HEADER_CHANGES));
    assert.ok(isHeaderChanges({ ...NO_HEADER_CHANGES, requestHeader: ['A: b'] }));
    for (const value of [
      undefined,
      null,
      [],
      {},
      { ...NO_HEADER_CHANGES, more: [] },
      { ...NO_HEADER_CHANGES, requestHeader: 'A: b' },
      { ...NO_HEADER_CHANGES, removeRequestHeader: ['Host'] },
      { ...NO_HEADER_CHANGES, responseHeader: ['A: b\r\nC: d'] },
    ])
      assert.ok(!isHeaderChanges(value));
  });
});
