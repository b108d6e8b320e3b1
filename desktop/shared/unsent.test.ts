import assert from 'node:assert/strict';
import { isUnsent } from './unsent.ts';

describe('an imported request', () => {
  it('is unsent until it is sent from here, or came with a response', () => {
    const unsent = { isImported: true, status: undefined, durationMs: 0, isBroken: false };
    assert.equal(isUnsent(unsent), true);
    for (const change of [
      { isImported: false },
      { status: 200 },
      { durationMs: undefined },
      { isBroken: true, durationMs: 3 },
    ])
      assert.equal(isUnsent({ ...unsent, ...change }), false, JSON.stringify(change));
  });
});
