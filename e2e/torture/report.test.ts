import assert from 'node:assert/strict';
import { merged, page, recordOf, type RowRecord, summary } from './report.ts';
import type { Outcome, Row } from './row.ts';

const TREE = { date: '2026-11-22', commit: 'abcdef0' };
const row: Row<'lost' | 'served'> = {
  name: 'example',
  title: 'What is done',
  thresholds: {
    lost: { meaning: 'lost | gone', atMost: 0 },
    served: { meaning: 'served', atLeast: 99.9 },
  },
  run: () => Promise.reject(new Error('not run here')),
};

function outcome(figures: Record<string, number> | undefined, problems: readonly string[] = []): Outcome {
  const faults = problems.length === 0 ? [] : ['lost: the third one'];
  const result = figures === undefined ? undefined : { figures, done: '1,000 things', faults };
  return { row, result, problems, seconds: 12.3 };
}

function record(changes: Partial<RowRecord> = {}): RowRecord {
  return { ...recordOf(outcome({ lost: 0, served: 99.95123 }), 7, TREE), ...changes };
}

describe('the report on reliability', () => {
  it('has each figure with its threshold, its value and whether it passed', () => {
    const text = page([recordOf(outcome({ lost: 1200, served: 99.95123 }, ['lost']), 7, TREE)]);
    assert.match(text, /\| \[example\]\(#example\) \| lost \\\| gone \| ≤ 0 \| 1,200 \| \*\*failed\*\* \|/);
    assert.match(text, /\| \[example\]\(#example\) \| served \| ≥ 99.9 \| 99.95 \| passed \|/);
    assert.match(text, /0 of 1 rows passed/);
  });

  it('says for each row what was done, when, at which commit, and how to repeat it', () => {
    const text = page([record()]);
    assert.match(
      text,
      /## example\n\nWhat is done\.\n\n1,000 things\. Passed on 2026-11-22 at abcdef0, Node v/,
    );
    assert.match(text, /in 12 s/);
    assert.match(text, /npm run torture -- --rows example --seed 7\n/);
  });

  it('shows what went wrong first, and the error of a row that did not finish', () => {
    assert.match(page([recordOf(outcome({ lost: 1, served: 100 }, ['lost']), 7, TREE)]), /the third one/);
    const text = page([recordOf(outcome(undefined, ['Error: broke off']), 7, TREE)]);
    assert.match(text, /Error: broke off/);
    assert.match(text, /\| lost \\\| gone \| ≤ 0 \| none \| \*\*failed\*\* \|/);
  });

  it('keeps rows that have not run again, in the order of the rows, and drops those that no longer exist', () => {
    const rows = [{ name: 'first' }, { name: 'second' }, { name: 'never run' }];
    const before = [record({ name: 'gone' }), record({ name: 'second', seed: 1 }), record({ name: 'first' })];
    const after = merged(rows, before, [record({ name: 'second', seed: 2 })]);
    assert.deepEqual(
      after.map(({ name, seed }) => [name, seed]),
      [
        ['first', 7],
        ['second', 2],
      ],
    );
  });

  it('shows the same on the terminal', () => {
    const text = summary(outcome({ lost: 1, served: 100 }, ['lost']));
    assert.match(text, /✖ example \(12 s\): 1,000 things/);
    assert.match(text, /✖ lost \| gone: 1 \(≤ 0\)/);
    assert.match(text, /✔ served: 100 \(≥ 99.9\)/);
    assert.match(text, /the third one/);
  });
});
