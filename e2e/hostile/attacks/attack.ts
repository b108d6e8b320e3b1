/**
 * Attacks on the built programs: what is done to them, what is counted during that, and the bounds of the counts. No
 * figure is a time. Each runs as a mocha test; SEED repeats its random choices, and LONG=1 does more of everything.
 */
import assert from 'node:assert/strict';
import { within } from '../../support/deadline.ts';
import { isLong, Scope } from '../../support/scope.ts';

/** The bounds of a count. */
export interface Threshold {
  /** what is counted, with its unit */
  readonly meaning: string;
  readonly atMost?: number;
  readonly atLeast?: number;
}

export interface RunOptions {
  /** Whether this is the run of a few minutes that CI does. */
  readonly short: boolean;
  /** The seed of all random choices, which repeats them. */
  readonly seed: number;
  /** Ends whatever the row starts. */
  readonly scope: Scope;
  /** Reports progress on the terminal. */
  readonly say: (line: string) => void;
}

export interface Row<Name extends string = string> {
  /** kebab-case, the same as its file name */
  readonly name: string;
  readonly title: string;
  readonly thresholds: Readonly<Record<Name, Threshold>>;
  /** @returns the counts, and the first failures in words, so that they can be reproduced */
  run(options: RunOptions): Promise<{
    readonly figures: Readonly<Record<Name, number>>;
    readonly faults: readonly string[];
  }>;
}

/** The same in each run, so that a change alone decides whether a row passes; `LONG=1` draws another one each time. */
const SEED = Number(process.env['SEED'] ?? (isLong ? Date.now() % 1_000_000 : 724_210));
/** ms that one row may take; the machine may be busy. */
const TIMEOUT_MS = isLong ? 3_600_000 : 600_000;

/** Defines the test of a row. */
export function testAttack<Name extends string>(row: Row<Name>): void {
  it(`${row.name}: ${row.title}`, async () => {
    const scope = new Scope();
    try {
      const say = (line: string): void => console.error(`    ${row.name}: ${line}`);
      const running = row.run({ short: !isLong, seed: SEED, scope, say });
      const { figures, faults } = await within(TIMEOUT_MS, 'end of the row', running);
      const broken = Object.entries<Threshold>(row.thresholds).flatMap(([name, bounds]) => {
        const { meaning, atMost = Infinity, atLeast = -Infinity } = bounds;
        const value = figures[name as Name];
        // A figure that is not a number is out of any bounds.
        return value <= atMost && value >= atLeast ? [] : [`${meaning}: ${value}`];
      });
      const command = `SEED=${SEED} npm test -- hostile:attacks --grep ${row.name}`;
      assert.deepEqual([...broken, ...faults], [], `repeat with: ${command}`);
    } finally {
      await scope.end();
    }
  }).timeout(0);
}
