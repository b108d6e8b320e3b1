import assert from 'node:assert/strict';
import { broken, type Row } from './row.ts';

const row: Row<'few' | 'many'> = {
  name: 'example',
  title: 'Example',
  thresholds: { few: { meaning: 'few', atMost: 2 }, many: { meaning: 'many', atLeast: 5 } },
  run: () => Promise.reject(new Error('not run here')),
};

function brokenBy(figures: Record<string, number>): string[] {
  return broken(row, { figures, done: '', faults: [] });
}

describe('thresholds of a row', () => {
  it('keep what they name themselves', () => {
    assert.deepEqual(brokenBy({ few: 2, many: 5 }), []);
  });

  it('are broken by more than the most and by less than the least', () => {
    assert.deepEqual(brokenBy({ few: 2.1, many: 4.9 }), ['few', 'many']);
  });

  it('are broken by a figure that was not measured', () => {
    assert.deepEqual(brokenBy({ few: Number.NaN }), ['few', 'many']);
  });
});
