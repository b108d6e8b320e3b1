import assert from 'node:assert/strict';
import { HOP_LINE_MAX_BYTES } from '../../limits.ts';
import { hopKey, readRequest, writeRequest } from './hop.ts';

const SECRET = 's'.repeat(32);
const request = { id: 'id', key: 'key', authorization: `Bearer cvt_${'x'.repeat(200)}` };

describe('the key of a hop', () => {
  const ends = { from: 'two', to: 'one' };

  it('is the same at both ends', () => {
    assert.equal(hopKey(ends, SECRET)?.length, 32);
    assert.deepEqual(hopKey(ends, SECRET), hopKey({ ...ends }, SECRET));
  });

  it('is another one for any other relay, in the other direction, and with another secret', () => {
    const keys = [
      hopKey(ends, SECRET),
      hopKey({ ...ends, from: 'three' }, SECRET),
      hopKey({ ...ends, to: 'three' }, SECRET),
      hopKey({ from: 'one', to: 'two' }, SECRET),
      hopKey({ from: 'two-one', to: '' }, SECRET),
      hopKey(ends, 't'.repeat(32)),
    ];
    assert.equal(new Set(keys.map((key) => key?.toString('hex'))).size, keys.length);
  });

  it('does not exist for names that no relay has', () => {
    for (const from of ['', 'two one', 'two\n', 'x'.repeat(65), 'ä'])
      assert.equal(hopKey({ ...ends, from }, SECRET), undefined);
  });
});

describe('the request of a hop', () => {
  it('arrives as it was sent, with whom it comes through, within its limit', () => {
    for (const sent of [request, { ...request, authorization: undefined }]) {
      const bytes = writeRequest(sent);
      assert.ok(bytes.length < HOP_LINE_MAX_BYTES);
      assert.deepEqual(readRequest(bytes, 'two'), { ...sent, via: 'two' });
    }
  });
});
