import assert from 'node:assert/strict';
import { allLimits, limitsOf, readable } from './limits-page.ts';

describe('limits', () => {
  it('each have a reason in the comment above them', async () => {
    const limits = await allLimits();
    assert.ok(limits.length > 400, `${limits.length} limits`);
    assert.deepEqual(
      limits.filter(({ reason }) => reason === ''),
      [],
    );
  });

  it('are the marked constants with their values and reasons, exported or not', () => {
    const source = `import { A_MS } from './a.ts';
/** @limit ms until it ends ({@link A_MS}). */
export const FIRST_MS = A_MS;
/** Of none. */
const TWO = 2;

/**
 * @limit The second one,
 * on two lines. The rest is not shown.
 */
export const SECOND: number =
  2 * 1024;
/** @limit No number. */
export const NAME = 'name';
/** @limit Of one. */
const ONE_MAX = 2 * FIRST_MS;
/** @limit */
export const THIRD_MAX = 3;
`;
    assert.deepEqual(limitsOf(source, { FIRST_MS: 5 }), [
      { name: 'FIRST_MS', value: 5, reason: 'Time until it ends' },
      { name: 'SECOND', value: 2048, reason: 'The second one, on two lines' },
      { name: 'ONE_MAX', value: 10, reason: 'Of one' },
      { name: 'THIRD_MAX', value: 3, reason: '' },
    ]);
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
