import assert from 'node:assert/strict';
import { AnsweredRequests } from './request-phase.ts';

const SHARED = {};
const OTHER = {};

describe('the requests received by a hostile service', () => {
  it('are answered individually as long as nothing unsolicited is sent', () => {
    const requests = new AnsweredRequests();
    for (const number of [1, 2]) requests.asked(SHARED, number);
    assert.deepEqual([requests.isInStep(1), requests.mayStray(1, 2)], [true, false]);
  });

  it('may get an earlier response after unsolicited data on their connection', () => {
    const requests = new AnsweredRequests();
    requests.asked(SHARED, 1);
    requests.sentUnasked(SHARED);
    for (const number of [2, 3]) requests.asked(SHARED, number);
    assert.equal(requests.isInStep(3), false);
    assert.deepEqual([requests.mayStray(1, 2), requests.mayStray(2, 3)], [true, true]);
  });

  it('never get a response from another connection, whatever was sent there', () => {
    const requests = new AnsweredRequests();
    requests.asked(SHARED, 1);
    requests.sentUnasked(SHARED);
    requests.asked(OTHER, 2);
    assert.equal(requests.isInStep(2), true);
    assert.deepEqual([requests.mayStray(1, 2), requests.mayStray(2, 1)], [false, false]);
  });

  it('may get a response before the service has read them', () => {
    const requests = new AnsweredRequests();
    requests.asked(SHARED, 1);
    requests.asked(OTHER, 2);
    requests.sentUnasked(SHARED);
    assert.equal(requests.isInStep(3), false);
    assert.deepEqual([requests.mayStray(1, 3), requests.mayStray(2, 3)], [true, false]);
  });
});
