/** A thing that `culvert-relay doctor` looks at, and what it finds. */
import type { Clock } from '../clock.ts';
import { DIAGNOSIS_CHECK_MS } from '../limits.ts';

export interface Check {
  /** stable, for `--json` */
  readonly name: string;
  /** name of a check before it without which it says nothing */
  readonly needs?: string;
  /** ms that it may take; {@link DIAGNOSIS_CHECK_MS} unless given */
  readonly limitMs?: number;
  /**
   * @returns what was found, in a few words
   * @throws Fault or Skipped
   */
  look(): Promise<string>;
}

/** Something is wrong. */
export class Fault extends Error {
  /** what to do, in sentences */
  readonly fix: string;

  constructor(why: string, fix: string, options?: ErrorOptions) {
    super(why, options);
    this.fix = fix;
  }
}

/** There is nothing to look at, or no way to. */
export class Skipped extends Error {}

export interface Finding {
  readonly check: string;
  readonly result: 'ok' | 'failed' | 'skipped';
  readonly ms: number;
  readonly detail: string;
  /** what to do about a failure */
  readonly fix?: string;
}

/**
 * Looks at one thing after the other, at each for as long as it may take.
 *
 * @param tell called with every finding as it comes
 * @returns names of the checks that have failed
 */
export async function lookAtAll(
  checks: readonly Check[],
  clock: Pick<Clock, 'monotonic' | 'setTimeout'>,
  tell: (finding: Finding) => void,
): Promise<readonly string[]> {
  const failed: string[] = [];
  const without = new Set<string>();
  for (const check of checks) {
    const isMissing = check.needs !== undefined && without.has(check.needs);
    const finding = isMissing ? missing(check.name, check.needs) : await lookAt(check, clock);
    if (finding.result === 'failed') failed.push(finding.check);
    if (isMissing || finding.result === 'failed') without.add(check.name);
    tell(finding);
  }
  return failed;
}

function missing(check: string, needed: string): Finding {
  return { check, result: 'skipped', ms: 0, detail: `not tried without "${needed}"` };
}

async function lookAt(check: Check, clock: Pick<Clock, 'monotonic' | 'setTimeout'>): Promise<Finding> {
  const start = clock.monotonic();
  const done = (): { check: string; ms: number } => ({
    check: check.name,
    ms: Math.round(clock.monotonic() - start),
  });
  try {
    const detail = await within(clock, check.limitMs ?? DIAGNOSIS_CHECK_MS, check.look());
    return { ...done(), result: 'ok', detail };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    if (error instanceof Skipped) return { ...done(), result: 'skipped', detail };
    const fix = error instanceof Fault ? { fix: error.fix } : {};
    return { ...done(), result: 'failed', detail, ...fix };
  }
}

async function within<T>(clock: Pick<Clock, 'setTimeout'>, ms: number, promise: Promise<T>): Promise<T> {
  const deadline = Promise.withResolvers<never>();
  const timer = clock.setTimeout(() => deadline.reject(new Error(`no answer within ${ms / 1000} s`)), ms);
  try {
    return await Promise.race([promise, deadline.promise]);
  } finally {
    timer.cancel();
  }
}
