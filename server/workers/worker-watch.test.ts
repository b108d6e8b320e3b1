import assert from 'node:assert/strict';
import { WORKER_SILENT_MS, WORKER_WATCH_MS, WorkerWatch } from './worker-watch.ts';

describe('WorkerWatch', () => {
  it('asks each process once, and ends one that has not answered for 10 s, by calls rather than by the clock', () => {
    const did: string[] = [];
    const watch = new WorkerWatch<{ readonly name: string }>(
      ({ name }) => did.push(`ask ${name}`),
      ({ name }) => did.push(`end ${name}`),
    );
    const [fast, slow, hung] = ['fast', 'slow', 'hung'].map((name) => ({ name })) as [W, W, W];
    type W = { readonly name: string };
    const calls = WORKER_SILENT_MS / WORKER_WATCH_MS;
    watch.tick([fast, slow, hung]);
    assert.deepEqual(did.splice(0), ['ask fast', 'ask slow', 'ask hung']);
    for (let call = 1; call <= calls; call += 1) {
      watch.heard(fast);
      watch.tick([fast, slow, hung]);
      assert.deepEqual(did.splice(0), ['ask fast']);
    }
    watch.heard(slow);
    watch.tick([slow, hung]);
    assert.deepEqual(did.splice(0), ['ask slow', 'end hung']);
  });
});
