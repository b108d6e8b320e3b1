import assert from 'node:assert/strict';
import type { Timing } from '../../../client/inspector/records.ts';
import { barOf, phases } from './waterfall.ts';

function lines(timing: Timing, durationMs?: number): string[] {
  return phases({ timing, durationMs }).map(({ name, startMs, ms }) => `${name} ${startMs}+${ms ?? 'now'}`);
}

describe('phases', () => {
  it('are consecutive from the announcement to the end of the response', () => {
    assert.deepEqual(lines({ waitedMs: 30, connectedMs: 2, answeredMs: 50 }, 60), [
      'Waiting for a connection 0+30',
      'Local connection 30+2',
      'Your server 32+48',
      'Rest of the response 80+10',
    ]);
  });

  it('end where the request is now', () => {
    const none = { waitedMs: 0, connectedMs: undefined, answeredMs: undefined };
    assert.deepEqual(lines(none), ['Waiting for a connection 0+0', 'Local connection 0+now']);
    assert.equal(lines({ ...none, connectedMs: 1 }).at(-1), 'Your server 1+now');
    assert.equal(lines({ ...none, connectedMs: 1, answeredMs: 5 }).at(-1), 'Rest of the response 5+now');
    assert.equal(lines({ ...none, connectedMs: 1 }, 9).at(-1), 'Your server 1+8');
  });

  it('have no server phase if nothing listened', () => {
    assert.deepEqual(lines({ waitedMs: 0, connectedMs: undefined, answeredMs: 3 }, 4).slice(1), [
      'Local connection 0+3',
      'Rest of the response 3+1',
    ]);
  });

  it('have bars that add up to the whole', () => {
    const all = phases({ timing: { waitedMs: 25, connectedMs: 25, answeredMs: 50 }, durationMs: 75 });
    assert.deepEqual(
      all.map((phase) => barOf(phase, all)),
      [0, 0.25, 0.5, 0.75].map((start) => ({ start, width: 0.25 })),
    );
    const open = phases({
      timing: { waitedMs: 0, connectedMs: 5, answeredMs: undefined },
      durationMs: undefined,
    });
    assert.deepEqual(
      open.map((phase) => barOf(phase, open).width),
      [0, 1, 0],
    );
  });
});
