import assert from 'node:assert/strict';
import { FakeTurns } from '../testing/fake-turns.ts';
import { LARGE_BYTES, LARGE_MS, Run } from './run.ts';

/** Bytes, below 0 for those that are sent, or a time that passes. */
type Step = number | 'short' | 'long';

const MORE = LARGE_BYTES + 1;

/** After how many of the steps somebody was told. */
const RUNS: [what: string, steps: Step[], toldAfter: number | undefined][] = [
  ['more than 128 KiB that come, and still do 100 ms later', [MORE, 'long', 1], 3],
  ['more than 128 KiB that are sent, and still are 100 ms later', [-MORE, 'long', -1], 3],
  ['more that comes for 100 ms', [MORE, 'short', 1, 'short', 1], 5],
  ['more than 128 KiB at once', [MORE, MORE, 'short', MORE], undefined],
  ['more than 128 KiB at once, and a quiet', [MORE, 'long'], undefined],
  ['a byte after 128 KiB and a quiet', [LARGE_BYTES, 'long', 1], undefined],
  ['more 100 ms after that byte', [LARGE_BYTES, 'long', 1, 'long', 1], 5],
  ['as much both ways', [LARGE_BYTES, -LARGE_BYTES, 'long', LARGE_BYTES, -LARGE_BYTES], undefined],
  ['what comes behind a byte that is sent', [MORE, -1, 'long', LARGE_BYTES, 'long', 1], undefined],
  ['what is sent behind a byte that comes', [-MORE, 1, 'long', -LARGE_BYTES, 'long', -1], undefined],
  ['100 ms that begin again behind a byte that is sent', [MORE, 'short', -1, MORE, 'short', 1], undefined],
];

describe('Run', () => {
  let turns: FakeTurns;

  beforeEach(() => {
    turns = new FakeTurns();
  });

  afterEach(() => turns.reset());

  function take(run: Run, step: Step): void {
    if (typeof step === 'string') turns.pass(step === 'long' ? LARGE_MS : LARGE_MS - 1);
    else if (step > 0) run.received(step);
    else run.sent(-step);
  }

  for (const [what, steps, toldAfter] of RUNS) {
    it(`is ${toldAfter === undefined ? 'small' : 'large'} after ${what}`, () => {
      const run = new Run();
      const told: number[] = [];
      let taken = 0;
      run.whenLarge(() => told.push(taken));
      for (const step of steps) {
        taken += 1;
        take(run, step);
      }
      assert.deepEqual(told, toldAfter === undefined ? [] : [toldAfter]);
      assert.deepEqual([LARGE_BYTES, LARGE_MS], [128 * 1024, 100]);
    });
  }

  it('is told of once', () => {
    const run = new Run();
    let told = 0;
    run.whenLarge(() => (told += 1));
    for (const step of [MORE, 'long', 1, 'long', 1, -MORE, 'long', -1] as const) take(run, step);
    assert.equal(told, 1);
  });

  it('may be large without anybody to tell', () => {
    const run = new Run();
    for (const step of [-MORE, 'long', -1] as const) take(run, step);
  });
});
