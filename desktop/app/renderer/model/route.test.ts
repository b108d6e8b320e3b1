import assert from 'node:assert/strict';
import { backward, beside, currentPlace, forward, HOME, instead, type Route } from './route.ts';

const LOG = { screen: 'log', key: 'a' } as const;
const request = (id: number): Extract<Route, { screen: 'request' }> => ({ screen: 'request', key: 'a', id });

describe('navigation in the window', () => {
  it('moves forward, and back to the previous focus', () => {
    const log = forward(HOME, LOG, 'log-a');
    const opened = forward(log, request(7), 'request-7');
    assert.deepEqual(currentPlace(opened).route, request(7));
    assert.deepEqual(currentPlace(backward(opened)), { route: LOG, focus: 'request-7', isBeside: false });
    assert.deepEqual(backward(backward(opened)), [{ ...HOME[0], focus: 'log-a' }]);
  });

  it('stays on a screen that is already open', () => {
    const opened = forward(HOME, request(7), undefined);
    assert.equal(forward(opened, request(7), undefined), opened);
    assert.equal(forward(opened, request(8), undefined).length, 3);
  });

  it('has no screen before the first one', () => assert.equal(backward(HOME), HOME));

  it('shows several requests beside their log, and returns to it', () => {
    const log = forward(HOME, LOG, 'log-a');
    const second = beside(beside(log, request(7), 'request-7'), request(8), 'request-8');
    assert.deepEqual(
      second.map(({ route, isBeside }) => [route, isBeside]),
      [
        [HOME[0].route, false],
        [LOG, false],
        [request(8), true],
      ],
    );
    assert.deepEqual(currentPlace(backward(second)), { route: LOG, focus: 'request-8', isBeside: false });
    assert.equal(second[0].focus, 'log-a');
  });

  it('replaces a request with another one, unless the user has left it', () => {
    const opened = forward(forward(HOME, LOG, 'log-a'), request(7), 'request-7');
    const next = instead(opened, request(7), request(8), 'replay');
    assert.deepEqual(currentPlace(next), { route: request(8), focus: 'replay', isBeside: false });
    assert.deepEqual(currentPlace(backward(next)).focus, 'request-7');
    assert.equal(instead(opened, request(6), request(8), 'replay'), opened);
  });

  it('returns to the log even from a request that was opened on a card', () => {
    const opened = forward(HOME, request(7), 'request-a-7');
    const next = beside(opened, request(8), 'request-8');
    assert.deepEqual(currentPlace(backward(next)).route, LOG);
    assert.equal(next[0].focus, 'request-a-7');
  });
});
