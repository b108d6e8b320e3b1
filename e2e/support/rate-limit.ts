/** Limits that allow a burst and then regain one use every few seconds: a slow machine gets more than the burst. */
import assert from 'node:assert/strict';
import { timed } from './deadline.ts';

export interface RateLimit {
  readonly burst: number;
  /** ms in which it regains one */
  readonly regainMs: number;
}

/** tunnels of one account */
export const CREATES: RateLimit = { burst: 5, regainMs: 6000 };
/** wrong passwords and tokens of one address at one tunnel */
export const ATTEMPTS: RateLimit = { burst: 10, regainMs: 6000 };

/**
 * Repeats an action until it is refused.
 *
 * @param allowed does it, with its number from 0, and tells whether it was allowed
 * @returns how often it was, and how many ms that took
 */
export async function untilRefused(
  allowed: (index: number) => Promise<boolean>,
): Promise<{ count: number; ms: number }> {
  const { value: count, ms } = await timed(async () => {
    let index = 0;
    while (await allowed(index)) index += 1;
    return index;
  });
  return { count, ms };
}

/** Asserts that a limit allowed its burst, and beyond that only what it regained. */
export function assertBurst(
  { count, ms }: { readonly count: number; readonly ms: number },
  limit: RateLimit,
): void {
  assert.ok(count >= limit.burst, `${count} in ${ms} ms`);
  assertAtMostBurst({ count, ms }, limit);
}

/** The same for a limit of which a part was used before. */
export function assertAtMostBurst(
  { count, ms }: { readonly count: number; readonly ms: number },
  { burst, regainMs }: RateLimit,
): void {
  assert.ok(count <= burst + Math.floor(ms / regainMs), `${count} in ${ms} ms`);
}
