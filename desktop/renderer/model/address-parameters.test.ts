import assert from 'node:assert/strict';
import { addressParameters } from './address-parameters.ts';

const shown = (target: string) => addressParameters(`GET ${target} HTTP/1.1`).shown;

describe('parameters of an address', () => {
  it('are decoded, in order, as often as they occur', () => {
    assert.deepEqual(shown('/a?q=caf%C3%A9+au+lait&tag=1&tag=2&empty=&flag'), [
      ['q', 'café au lait'],
      ['tag', '1'],
      ['tag', '2'],
      ['empty', ''],
      ['flag', ''],
    ]);
  });

  it('are none without a query, and as they are where they cannot be decoded', () => {
    assert.deepEqual(shown('/a'), []);
    assert.deepEqual(shown('/a?'), []);
    assert.deepEqual(shown('/a?x=%zz&y=[redacted]'), [
      ['x', '%zz'],
      ['y', '[redacted]'],
    ]);
  });

  it('hide nothing and turn nothing around', () =>
    assert.deepEqual(shown('/a?%E2%80%AEx=%1b'), [['\\u{202e}x', '\\x1b']]));

  it('are 200 at most, and say how many more there are', () => {
    const { shown: kept, more } = addressParameters(`GET /?${'a=1&'.repeat(250)} HTTP/1.1`);
    assert.deepEqual([kept.length, more], [200, 50]);
  });
});
