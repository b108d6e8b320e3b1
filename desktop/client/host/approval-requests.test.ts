import assert from 'node:assert/strict';
import { ApprovalRequests, APPROVAL_WAIT_MS, APPROVALS_MAX } from './approval-requests.ts';

function setUp() {
  const clock = { now: 0 };
  return { clock, requests: new ApprovalRequests(() => clock.now) };
}
const request = (id: string, since = 0) => ({ id, address: '192.0.2.7', agent: 'curl/8', since });

describe('ApprovalRequests', () => {
  it('keeps them in order of arrival, each once, until they are answered', () => {
    const { requests } = setUp();
    const added = ['a', 'b', 'c', 'a'].map((id) => requests.add(request(id)));
    assert.deepEqual(added, [true, true, true, false]);
    assert.deepEqual(requests.all, [request('a'), request('b'), request('c')]);
    requests.remove('b');
    assert.deepEqual(requests.all, [request('a'), request('c')]);
    requests.clear();
    assert.deepEqual(requests.all, []);
  });

  it('forgets those that the relay has denied', () => {
    const { clock, requests } = setUp();
    requests.add(request('a'));
    clock.now = 1000;
    requests.add(request('b'));
    clock.now = APPROVAL_WAIT_MS - 1;
    assert.equal(requests.all.length, 2);
    clock.now = APPROVAL_WAIT_MS;
    assert.deepEqual(requests.all, [request('b', 1000)]);
  });

  it('has room for as many as a relay queues', () => {
    const { clock, requests } = setUp();
    for (let count = 0; count < APPROVALS_MAX; count += 1)
      assert.equal(requests.add(request(`${count}`)), true);
    assert.equal(requests.add(request('more')), false);
    assert.equal(requests.all.length, APPROVALS_MAX);
    clock.now = APPROVAL_WAIT_MS;
    assert.equal(requests.add(request('more')), true);
  });
});
