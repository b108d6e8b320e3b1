import assert from 'node:assert/strict';
import { backward, currentRoute, forward, HOME } from './route.ts';

describe('the way through the window', () => {
  it('goes on and comes back to where the focus was', () => {
    const log = forward(HOME, { screen: 'log', key: 'a' }, 'log-a');
    const request = forward(log, { screen: 'request', key: 'a', id: 7 }, 'request-7');
    assert.deepEqual(currentRoute(request), { screen: 'request', key: 'a', id: 7 });
    assert.deepEqual(backward(request).at(-1), { route: { screen: 'log', key: 'a' }, focus: 'request-7' });
    assert.deepEqual(backward(backward(request)), [{ route: { screen: 'tunnels' }, focus: 'log-a' }]);
  });

  it('has nothing before the first screen', () => assert.equal(backward(HOME), HOME));
});
