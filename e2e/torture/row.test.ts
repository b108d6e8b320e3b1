import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { broken, type Outcome, type Row, type RowResult, runRow } from './row.ts';

const rowRow: Row<'few' | 'many'> = {
  name: 'example',
  title: 'Example',
  thresholds: {
    few: { meaning: 'few', atMost: 2 },
    many: { meaning: 'many', atLeast: 5, onlyWhole: true },
  },
  run: () => Promise.reject(new Error('not run here')),
};

function brokenBy(figures: Record<string, number>, short = false): string[] {
  return broken(rowRow, { figures, done: '', faults: [] }, short);
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

const LONG_MS = 10_000;

async function outcomeOf(run: Row['run'], timeoutMs = LONG_MS): Promise<Outcome> {
  const thresholds = { wrong: { meaning: 'wrong', atMost: 0 } };
  const row = { name: 'example', title: 'Example', thresholds, run };
  return await runRow(row, { short: true, seed: 1, say: () => {} }, timeoutMs);
}

function result(wrong: number): RowResult {
  return { figures: { wrong }, done: 'one thing', faults: [] };
}

describe('running a row', () => {
  it('passes a row that keeps its thresholds', async () => {
    assert.deepEqual((await outcomeOf(async () => result(0))).problems, []);
  });

  it('names the figures of a row that does not', async () => {
    assert.deepEqual((await outcomeOf(async () => result(1))).problems, ['wrong']);
  });

  it('fails a row that throws, with its message', async () => {
    const { result: none, problems } = await outcomeOf(() => Promise.reject(new Error('broke off')));
    assert.equal(none, undefined);
    assert.match(problems.join(), /broke off/);
  });

  it('fails a row that does not finish', async () => {
    const { problems } = await outcomeOf(() => new Promise(() => {}), 1);
    assert.match(problems.join(), /no end of the row within 1 ms/);
  });

  it('ends what a row has started, and fails a row whose things do not end', async () => {
    let ended = false;
    const { problems } = await outcomeOf(async ({ scope }) => {
      scope.defer(() => Promise.reject(new Error('stuck')));
      scope.defer(() => (ended = true));
      return result(0);
    });
    assert.ok(ended);
    assert.match(problems.join(), /stuck/);
  });

  it('fails a row with an unhandled error, and not this process', async () => {
    // Mocha has a listener of its own for this.
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    try {
      const { problems } = await outcomeOf(async () => {
        setImmediate(() => {
          throw new Error('astray');
        });
        await turn();
        await turn();
        return await new Promise<never>(() => {});
      });
      assert.match(problems.join(), /astray/);
    } finally {
      for (const other of others) process.on('uncaughtException', other);
    }
  });
});
