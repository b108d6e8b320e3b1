import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { WINDOW_BYTES } from './frames.ts';
import { ReceiveWindow } from './receive-window.ts';

describe('ReceiveWindow', () => {
  it('lets 64 KiB come, and not a byte more, before something is passed on', () => {
    const window = new ReceiveWindow();
    assert.equal(window.received(WINDOW_BYTES - 1), true);
    assert.equal(window.received(1), true);
    assert.equal(window.received(1), false);
  });

  it('lets the peer go on by half a window at a time, or by more that was passed on at once', () => {
    const window = new ReceiveWindow();
    window.received(WINDOW_BYTES);
    assert.equal(window.passedOn(WINDOW_BYTES / 2 - 1), false);
    assert.equal(window.passedOn(1), true);
    assert.equal(window.grant(), WINDOW_BYTES / 2);
    assert.equal(window.passedOn(1), false);
    assert.equal(window.passedOn(WINDOW_BYTES / 2 - 1), true);
    assert.equal(window.grant(), WINDOW_BYTES / 2);
    window.received(WINDOW_BYTES);
    assert.equal(window.passedOn(WINDOW_BYTES), true);
    assert.equal(window.grant(), WINDOW_BYTES);
  });

  it('lets nothing more come for what was passed on before the peer is told', () => {
    const window = new ReceiveWindow();
    window.received(WINDOW_BYTES);
    window.passedOn(WINDOW_BYTES);
    assert.equal(window.received(1), false);
  });

  it('never has more than a window on its way or waiting, and never stops a peer whose bytes are passed on', () => {
    const parts = fc.array(fc.tuple(fc.integer({ min: 1, max: WINDOW_BYTES }), fc.boolean()), {
      maxLength: 100,
    });
    fc.assert(
      fc.property(parts, (happens) => {
        const window = new ReceiveWindow();
        let mayCome = WINDOW_BYTES;
        let held = 0;
        const pass = (bytes: number): void => {
          held -= bytes;
          if (window.passedOn(bytes)) mayCome += window.grant();
        };
        for (const [bytes, comes] of happens) {
          if (!comes) pass(Math.min(held, bytes));
          else if (bytes <= mayCome) {
            assert.ok(window.received(bytes));
            mayCome -= bytes;
            held += bytes;
          }
          assert.ok(held + mayCome <= WINDOW_BYTES);
        }
        if (held > 0) pass(held);
        assert.ok(mayCome > WINDOW_BYTES / 2);
      }),
    );
  });
});
