import assert from 'node:assert/strict';
import { keptMessage } from './kept-message.ts';

const message = (length: number, isTruncated = false) => ({
  startLine: '',
  fields: [],
  body: new Uint8Array(length),
  isTruncated,
});

describe('keptMessage', () => {
  it('is the one of before until more has come', () => {
    const before = message(3);
    assert.equal(keptMessage(before, message(3)), before);
    for (const next of [message(4), message(3, true)]) assert.equal(keptMessage(before, next), next);
    assert.equal(keptMessage(undefined, before), before);
  });
});
