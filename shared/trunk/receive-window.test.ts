import assert from 'node:assert/strict';
import { WINDOW_MAX_BYTES } from './frames.ts';
import { ReceiveWindow, WINDOW_START_BYTES, WindowBudget } from './receive-window.ts';

const KIB = 1024;
const RTT = 100;

/** A peer that always sends all it may, and a reader who takes all of it at once, half a window at a time. */
class Flow {
  readonly window: ReceiveWindow;
  now = 0;
  mayLeave = WINDOW_START_BYTES;

  constructor(budget: WindowBudget) {
    this.window = new ReceiveWindow(budget, this.now);
  }

  /** Half of what may come comes and is passed on, so many ms after the last time. */
  half(ms: number, rtt: number | undefined): void {
    this.now += ms;
    const size = this.mayLeave / 2;
    assert.ok(this.window.received(size));
    assert.ok(this.window.passedOn(size));
    const grant = this.window.grant(rtt, this.now);
    this.mayLeave += grant - size;
  }
}

/** A path that carries so many bytes a ms, with a sender who always has more, and a reader who takes all at once. */
class Path {
  readonly #window = new ReceiveWindow(new WindowBudget(WINDOW_MAX_BYTES), 0);
  readonly #rate: number;
  /** what is under way in order: bytes for the reader, or a grant for the sender, and when it is there */
  #data: { at: number; bytes: number }[] = [];
  #grants: { at: number; bytes: number }[] = [];
  #mayLeave = WINDOW_START_BYTES;
  #now = 0;
  #isFreeAt = 0;
  received = 0;

  constructor(rate: number) {
    this.#rate = rate;
  }

  run(until: number): void {
    for (; this.#now < until; this.#now += 1) {
      while (this.#grants[0] !== undefined && this.#grants[0].at <= this.#now) {
        this.#mayLeave += this.#grants.shift()?.bytes ?? 0;
      }
      this.#send();
      while (this.#data[0] !== undefined && this.#data[0].at <= this.#now)
        this.#take(this.#data.shift()?.bytes ?? 0);
    }
  }

  #send(): void {
    while (this.#mayLeave > 0 && this.#isFreeAt < this.#now + 1) {
      const bytes = Math.min(this.#mayLeave, 8 * KIB);
      this.#mayLeave -= bytes;
      this.#isFreeAt = Math.max(this.#isFreeAt, this.#now) + bytes / this.#rate;
      this.#data.push({ at: this.#isFreeAt + RTT / 2, bytes });
    }
  }

  #take(bytes: number): void {
    assert.ok(this.#window.received(bytes));
    this.received += bytes;
    if (!this.#window.passedOn(bytes)) return;
    this.#grants.push({ at: this.#now + RTT / 2, bytes: this.#window.grant(RTT, this.#now) });
  }
}

describe('ReceiveWindow', () => {
  it('lets the peer go on once half of it has been passed on', () => {
    const window = new ReceiveWindow(new WindowBudget(0), 0);
    assert.ok(window.received(WINDOW_START_BYTES));
    assert.equal(window.passedOn(WINDOW_START_BYTES / 2 - 1), false);
    assert.equal(window.passedOn(1), true);
    assert.equal(window.grant(RTT, 1), WINDOW_START_BYTES / 2);
    assert.equal(window.passedOn(WINDOW_START_BYTES / 2), true);
    assert.equal(window.grant(RTT, 2), WINDOW_START_BYTES / 2);
  });

  it('says no to a byte more than was allowed', () => {
    const window = new ReceiveWindow(new WindowBudget(0), 0);
    assert.ok(window.received(WINDOW_START_BYTES - 1));
    assert.ok(window.received(1));
    assert.equal(window.received(1), false);
  });

  it('grants nothing for what waits to be passed on', () => {
    const window = new ReceiveWindow(new WindowBudget(0), 0);
    window.received(WINDOW_START_BYTES);
    assert.ok(window.passedOn(40 * KIB));
    const grant = window.grant(RTT, 0);
    assert.equal(grant, 40 * KIB);
    assert.ok(window.received(grant));
    assert.equal(window.received(1), false);
  });

  it('doubles where half of it lasts less than a round trip, up to the most', () => {
    const flow = new Flow(new WindowBudget(100 * WINDOW_MAX_BYTES));
    const sizes = Array.from({ length: 9 }, () => {
      flow.half(RTT - 1, RTT);
      return flow.mayLeave / KIB;
    });
    assert.deepEqual(sizes, [128, 256, 512, 1024, 2048, 4096, 8192, 8192, 8192]);
  });

  for (const [what, ms, rtt] of [
    ['half of it lasts a round trip', RTT, RTT],
    ['the round trip is not known', 0, undefined],
  ] as const) {
    it(`stays as it is where ${what}`, () => {
      const flow = new Flow(new WindowBudget(WINDOW_MAX_BYTES));
      flow.half(ms, rtt);
      assert.equal(flow.mayLeave, WINDOW_START_BYTES);
    });
  }

  it('shrinks by half where half of it lasts more than sixteen round trips, and no further than it began', () => {
    const flow = new Flow(new WindowBudget(WINDOW_MAX_BYTES));
    for (let count = 0; count < 2; count += 1) flow.half(1, RTT);
    const sizes = [16 * RTT, 16 * RTT + 1, 16 * RTT + 1, 16 * RTT + 1].map((ms) => {
      flow.half(ms, RTT);
      return flow.mayLeave / KIB;
    });
    assert.deepEqual(sizes, [256, 128, 64, 64]);
  });

  for (const megabits of [1, 10, 100, 300]) {
    it(`lets ${megabits} Mbit/s come over a round trip of ${RTT} ms as fast as they can after a second`, () => {
      const rate = (megabits * 1e6) / 8 / 1000;
      const path = new Path(rate);
      path.run(1000);
      const before = path.received;
      path.run(2000);
      assert.ok(path.received - before > 0.98 * rate * 1000, `${(path.received - before) / rate / 10} %`);
    });
  }

  it('grows only as far as the budget of all goes, and by what others give back', () => {
    const budget = new WindowBudget(192 * KIB);
    const first = new Flow(budget);
    const second = new Flow(budget);
    first.half(1, RTT);
    second.half(1, RTT);
    first.half(1, RTT);
    assert.deepEqual([first.mayLeave, second.mayLeave], [128 * KIB, 128 * KIB]);
    second.window.close();
    first.half(1, RTT);
    assert.equal(first.mayLeave, 256 * KIB);
    first.window.close();
    first.window.close();
    assert.ok(budget.take(192 * KIB));
    assert.equal(budget.take(1), false);
  });
});
