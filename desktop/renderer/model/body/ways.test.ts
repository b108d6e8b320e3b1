import assert from 'node:assert/strict';
import { bodyView } from './body-view.ts';
import { shownWays } from './ways.ts';

function ways(type: string, body: string): readonly string[] {
  const view = bodyView({
    startLine: '',
    fields: [['Content-Type', type]],
    body: Uint8Array.from(body, (character) => character.charCodeAt(0)),
    isTruncated: false,
  });
  assert.ok(view);
  return shownWays(view);
}

describe('the ways of showing a body', () => {
  it('begin with what suits it best', () => {
    assert.deepEqual(ways('application/json', '{"a":1}'), ['json', 'pretty', 'text', 'hex']);
    assert.deepEqual(ways('application/x-www-form-urlencoded', 'a=1'), ['form', 'text', 'hex']);
    assert.deepEqual(ways('image/png', '\x89PNG\r\n\x1a\n'), ['image', 'hex']);
    assert.deepEqual(ways('text/plain', 'x'), ['text', 'hex']);
    assert.deepEqual(ways('application/octet-stream', '\0'), ['hex']);
  });

  it('show a page or a drawing only when they are asked for', () => {
    assert.deepEqual(ways('text/html', '<p>'), ['text', 'html', 'hex']);
    assert.deepEqual(ways('image/svg+xml', '<svg>'), ['text', 'image', 'hex']);
  });
});
