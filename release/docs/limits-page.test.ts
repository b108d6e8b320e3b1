import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../repository.ts';
import { allLimits, limitsOf, readable } from './limits-page.ts';

describe('limits', () => {
  it('are marked for everyone who meets some, each under a name of its own', () => {
    const limits = allLimits();
    const rows = limits.map(({ metBy, subject }) => `${metBy}: ${subject}`);
    assert.deepEqual(rows.toSorted(), [...new Set(rows)].toSorted());
    for (const who of ['visitor', 'owner', 'operator'])
      assert.ok(limits.filter(({ metBy }) => metBy === who).length > 8, who);
  });

  it('are the marked constants with their values, exported or not', () => {
    const source = `/**
 * Time until it ends.
 * @limit visitor: Wait for it | 503 \`late\`
 */
export const FIRST_MS = 5;
/** Of none. */
const TWO = 2;

/**
 * The second one,
 * on two lines.
 * @limit operator: Size of the second one | it is refused
 */
const SECOND_BYTES: number =
  2 * 1024;
`;
    assert.deepEqual(limitsOf(source), [
      { metBy: 'visitor', subject: 'Wait for it', name: 'FIRST_MS', value: 5, beyond: '503 `late`' },
      {
        metBy: 'operator',
        subject: 'Size of the second one',
        name: 'SECOND_BYTES',
        value: 2048,
        beyond: 'it is refused',
      },
    ]);
  });

  it('have a complete mark', () => {
    const files = globSync('{server,desktop,shared}/**/*.ts', { cwd: ROOT, exclude: ['**/*.test.ts'] });
    const marks = files.flatMap((file) => readFileSync(join(ROOT, file), 'utf8').match(/@limit \w+:/g) ?? []);
    assert.equal(marks.length, allLimits().length);
  });

  it('are shown in the unit of their name', () => {
    const shown: readonly [string, number, string][] = [
      ['A_MS', 0.2, '0.2 ms'],
      ['A_MS', 900, '900 ms'],
      ['A_TIMEOUT_MS', 75_000, '75 s'],
      ['A_MS', 90_000, '1.5 min'],
      ['A_MAX_SECONDS', 12 * 3600, '12 h'],
      ['A_MAX_BYTES', 1232, '1,232 bytes'],
      ['A_BYTES', 64 * 1024, '64 KiB'],
      ['A_LENGTH', 64, '64 characters'],
      ['A_PER_MINUTE', 30, '30 a minute'],
      ['A_MAX', 100_000, '100,000'],
    ];
    for (const [name, value, text] of shown) assert.equal(readable(name, value), text);
  });
});
