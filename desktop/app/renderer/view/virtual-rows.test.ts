import assert from 'node:assert/strict';
import { drawnRows, RowLayout } from './virtual-rows.ts';

const ROW = 30;

describe('the drawn rows of a long list', () => {
  const layout = new RowLayout(10_000, ROW);

  it('are the visible ones and some around them, for any length of the list', () => {
    for (const above of [-200, 0, 1, 29_990, 299_000, 299_400]) {
      const { from, to } = layout.window(above, 600);
      assert.ok(from <= Math.max(0, above / ROW) && to >= Math.min(10_000, (above + 600) / ROW), `${above}`);
      assert.ok(to - from <= 600 / ROW + 40, `${above}: ${from} to ${to}`);
    }
  });

  it('stay the same while scrolling a few rows', () => {
    assert.deepEqual(layout.window(3001, 600), layout.window(3290, 600));
  });

  it('are limited to the list, and empty if it is out of view', () => {
    const few = new RowLayout(7, ROW);
    assert.deepEqual(few.window(0, 600), { from: 0, to: 7 });
    assert.deepEqual(new RowLayout(0, ROW).window(0, 600), { from: 0, to: 0 });
    for (const above of [90_000, -5000]) {
      const { from, to } = few.window(above, 600);
      assert.equal(to - from, 0);
    }
  });

  it('include one that is always drawn, at its position', () => {
    assert.deepEqual(drawnRows({ from: 4, to: 7 }, undefined), [4, 5, 6]);
    assert.deepEqual(drawnRows({ from: 4, to: 7 }, 5), [4, 5, 6]);
    assert.deepEqual(drawnRows({ from: 4, to: 7 }, 1), [1, 4, 5, 6]);
    assert.deepEqual(drawnRows({ from: 4, to: 7 }, 9), [4, 5, 6, 9]);
  });
});

describe('the rows of a list, some with a second line,', () => {
  const layout = new RowLayout(6, ROW, 12, [0, 3, 4]);

  it('begin where the one above ends', () => {
    assert.deepEqual(
      [0, 1, 2, 3, 4, 5, 6].map((place) => layout.topOf(place)),
      [0, 42, 72, 102, 144, 186, 216],
    );
    assert.equal(layout.height, 216);
  });

  it('are found at every pixel, within the list', () => {
    for (let place = 0; place < 6; place += 1) {
      assert.equal(layout.placeAt(layout.topOf(place)), place);
      assert.equal(layout.placeAt(layout.topOf(place + 1) - 1), place);
      assert.equal(layout.firstFrom(layout.topOf(place)), place);
      assert.equal(layout.firstFrom(layout.topOf(place) + 1), place + 1);
    }
    assert.deepEqual([layout.placeAt(-1), layout.placeAt(9999), layout.firstFrom(9999)], [0, 5, 6]);
  });
});
