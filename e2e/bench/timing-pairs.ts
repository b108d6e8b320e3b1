/** Do two things take the same time? Measured in random order, and told by Welch's t. */
import { T_MAX, welchT, withoutSlowest } from './welch.ts';

const SHARES = [1, 0.99, 0.9, 0.5];

/** ms that each of two things took, each time. */
export interface Times {
  readonly one: Float64Array;
  readonly other: Float64Array;
}

/** Does both things so many times, in an order that nothing can fall into step with. */
export async function timePairs(
  samples: number,
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
): Promise<Times> {
  const times = { one: new Float64Array(samples), other: new Float64Array(samples) };
  const work = { one, other };
  for (let count = 0; count < samples; count += 1) {
    const order = Math.random() < 0.5 ? (['one', 'other'] as const) : (['other', 'one'] as const);
    for (const kind of order) {
      const start = performance.now();
      await work[kind]();
      times[kind][count] = performance.now() - start;
    }
  }
  return times;
}

/** Prints t for all times and without the slowest; the exit code is 1 if any of them differ. */
export function reportPairs(what: string, { one, other }: Times): void {
  for (const share of SHARES) {
    const t = welchT(...withoutSlowest(one, other, share));
    const verdict = Math.abs(t) < T_MAX ? 'no difference' : 'DIFFERENT';
    console.log(`${what}, ${one.length} each, fastest ${share * 100} %: t = ${t.toFixed(2)} (${verdict})`);
    if (Math.abs(t) >= T_MAX) process.exitCode = 1;
  }
}
