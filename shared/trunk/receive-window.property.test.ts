import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { WINDOW_MAX_BYTES } from './frames.ts';
import { ReceiveWindow, WINDOW_START_BYTES, WindowBudget } from './receive-window.ts';

/** A budget that says how much of it is taken. */
class WatchedBudget extends WindowBudget {
  taken = 0;

  override take(bytes: number): boolean {
    const isTaken = super.take(bytes);
    if (isTaken) this.taken += bytes;
    return isTaken;
  }

  override giveBack(bytes: number): void {
    this.taken -= bytes;
    super.giveBack(bytes);
  }
}

/** What is known of a window without looking into it. */
interface Stream {
  readonly window: ReceiveWindow;
  mayLeave: number;
  held: number;
  size: number;
  grantedAt: number;
}

const BUDGET = 3 * 1024 * 1024;
const fraction = fc.oneof(fc.constantFrom(0, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true }));
const step = fc.record({
  stream: fc.nat(2),
  /** of what may be sent, and then of what is held */
  sent: fraction,
  passedOn: fraction,
  ms: fc.constantFrom(0, 1, 9, 10, 11, 160, 161, 1000),
  roundTripMs: fc.constantFrom(undefined, 1, 10, 100),
});

describe('windows of streams that share a budget, with peers that obey', () => {
  it('hold no more than they let come, let everybody go on, and grow only where a round trip is what limits them', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const budget = new WatchedBudget(BUDGET);
        let now = 0;
        const streams: Stream[] = Array.from({ length: 3 }, () => ({
          window: new ReceiveWindow(budget, now),
          mayLeave: WINDOW_START_BYTES,
          held: 0,
          size: WINDOW_START_BYTES,
          grantedAt: now,
        }));
        for (const { stream: index, sent, passedOn, ms, roundTripMs } of steps) {
          now += ms;
          const stream = streams[index] as Stream;
          const bytes = Math.floor(sent * stream.mayLeave);
          assert.ok(stream.window.received(bytes));
          stream.mayLeave -= bytes;
          stream.held += bytes;
          const taken = budget.taken;
          const gone = Math.floor(passedOn * stream.held);
          const isDue = stream.window.passedOn(gone);
          const grant = isDue ? stream.window.grant(roundTripMs, now) : 0;
          stream.mayLeave += grant;
          stream.held -= gone;
          const growth = budget.taken - taken;
          stream.size += growth;

          assert.ok(budget.taken >= 0 && budget.taken <= BUDGET);
          assert.ok(stream.size >= WINDOW_START_BYTES && stream.size <= WINDOW_MAX_BYTES);
          assert.ok(stream.mayLeave + stream.held <= stream.size, 'more may come than there is room for');
          const elapsed = now - stream.grantedAt;
          if (growth > 0) assert.ok(roundTripMs !== undefined && elapsed < roundTripMs);
          if (growth < 0) assert.ok(roundTripMs !== undefined && elapsed > 16 * roundTripMs);
          if (isDue) stream.grantedAt = now;
          // A peer has at least half of what there is room for, so that it sends while a grant is on its way.
          assert.ok(stream.mayLeave > (stream.size - 2 * stream.held) / 2 - 1, 'the peer is not let go on');
        }
        for (const { window, mayLeave } of streams) {
          assert.equal(window.received(mayLeave + 1), false);
          window.close();
        }
        assert.equal(budget.taken, 0);
      }),
      { numRuns: 300 },
    );
  });
});
