import assert from 'node:assert/strict';
import type { Mutation, Part } from './mutation.ts';
import { unit } from './mutation.ts';
import { type Outcome, report } from './results.ts';

function outcome(part: Part, notice: string, why?: string): Outcome {
  const mutation: Mutation = { part, notice, file: 'a.ts', find: 'a', replace: 'b', tests: unit('a test') };
  return { mutation, caughtBy: why === undefined ? [] : [{ title: 'a test', why }] };
}

describe('results.md', () => {
  const first = report('', [outcome('edge', 'old', 'no'), outcome('link', 'kept', 'no')], {
    date: '2026-01-01',
    commit: 'aaa',
  });

  it('says of each part how many were caught, and by what', () => {
    assert.match(first, /## edge\n\n1 of 1 caught, on 2026-01-01 at aaa\.\n/);
    assert.match(first, /\| kept \| `a\.ts` \| a test: `no` \|/);
  });

  it('keeps the sections of parts that were not tried', () => {
    const state = { date: '2026-01-02', commit: 'bbb' };
    const second = report(first, [outcome('edge', 'new', 'no'), outcome('edge', 'missed')], state);
    assert.match(second, /## edge\n\n1 of 2 caught, on 2026-01-02 at bbb\.\n[^#]*\*\*nothing\*\*/);
    assert.match(second, /\n\n## link\n\n1 of 1 caught, on 2026-01-01 at aaa\.\n/);
    assert.ok(!second.includes('old'));
    assert.equal(report(second, [], state), second);
  });
});
