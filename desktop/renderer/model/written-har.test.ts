import assert from 'node:assert/strict';
import { writtenText } from './written-har.ts';

describe('what is said of a HAR', () => {
  it('names the file, and what is not in it', () => {
    const written = { path: '/home/ann/shop.har', count: 1, missing: 0, hidesSecrets: false };
    assert.equal(writtenText(written), '1 request is in /home/ann/shop.har.');
    assert.equal(
      writtenText({ ...written, count: 2, missing: 3, hidesSecrets: true }),
      '2 requests are in /home/ann/shop.har, without secrets. What was recorded of 3 more is no longer kept.',
    );
  });
});
