/** What whoever administers may give, on the command line and through the API alike: each rule with its words. */
import { NAME_PATTERN, TTL_MIN_SECONDS } from '../../shared/constraints.ts';
import { formatDuration, parseDuration } from '../../shared/duration.ts';
import { hasUnprintable } from '../../shared/unprintable.ts';
import { SCOPE_WORDS } from '../accounts/key-scope.ts';
import { KEY_LABEL_MAX_LENGTH, REASON_MAX_LENGTH } from '../limits.ts';

/** Seconds for which an invitation is good unless something else is asked for. */
export const INVITE_DEFAULT_TTL_SECONDS = 24 * 3600;

export const REASON_RULE = `1-${REASON_MAX_LENGTH} characters, no control characters`;
export const LABEL_RULE = `at most ${KEY_LABEL_MAX_LENGTH} characters, no control characters`;
export const SCOPE_NAME_RULE = `the name of a tunnel: 2-63 lowercase letters, digits and hyphens, and none of ${SCOPE_WORDS.join(', ')}`;

/** @returns why something is suspended, without spaces around it; `undefined` for what does not say why */
export function readReason(given: unknown): string | undefined {
  if (typeof given !== 'string' || given.length > REASON_MAX_LENGTH || hasUnprintable(given))
    return undefined;
  return given.trim() === '' ? undefined : given.trim();
}

/** Whether a key may be called that. It is shown in terminals, and one that comes with an invitation is a stranger's. */
export function isLabel(given: unknown): given is string {
  return typeof given === 'string' && given.length <= KEY_LABEL_MAX_LENGTH && !hasUnprintable(given);
}

/** Whether a key may be for the tunnel of that name only. */
export function isScopeName(given: unknown): given is string {
  return typeof given === 'string' && NAME_PATTERN.test(given) && !SCOPE_WORDS.includes(given);
}

/** @returns seconds, from the shortest life that the relay knows to `max`; `undefined` for anything else */
export function readTtl(given: unknown, max: number): number | undefined {
  const seconds = typeof given === 'string' ? parseDuration(given) : undefined;
  return seconds !== undefined && seconds >= TTL_MIN_SECONDS && seconds <= max ? seconds : undefined;
}

/** @param max seconds */
export function ttlRule(max: number): string {
  return `a duration from ${TTL_MIN_SECONDS}s to ${formatDuration(max)}, like 720h`;
}
