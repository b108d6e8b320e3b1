import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Measured } from '../support/head-steps.ts';

/**
 * Four times the input may take slightly more than four times the steps, because buffers double at different points.
 */
const GROWTH_MAX = 5;

/** A separate program, because code that mocha has loaded can no longer be counted. */
const PROGRAM = fileURLToPath(new URL('../support/head-steps.ts', import.meta.url));

describe('the work for parsing heads and framing bodies', () => {
  it('grows linearly with the input, byte by byte and in one piece', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
    const measured = JSON.parse(stdout) as Measured[];
    assert.ok(measured.length > 100);
    const faster = measured.filter(({ steps: [small = 0, large = 0] }) => large > small * GROWTH_MAX);
    assert.deepEqual(faster, []);
  });
});
