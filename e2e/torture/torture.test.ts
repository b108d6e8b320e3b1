import assert from 'node:assert/strict';
import {
  broken,
  merged,
  type Outcome,
  page,
  recordOf,
  type Row,
  type RowRecord,
  summary,
} from './torture.ts';

const DATE = '2026-11-22';
const row: Row<'lost' | 'served'> = {
  name: 'example',
  title: 'What is done',
  thresholds: {
    lost: { meaning: 'lost', atMost: 0 },
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
  return { ...recordOf(outcome({ lost: 0, served: 99.95123 }), 7, DATE), ...changes };
}

function exists(name: string): boolean {
  return name !== 'gone';
}

function seeds(records: readonly RowRecord[]): string[] {
  return records.map(({ name, seed }) => `${name} ${seed}`);
}

describe('the report on reliability', () => {
  it('has each figure with its threshold, its value and whether it passed', () => {
    const text = page([recordOf(outcome({ lost: 1200, served: 99.95123 }, ['lost']), 7, DATE)]);
    assert.match(text, /- lost: 1,200 \(≤ 0\), \*\*failed\*\*\n/);
    assert.match(text, /- served: 99.95 \(≥ 99.9\)\n/);
    assert.match(text, /0 of 1 rows passed/);
  });

  it('describes for each row what was done, and how long it took', () => {
    const text = page([record()]);
    assert.match(text, /## example\n\nWhat is done\.\n/);
    assert.match(text, /\nPassed in 12 s: 1,000 things\.\n/);
  });

  it('shows failures first, and the error of a row that did not finish', () => {
    assert.match(page([recordOf(outcome({ lost: 1, served: 100 }, ['lost']), 7, DATE)]), /the third one/);
    const text = page([recordOf(outcome(undefined, ['Error: broke off']), 7, DATE)]);
    assert.match(text, /Error: broke off/);
    assert.match(text, /- lost: none \(≤ 0\), \*\*failed\*\*\n/);
  });

  it('keeps rows that were not repeated in their order, adds new ones, and drops those that no longer exist', () => {
    const before = [record({ name: 'gone' }), record({ name: 'second', seed: 1 }), record({ name: 'first' })];
    assert.deepEqual(seeds(merged(before, record({ name: 'second', seed: 2 }), exists)), [
      'second 2',
      'first 7',
    ]);
    assert.deepEqual(seeds(merged(before, record({ name: 'new' }), exists)), [
      'second 1',
      'first 7',
      'new 7',
    ]);
  });

  it('shows the same on the terminal', () => {
    const text = summary(outcome({ lost: 1, served: 100 }, ['lost']));
    assert.match(text, /✖ example \(12 s\): 1,000 things/);
    assert.match(text, /✖ lost: 1 \(≤ 0\)/);
    assert.match(text, /✔ served: 100 \(≥ 99.9\)/);
    assert.match(text, /the third one/);
  });
});

const limited: Row<'few' | 'many'> = {
  name: 'example',
  title: 'Example',
  thresholds: {
    few: { meaning: 'few', atMost: 2 },
    many: { meaning: 'many', atLeast: 5, onlyWhole: true },
  },
  run: () => Promise.reject(new Error('not run here')),
};

function brokenBy(figures: Record<string, number>, short = false): string[] {
  return broken(limited, { figures, done: '', faults: [] }, short);
}

describe('thresholds of a row', () => {
  it('include their own value', () => {
    assert.deepEqual(brokenBy({ few: 2, many: 5 }), []);
  });

  it('are violated by a value above the maximum or below the minimum', () => {
    assert.deepEqual(brokenBy({ few: 2.1, many: 4.9 }), ['few', 'many']);
  });

  it('apply only in a whole run if marked so, as long as the figure was measured', () => {
    assert.deepEqual(brokenBy({ few: 2.1, many: 4.9 }, true), ['few']);
    assert.deepEqual(brokenBy({ few: 2 }, true), ['many']);
  });

  it('are violated by a figure that was not measured', () => {
    assert.deepEqual(brokenBy({ few: Number.NaN }), ['few', 'many']);
  });
});
