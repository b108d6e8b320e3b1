/** A check of `culvert-relay doctor`, and its finding. */
import { relayVersionIn } from '../../shared/value-rules.ts';
import type { Clock } from '../clock.ts';
import { ask, type Question } from './http-probe.ts';

/** How long each check of `culvert-relay doctor` may take. */
export const DIAGNOSIS_CHECK_MS = 15_000;

export interface Check {
  /** stable, for `--json` */
  readonly name: string;
  /** name of an earlier check without which this one is meaningless */
  readonly needs?: string;
  /** its limit in ms; {@link DIAGNOSIS_CHECK_MS} by default */
  readonly limitMs?: number;
  /**
   * @returns the finding, in a few words
   * @throws Fault or Skipped
   */
  look(): Promise<string>;
}

/** Something is wrong. */
export class Fault extends Error {
  /** how to fix it, in sentences */
  readonly fix: string;

  constructor(why: string, fix: string, options?: ErrorOptions) {
    super(why, options);
    this.fix = fix;
  }
}

/** There is nothing to check, or no way to check it. */
export class Skipped extends Error {}

export interface Finding {
  readonly check: string;
  readonly result: 'ok' | 'failed' | 'skipped';
  readonly ms: number;
  readonly detail: string;
  /** how to fix a failure */
  readonly fix?: string;
}

/**
 * Runs one check after the other, each within its time limit.
 *
 * @param tell called with every finding as it arrives
 * @returns names of the failed checks
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
  return { check, result: 'skipped', ms: 0, detail: `not checked, because "${needed}" did not pass` };
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
  const timer = clock.setTimeout(() => deadline.reject(new Error(`no response within ${ms / 1000} s`)), ms);
  try {
    return await Promise.race([promise, deadline.promise]);
  } finally {
    timer.cancel();
  }
}

/* Recognizes a relay by its description: a server with any other answer is not one. */

/**
 * @returns the relay's version
 * @throws Error if the answer is not from a relay, or the relay is not ready
 */
export async function versionAt(question: Omit<Question, 'path'>): Promise<string> {
  const { status, text } = await ask({ ...question, path: '/v1/openapi.json' });
  const version = status === 200 ? relayVersionIn(text) : undefined;
  if (version === undefined)
    throw new Error(`the server did not identify itself as a Culvert relay (status ${status})`);
  const ready = await ask({ ...question, path: '/readyz' });
  if (ready.status !== 200) throw new Error('it is running, but is not ready');
  return version;
}

/** Such as `1 day` or `3 days`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
