import assert from 'node:assert/strict';
import { besideTray } from './place.ts';

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
