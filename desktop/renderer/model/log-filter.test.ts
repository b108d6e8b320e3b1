import assert from 'node:assert/strict';
import { exampleRequest } from '../../testing/views.ts';
import { ALL, chips, partOf, threads } from './log-filter.ts';

const LOG = [
  exampleRequest({ id: 6, durationMs: undefined }),
  exampleRequest({ id: 5, method: 'POST', replayOf: 3 }),
  exampleRequest({ id: 4, method: 'POST', replayOf: 2 }),
  exampleRequest({ id: 3, method: 'POST', replayOf: 2, status: 500 }),
  exampleRequest({ id: 2, method: 'POST', isBroken: true }),
  exampleRequest({ id: 1, durationMs: 1200 }),
];
const ids = (requests: readonly { id: number }[]): number[] => requests.map(({ id }) => id);

describe('the parts of a log', () => {
  it('are counted, and left out when empty', () => {
    assert.deepEqual(
      chips(LOG, ALL).map(({ label, count }) => `${label} ${count}`),
      ['All 6', 'Errors 2', 'Slow 1', 'Live 1', 'GET 2', 'POST 4'],
    );
    assert.deepEqual(
      chips(LOG.slice(-1), 'errors').map(({ label, count }) => `${label} ${count}`),
      ['All 1', 'Errors 0', 'Slow 1'],
    );
  });

  it('are not what a visitor calls a method', () => {
    const odd = [
      exampleRequest({ id: 9, method: 'errors' }),
      exampleRequest({ id: 8, method: 'X'.repeat(17) }),
    ];
    assert.deepEqual(
      chips([...odd, ...LOG], ALL).map(({ label, count }) => `${label} ${count}`),
      ['All 8', 'Errors 2', 'Slow 1', 'Live 1', 'GET 2', 'POST 4', 'errors 1'],
    );
    assert.deepEqual(ids(partOf([...odd, ...LOG], 'method errors')), [9]);
  });

  it('have what their name says', () => {
    assert.deepEqual(ids(partOf(LOG, 'errors')), [3, 2]);
    assert.deepEqual(ids(partOf(LOG, 'method POST')), [5, 4, 3, 2]);
    assert.deepEqual(ids(partOf([exampleRequest({ id: 7, webhook: 'stripe' }), ...LOG], 'webhooks')), [7]);
    assert.equal(partOf(LOG, ALL), LOG);
  });
});

describe('threads', () => {
  it('have repetitions below what they repeat, also of a repetition', () => {
    assert.deepEqual(ids(threads(LOG)), [6, 2, 3, 4, 5, 1]);
  });

  it('leave alone what repeats a request that is no longer there', () => {
    assert.deepEqual(ids(threads(LOG.slice(0, 2))), [6, 5]);
  });
});
