import assert from 'node:assert/strict';
import { Run } from './run.ts';

/** Bytes, below 0 for those that are sent; after how many of the steps somebody was told who asked for more than 100. */
const RUNS: [what: string, steps: number[], toldAfter: number | undefined][] = [
  ['more that comes', [60, 40, 1], 3],
  ['more that is sent', [-60, -40, -1], 3],
  ['more at once', [101], 1],
  ['as much', [100], undefined],
  ['as much both ways', [100, -100, 100, -100], undefined],
  ['more behind a byte that is sent', [100, -1, 100, 1], 4],
  ['more behind a byte that comes', [-100, 1, -100, -1], 4],
];

function take(run: Run, step: number): void {
  if (step > 0) run.received(step);
  else run.sent(-step);
}

describe('Run', () => {
  for (const [what, steps, toldAfter] of RUNS) {
    it(`is ${toldAfter === undefined ? 'small' : 'large'} after ${what}`, () => {
      const run = new Run();
      const told: number[] = [];
      let taken = 0;
      run.whenAbove(100, () => told.push(taken));
      for (const step of steps) {
        taken += 1;
        take(run, step);
      }
      assert.deepEqual(told, toldAfter === undefined ? [] : [toldAfter]);
    });
  }

  it('is told of once', () => {
    const run = new Run();
    let told = 0;
    run.whenAbove(100, () => (told += 1));
    for (const step of [101, 1, -101, -1]) take(run, step);
    assert.equal(told, 1);
  });

  it('may be large without anybody to tell', () => {
    take(new Run(), 1e12);
  });
});
