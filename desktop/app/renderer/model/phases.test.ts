import assert from 'node:assert/strict';
import type { Timing } from '../../../client/inspector/records.ts';
import { phases, phaseWords, shares } from './phases.ts';

function words(timing: Timing, durationMs?: number, isBroken = false): string {
  return phaseWords(phases({ timing, durationMs }), isBroken);
}

describe('the phases of a request', () => {
  const none = { waitedMs: 0, connectedMs: undefined, answeredMs: undefined };

  it('are consecutive, and the server is named first', () => {
    assert.equal(
      words({ waitedMs: 4, connectedMs: 2, answeredMs: 47 }, 1550),
      'Your server 45 ms · relay 4 ms · connect 2 ms · rest 1.5 s',
    );
  });

  it('end where the request is now', () => {
    assert.equal(words(none), 'Relay 0 ms · connect so far');
    assert.equal(words({ ...none, connectedMs: 1 }), 'Your server so far · relay 0 ms · connect 1 ms');
    assert.match(words({ ...none, connectedMs: 1, answeredMs: 5 }), /rest so far$/);
    assert.match(words({ ...none, connectedMs: 1 }, undefined, true), /^Your server cut off/);
    assert.match(words({ ...none, connectedMs: 1 }, 9), /^Your server 8 ms/);
  });

  it('have no server phase if nothing listened', () => {
    assert.equal(
      words({ waitedMs: 0, connectedMs: undefined, answeredMs: 3 }, 4),
      'Relay 0 ms · connect 3 ms · rest 1 ms',
    );
  });

  it('have shares that add up to the whole', () => {
    const all = phases({ timing: { waitedMs: 25, connectedMs: 25, answeredMs: 50 }, durationMs: 75 });
    assert.deepEqual(
      shares(all).map(({ share }) => share),
      [0.25, 0.25, 0.25, 0.25],
    );
    assert.deepEqual(
      shares(phases({ timing: none, durationMs: undefined })).map(({ share }) => share),
      [0, 1],
    );
  });
});
