import assert from 'node:assert/strict';
import { FakeClock } from '../testing/fake-clock.ts';
import { type Check, Fault, type Finding, lookAtAll, Skipped } from './check.ts';

const check = (name: string, look: Check['look'], needs?: string): Check => ({
  name,
  look,
  ...(needs === undefined ? {} : { needs }),
});

async function findings(checks: readonly Check[], clock = new FakeClock()) {
  const found: Finding[] = [];
  const failed = await lookAtAll(checks, clock, (finding) => found.push(finding));
  return { found, failed };
}

describe('lookAtAll', () => {
  it('reports findings and fixes, and skips checks that depend on a failed one', async () => {
    const { found, failed } = await findings([
      check('a', () => Promise.resolve('fine')),
      check('b', () => Promise.reject(new Fault('broken', 'Mend it.'))),
      check('c', () => assert.fail('tried'), 'b'),
      check('d', () => Promise.reject(new Skipped('nothing there')), 'a'),
      check('e', () => Promise.reject(new Error('odd'))),
    ]);
    assert.deepEqual(failed, ['b', 'e']);
    assert.deepEqual(found, [
      { check: 'a', ms: 0, result: 'ok', detail: 'fine' },
      { check: 'b', ms: 0, result: 'failed', detail: 'broken', fix: 'Mend it.' },
      { check: 'c', result: 'skipped', ms: 0, detail: 'not checked, because "b" did not pass' },
      { check: 'd', ms: 0, result: 'skipped', detail: 'nothing there' },
      { check: 'e', ms: 0, result: 'failed', detail: 'odd' },
    ]);
  });

  it('gives each check 15 s', async () => {
    const clock = new FakeClock();
    const endless = check('a', () => {
      queueMicrotask(() => clock.advance(15_000));
      return new Promise(() => {});
    });
    const { found } = await findings([endless], clock);
    assert.deepEqual(found, [
      { check: 'a', ms: 15_000, result: 'failed', detail: 'no response within 15 s' },
    ]);
    assert.equal(clock.pending, 0);
  });
});
