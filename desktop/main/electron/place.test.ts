import assert from 'node:assert/strict';
import { besideTray, keptPlace } from './place.ts';

describe('besideTray', () => {
  const size = { width: 400, height: 640 };
  it('is below a bar at the top', () => {
    const place = besideTray(
      { x: 500, y: 0, width: 20, height: 24 },
      { x: 0, y: 24, width: 1440, height: 876 },
      size,
    );
    assert.deepEqual(place, { x: 310, y: 32 });
  });

  it('is above a bar at the bottom, and within the screen', () => {
    const place = besideTray(
      { x: 1400, y: 860, width: 20, height: 40 },
      { x: 0, y: 0, width: 1440, height: 860 },
      size,
    );
    assert.deepEqual(place, { x: 1032, y: 212 });
  });
});

describe('keptPlace', () => {
  const screens = [{ x: 0, y: 25, width: 1000, height: 775 }];
  const size = { width: 800, height: 600 };

  it('is where the window was', () => {
    assert.deepEqual(keptPlace({ x: 150, y: 60, ...size }, screens), { x: 150, y: 60, ...size });
    assert.deepEqual(keptPlace(undefined, screens), {});
  });

  it('is only its size if that screen is gone', () => {
    for (const [x, y] of [
      [1500, 60],
      [-790, 60],
      [150, -500],
      [150, 790],
    ] as const)
      assert.deepEqual(keptPlace({ x, y, ...size }, screens), size);
  });
});
