import assert from 'node:assert/strict';
import { pulseDrawing } from './pulse.ts';

const AT = 1000;
const second = (id: number, requests: number, errors = 0) => ({ id, requests, errors });

describe('the drawing of a pulse', () => {
  it('is none without traffic in the last minute', () => {
    assert.equal(pulseDrawing([], AT), undefined);
    assert.equal(pulseDrawing([second(AT - 60, 3)], AT), undefined);
  });

  it('has a bar for each second, the last one at its right end, and errors apart', () => {
    assert.deepEqual(pulseDrawing([second(AT - 59, 1), second(AT, 2, 1)], AT), {
      requests: 'M0 18v-4h0.7v4zM59 18v-5.6h0.7v5.6z',
      errors: 'M59 18v-4h0.7v4z',
      words: '3 requests in the last minute, 1 failed',
    });
  });

  it('grows no higher than it is, and says all in words', () => {
    const drawing = pulseDrawing([second(AT, 1_000_000)], AT);
    assert.deepEqual(
      [drawing?.requests, drawing?.words],
      ['M59 18v-18h0.7v18z', '1,000,000 requests in the last minute, none failed'],
    );
  });
});
