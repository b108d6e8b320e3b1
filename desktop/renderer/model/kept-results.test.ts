import assert from 'node:assert/strict';
import { isFine, progressWords, resultText, sentWords } from './kept-results.ts';

describe('results of kept requests', () => {
  it('say how many were sent, and how many of them went well', () => {
    const statuses = [200, 204, 301, 404, 500, undefined];
    const results = statuses.map((status, index) => ({ id: index + 1, status }));
    assert.equal(sentWords(results), '6 requests were sent, 2 answered with 2xx.');
    assert.equal(sentWords(results.slice(3, 4)), '1 request was sent, 0 answered with 2xx.');
    assert.equal(progressWords(3, 6), '3 of 6 sent.');
    assert.deepEqual(results.map(isFine), [true, true, true, false, false, false]);
    assert.deepEqual(results.map(resultText), ['200', '204', '301', '404', '500', 'no response']);
  });
});
