import assert from 'node:assert/strict';
import { APPROVAL_WAIT_MS, APPROVALS_MAX } from '../limits.ts';
import { WaitingVisitors } from './tunnel-item.ts';

function setUp() {
  const clock = { now: 0 };
  return { clock, waiting: new WaitingVisitors(() => clock.now) };
}
const knock = (id: string) => ({ id, address: '192.0.2.7', agent: 'curl/8' });

describe('WaitingVisitors', () => {
  it('keeps them in order of arrival, each once, until they are answered', () => {
    const { waiting } = setUp();
    const added = ['a', 'b', 'c', 'a'].map((id) => waiting.add(knock(id)));
    assert.deepEqual(added, [true, true, true, false]);
    assert.deepEqual(waiting.knocks, [knock('a'), knock('b'), knock('c')]);
    waiting.remove('b');
    assert.deepEqual(waiting.knocks, [knock('a'), knock('c')]);
    waiting.clear();
    assert.deepEqual(waiting.knocks, []);
  });

  it('forgets those that the relay has denied', () => {
    const { clock, waiting } = setUp();
    waiting.add(knock('a'));
    clock.now = 1000;
    waiting.add(knock('b'));
    clock.now = APPROVAL_WAIT_MS - 1;
    assert.equal(waiting.knocks.length, 2);
    clock.now = APPROVAL_WAIT_MS;
    assert.deepEqual(waiting.knocks, [knock('b')]);
  });

  it('has room for as many as a relay queues', () => {
    const { clock, waiting } = setUp();
    for (let count = 0; count < APPROVALS_MAX; count += 1) assert.equal(waiting.add(knock(`${count}`)), true);
    assert.equal(waiting.add(knock('more')), false);
    assert.equal(waiting.knocks.length, APPROVALS_MAX);
    clock.now = APPROVAL_WAIT_MS;
    assert.equal(waiting.add(knock('more')), true);
  });
});
