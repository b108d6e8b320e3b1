import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { MeasuredFrames } from '../support/trunk-steps.ts';

/**
 * Four times as many frames may take slightly more than four times the steps: buffers double at different points, and V8
 * reports a block separately only if its count differs from that of the code around it, which adds or removes up to a
 * quarter. Quadratic work would take sixteen times the steps.
 */
const GROWTH_MAX = 6;

/** A separate program, because code that mocha has loaded can no longer be counted. */
const PROGRAM = fileURLToPath(new URL('../support/trunk-steps.ts', import.meta.url));

describe('the work for trunk frames that arrive together', () => {
  it('grows linearly with their number', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
    const measured = JSON.parse(stdout) as MeasuredFrames[];
    assert.ok(measured.length >= 9);
    const faster = measured.filter(
      ({ steps: [small = 0, large = Infinity] }) => small === 0 || large > small * GROWTH_MAX,
    );
    assert.deepEqual(faster, []);
  });
});
