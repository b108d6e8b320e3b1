import assert from 'node:assert/strict';
import { toMessage } from '../messages.ts';
import { checkHops, type Hop, HopFailure, type HopResult, HopSkipped } from './hop.ts';

const hop = (name: string, check: () => string, standsAlone = false): Hop => ({
  name,
  standsAlone,
  check: () => Promise.resolve().then(check),
});
const fail = (error: Error) => (): string => {
  throw error;
};

/** Each check takes 5.4 ms. */
async function walk(hops: Hop[], interrupted = new AbortController().signal) {
  let now = 0;
  const results: HopResult[] = [];
  const isGood = await checkHops(
    hops,
    () => (now += 5.4),
    interrupted,
    (result) => results.push(result),
  );
  return { isGood, results };
}

describe('checkHops', () => {
  it('reports the result and duration of each hop', async () => {
    const skipped = hop('b', fail(new HopSkipped('nothing to check')));
    const { isGood, results } = await walk([hop('a', () => 'found'), skipped, hop('c', () => 'found too')]);
    assert.equal(isGood, true);
    assert.deepEqual(results, [
      { hop: 'a', result: 'ok', ms: 5, detail: 'found' },
      { hop: 'b', result: 'skipped', ms: 5, detail: 'nothing to check' },
      { hop: 'c', result: 'ok', ms: 5, detail: 'found too' },
    ]);
  });

  it('names the failing hop and the fix, and after it checks only independent hops', async () => {
    const { isGood, results } = await walk([
      hop('a', fail(new HopFailure('nothing there', 'Start it.'))),
      hop('b', () => assert.fail('tried')),
      hop('c', fail(new Error('broken too')), true),
    ]);
    assert.equal(isGood, false);
    assert.deepEqual(results, [
      { hop: 'a', result: 'failed', ms: 5, detail: 'nothing there', fix: 'Start it.' },
      { hop: 'b', result: 'skipped', ms: 0, detail: toMessage('doctor.notTried') },
      { hop: 'c', result: 'failed', ms: 5, detail: 'broken too' },
    ]);
  });

  it('stops at Ctrl-C, even during a check', async () => {
    const interrupt = new AbortController();
    const endless: Hop = {
      name: 'a',
      standsAlone: false,
      check() {
        queueMicrotask(() => interrupt.abort());
        return new Promise(() => {});
      },
    };
    const { isGood, results } = await walk([endless, hop('b', () => assert.fail('tried'))], interrupt.signal);
    assert.equal(isGood, false);
    assert.deepEqual(results, []);
  });
});
