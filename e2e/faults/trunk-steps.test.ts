import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { MeasuredFrames } from '../support/trunk-steps.ts';

/** Four times as many frames may take a little more than four times the steps: buffers double, and not at the same places. */
const GROWTH_MAX = 5;

/** A program of its own, because what mocha has loaded cannot be counted any more. */
const PROGRAM = fileURLToPath(new URL('../support/trunk-steps.ts', import.meta.url));

describe('what is done for frames of a trunk that come together', () => {
  it('grows no faster than their number', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
    const measured = JSON.parse(stdout) as MeasuredFrames[];
    assert.ok(measured.length >= 9);
    const faster = measured.filter(
      ({ steps: [small = 0, large = Infinity] }) => small === 0 || large > small * GROWTH_MAX,
    );
    assert.deepEqual(faster, []);
  });
});
