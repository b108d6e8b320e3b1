import assert from 'node:assert/strict';
import { drawnRows, NO_ROWS, rowWindow } from './virtual-rows.ts';

const ROW = 30;

describe('the drawn rows of a long list', () => {
  it('are the visible ones and some around them, for any length of the list', () => {
    for (const above of [-200, 0, 1, 29_990, 299_000, 299_400]) {
      const { from, to } = rowWindow(above, 600, ROW, 10_000);
      assert.ok(from <= Math.max(0, above / ROW) && to >= Math.min(10_000, (above + 600) / ROW), `${above}`);
      assert.ok(to - from <= 600 / ROW + 40, `${above}: ${from} to ${to}`);
    }
  });

  it('stay the same while scrolling a few rows', () => {
    assert.deepEqual(rowWindow(3001, 600, ROW, 10_000), rowWindow(3290, 600, ROW, 10_000));
  });

  it('are limited to the list, and empty if it is out of view', () => {
    assert.deepEqual(rowWindow(0, 600, ROW, 7), { from: 0, to: 7 });
    assert.deepEqual(rowWindow(0, 600, ROW, 0), NO_ROWS);
    assert.deepEqual(rowWindow(90_000, 600, ROW, 7), { from: 7, to: 7 });
    assert.deepEqual(rowWindow(-5000, 600, ROW, 7), { from: 0, to: 0 });
  });

  it('include one that is always drawn, at its position', () => {
    assert.deepEqual(drawnRows({ from: 4, to: 7 }, undefined), [4, 5, 6]);
    assert.deepEqual(drawnRows({ from: 4, to: 7 }, 5), [4, 5, 6]);
    assert.deepEqual(drawnRows({ from: 4, to: 7 }, 1), [1, 4, 5, 6]);
    assert.deepEqual(drawnRows({ from: 4, to: 7 }, 9), [4, 5, 6, 9]);
  });
});
