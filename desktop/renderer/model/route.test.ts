import assert from 'node:assert/strict';
import { backward, currentPlace, forward, HOME, searching } from './route.ts';

describe('navigation in the window', () => {
  it('goes on and comes back to where the focus was, and to what was searched', () => {
    const log = forward(HOME, { screen: 'log', key: 'a' }, 'log-a');
    const request = forward(searching(log, 'POST'), { screen: 'request', key: 'a', id: 7 }, 'request-7');
    assert.deepEqual(currentPlace(request).route, { screen: 'request', key: 'a', id: 7 });
    assert.deepEqual(currentPlace(backward(request)), {
      route: { screen: 'log', key: 'a' },
      focus: 'request-7',
      search: 'POST',
    });
    assert.deepEqual(backward(backward(request)), [
      { route: { screen: 'tunnels' }, focus: 'log-a', search: '' },
    ]);
  });

  it('has nothing before the first screen', () => assert.equal(backward(HOME), HOME));
});
