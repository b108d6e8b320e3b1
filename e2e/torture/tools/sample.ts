import type { Random } from '../../support/random.ts';

/** A given number of them, or all, in an order that only the random numbers decide. */
export function sample<T>(all: readonly T[], count: number, random: Random): T[] {
  const keyed = all.map((each) => ({ each, key: random.below(0x1_0000_0000) }));
  return keyed
    .sort((one, other) => one.key - other.key)
    .slice(0, count)
    .map(({ each }) => each);
}
