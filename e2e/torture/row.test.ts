import assert from 'node:assert/strict';
import { broken, type Row } from './row.ts';

const row: Row<'few' | 'many'> = {
  name: 'example',
  title: 'Example',
  thresholds: {
    few: { meaning: 'few', atMost: 2 },
    many: { meaning: 'many', atLeast: 5, onlyWhole: true },
  },
  run: () => Promise.reject(new Error('not run here')),
};

function brokenBy(figures: Record<string, number>, short = false): string[] {
  return broken(row, { figures, done: '', faults: [] }, short);
}

describe('thresholds of a row', () => {
  it('include what they name', () => {
    assert.deepEqual(brokenBy({ few: 2, many: 5 }), []);
  });

  it('are broken by more than the most and by less than the least', () => {
    assert.deepEqual(brokenBy({ few: 2.1, many: 4.9 }), ['few', 'many']);
  });

  it('do not judge a figure in a short run that only a whole one can tell, if it was measured', () => {
    assert.deepEqual(brokenBy({ few: 2.1, many: 4.9 }, true), ['few']);
    assert.deepEqual(brokenBy({ few: 2 }, true), ['many']);
  });

  it('are broken by a figure that was not measured', () => {
    assert.deepEqual(brokenBy({ few: Number.NaN }), ['few', 'many']);
  });
});
