import assert from 'node:assert/strict';
import { closeReason } from './control.ts';

describe('closeReason', () => {
  it('keeps what fits into a Close frame, without splitting a character', () => {
    assert.equal(closeReason('phishing'), 'phishing');
    assert.equal(closeReason('x'.repeat(124)), 'x'.repeat(123));
    assert.equal(closeReason(`${'x'.repeat(122)}é`), 'x'.repeat(122));
    assert.equal(closeReason('🙂'.repeat(40)), '🙂'.repeat(30));
  });
});
