import assert from 'node:assert/strict';
import { FakeTurns } from '../testing/fake-turns.ts';
import { LARGE_BYTES, LARGE_MS, Run } from './run.ts';

/** Bytes, below 0 for those that are sent, or a time that passes. */
type Step = number | 'short' | 'last' | 'long';

const TIMED = 16 * 1024;

const MORE = LARGE_BYTES + 1;

/** After how many of the steps somebody was told. */
const RUNS: [what: string, steps: Step[], toldAfter: number | undefined][] = [
  ['more than 128 KiB that come within 50 ms and go on', [MORE, 'long', 1], 3],
  ['more than 128 KiB that are sent within 50 ms and go on', [-MORE, 'long', -1], 3],
  ['more than 128 KiB that come in no less than 50 ms', [TIMED, 'long', MORE - TIMED], 3],
  ['more that comes for 50 ms', [MORE, 'short', 1, 'last', 1], 5],
  ['more than 128 KiB at once', [MORE, MORE, 'short', MORE], undefined],
  ['more than 128 KiB at once, and a quiet', [MORE, 'long'], undefined],
  ['128 KiB and a quiet', [LARGE_BYTES - 1, 'long', 1], undefined],
  ['a byte after 128 KiB and a quiet', [LARGE_BYTES, 'long', 1], 3],
  ['less than 16 KiB, a quiet, and 128 KiB more', [TIMED - 1, 'long', MORE], undefined],
  ['as much both ways', [LARGE_BYTES, -LARGE_BYTES, 'long', LARGE_BYTES, -LARGE_BYTES], undefined],
  ['what comes behind a byte that is sent', [MORE, -1, 'long', LARGE_BYTES, 'long', 1], 6],
  ['what is sent behind a byte that comes', [-MORE, 1, 'long', -LARGE_BYTES, 'short', -1], undefined],
  ['50 ms that begin again behind a byte that is sent', [MORE, 'short', -1, MORE, 'short', 1], undefined],
];

describe('Run', () => {
  let turns: FakeTurns;

  beforeEach(() => {
    turns = new FakeTurns();
  });

  afterEach(() => turns.reset());

  function take(run: Run, step: Step): void {
    if (typeof step === 'string') turns.pass({ short: LARGE_MS - 1, last: 1, long: LARGE_MS }[step]);
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
      assert.deepEqual([LARGE_BYTES, LARGE_MS], [128 * 1024, 50]);
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
