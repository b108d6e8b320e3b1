import assert from 'node:assert/strict';
import { exampleRequest } from '../../testing/views.ts';
import { foundRequests } from './log-search.ts';

const LOG = [
  exampleRequest({ id: 4, target: '/hooks', method: 'POST', webhook: 'github' }),
  exampleRequest({ id: 3, target: '/caf%C3%A9' }),
  exampleRequest({ id: 2, target: '/order?id=7', method: 'POST', status: 404 }),
  exampleRequest({ id: 1, target: '/', status: undefined }),
];
const found = (typed: string): number[] => foundRequests(LOG, typed).map(({ id }) => id);

describe('the search of a log', () => {
  it('finds method, address, status and sender, in any case', () => {
    assert.deepEqual(found('post'), [4, 2]);
    assert.deepEqual(found('ORDER'), [2]);
    assert.deepEqual(found('404'), [2]);
    assert.deepEqual(found('GitHub'), [4]);
  });

  it('finds an address as it was sent and as it is read', () => {
    assert.deepEqual([found('%C3'), found('café')], [[3], [3]]);
  });

  it('finds what has every word, and all without any', () => {
    assert.deepEqual([found('post 404'), found('post café')], [[2], []]);
    assert.equal(foundRequests(LOG, ' '), LOG);
  });
});
