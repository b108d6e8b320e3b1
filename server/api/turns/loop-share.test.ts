import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { LoopShare } from './loop-share.ts';

describe('LoopShare', () => {
  it('lets everything begin at once while nobody else needs the loop', () => {
    const share = new LoopShare(0.25, 1);
    for (let now = 0; now < 100; now += 1) {
      assert.equal(share.wait(now, false), 0);
      share.spend(10);
    }
  });

  it('makes what took a ms rest for three while somebody does', () => {
    const share = new LoopShare(0.25, 1);
    assert.equal(share.wait(0, true), 0);
    share.spend(2);
    assert.equal(share.wait(2, true), 2);
    assert.equal(share.wait(4, true), 1);
    assert.equal(share.wait(4.1, true), 0);
  });

  it('does not count what was spent while nobody else needed the loop', () => {
    const share = new LoopShare(0.25, 1);
    share.wait(0, false);
    share.spend(1000);
    assert.equal(share.wait(1000, false), 0);
    assert.equal(share.wait(1000, true), 0);
  });

  it('saves up no more than the burst, however long it was idle', () => {
    const share = new LoopShare(0.25, 1);
    share.wait(0, true);
    assert.equal(share.wait(1e9, true), 0);
    share.spend(1.5);
    assert.ok(share.wait(1e9, true) > 0);
  });

  it('allows no more than the share, a burst and one piece, however long the pieces take', () => {
    const pieces = fc.array(fc.double({ min: 0.01, max: 20, noNaN: true }), { minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(pieces, (costs) => {
        const share = new LoopShare(0.25, 1);
        let [now, spent] = [0, 0];
        for (const cost of costs) {
          for (let wait = share.wait(now, true); wait > 0; wait = share.wait(now, true)) now += wait;
          assert.ok(spent <= now * 0.25 + 1 + 1e-6, `${spent} ms of ${now}`);
          share.spend(cost);
          spent += cost;
          now += cost;
        }
      }),
    );
  });
});
