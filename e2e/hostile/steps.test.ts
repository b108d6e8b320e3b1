import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Report } from '../support/steps.ts';

/**
 * Four times the input may take slightly more than four times the steps, because buffers double at different points.
 */
const GROWTH_MAX = 5;
/**
 * V8 reports a block separately only if its count differs from that of the code around it, which adds or removes up to
 * a quarter. Quadratic work would take sixteen times the steps.
 */
const FRAMES_GROWTH_MAX = 6;

/** A separate program, because code that mocha has loaded can no longer be counted. */
const PROGRAM = fileURLToPath(new URL('../support/steps.ts', import.meta.url));

describe('the work', () => {
  let report: Report;

  before(async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
    report = JSON.parse(stdout) as Report;
  });

  it('for parsing heads and framing bodies grows linearly with the input, byte by byte and in one piece', () => {
    assert.ok(report.heads.length > 100);
    const faster = report.heads.filter(({ steps: [small = 0, large = 0] }) => large > small * GROWTH_MAX);
    assert.deepEqual(faster, []);
  });

  it('for trunk frames that arrive together grows linearly with their number', () => {
    assert.ok(report.frames.length >= 9);
    const faster = report.frames.filter(
      ({ steps: [small = 0, large = Infinity] }) => small === 0 || large > small * FRAMES_GROWTH_MAX,
    );
    assert.deepEqual(faster, []);
  });
});
