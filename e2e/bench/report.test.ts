import assert from 'node:assert/strict';
import { FIGURES, isReached } from './report.ts';
import { Samples } from './stats.ts';

function valueOf(what: string, against: string, samples: Samples): number | undefined {
  const figure = FIGURES.find((each) => each.what === what && each.against === against);
  assert.ok(figure, what);
  return figure.value(samples);
}

describe('FIGURES', () => {
  it('each have one row in the table', () => {
    const rows = FIGURES.map(({ what, against }) => `${what} against ${against}`);
    assert.deepEqual(rows, [...new Set(rows)]);
  });

  it('leave out what was not measured', () => {
    const values = FIGURES.map(({ value }) => value(new Samples()));
    assert.deepEqual(new Set(values), new Set([undefined]));
  });

  it('compare the CPU time of both ends together', () => {
    const samples = new Samples();
    samples.add('keep-alive c64/culvert/CPU s/10k relay', 1);
    samples.add('keep-alive c64/culvert/CPU s/10k client', 2);
    samples.add('keep-alive c64/floor/CPU s/10k relay', 4);
    samples.add('keep-alive c64/floor/CPU s/10k client', 2);
    assert.equal(valueOf('CPU of relay and client, keep-alive c64', 'floor', samples), 0.5);
  });

  it('compare the requests during a download with the same requests without it', () => {
    const samples = new Samples();
    samples.add('small requests c16, alone/culvert/p99 ms', 4);
    samples.add('small requests c16, beside a download/culvert/p99 ms', 6);
    assert.equal(valueOf('p99 of small requests beside a large download', 'without it', samples), 1.5);
  });

  it('share the memory of a relay among its idle tunnels', () => {
    const samples = new Samples();
    samples.add('idle tunnels 1/culvert/RSS KiB', 90_000);
    samples.add('idle tunnels 10000/culvert/RSS KiB', 90_000 + 7 * 9999);
    assert.equal(valueOf('relay RSS for an idle tunnel, KiB', '10,000 of them', samples), 7);
  });
});

describe('isReached', () => {
  it('accepts a value equal to the goal, in both directions', () => {
    const figure = { what: '', against: '', goal: 2, value: () => undefined };
    assert.deepEqual(
      [1, 2, 3].map((value) => isReached({ ...figure, atMost: true }, value)),
      [true, true, false],
    );
    assert.deepEqual(
      [1, 2, 3].map((value) => isReached({ ...figure, atMost: false }, value)),
      [false, true, true],
    );
  });
});
