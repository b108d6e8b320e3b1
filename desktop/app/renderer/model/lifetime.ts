/** Lifetimes in the forms. */
import { parseDuration } from '../../../../shared/duration.ts';
import { TTL_RULE } from '../../../../shared/value-rules.ts';
import { t } from '../../messages/translate.ts';
import { durationWords, wholeWords } from './time-left.ts';

export interface Choice {
  /** duration string; empty for the relay's default */
  readonly ttl: string;
  readonly label: string;
}

/** Duration strings. */
const CREATE_CHOICES: readonly string[] = ['15m', '1h', '8h', '24h', '168h'];
const EXTEND_CHOICES: readonly string[] = ['15m', '1h', '8h'];

/** The choice of a duration string, written out: `15 minutes`. */
export function wholeChoice(ttl: string): Choice {
  return { ttl, label: wholeWords(seconds(ttl) * 1000) };
}

/** The possible lifetimes of a new tunnel. Arguments in seconds. */
export function createChoices(defaultTtl: number, maxTtl: number): readonly Choice[] {
  const fitting = CREATE_CHOICES.filter((ttl) => seconds(ttl) <= maxTtl);
  const choices = fitting.map(wholeChoice);
  const isListed = fitting.some((ttl) => seconds(ttl) === defaultTtl);
  return isListed ? choices : [{ ttl: '', label: durationWords(defaultTtl * 1000) }, ...choices];
}

/** The initial choice. */
export function defaultChoice(defaultTtl: number): string {
  return CREATE_CHOICES.find((ttl) => seconds(ttl) === defaultTtl) ?? '';
}

/**
 * The possible extensions of a tunnel: the relay allows no expiry later than now plus its maximum.
 *
 * @param expiresAt ms
 * @param maxTtl seconds
 * @param now ms
 */
export function extendChoices(expiresAt: number, maxTtl: number, now: number): readonly Choice[] {
  const room = maxTtl - (expiresAt - now) / 1000;
  return EXTEND_CHOICES.filter((ttl) => seconds(ttl) <= room).map((ttl) => ({
    ttl,
    label: durationWords(seconds(ttl) * 1000),
  }));
}

/**
 * Parses a typed lifetime, with common words for units in the languages of the app.
 *
 * @param maxTtl seconds
 * @returns a duration string for the relay, or what to change
 */
export function readLifetime(text: string, maxTtl: number): { ttl: string } | { problem: string } {
  const ttl = text
    .toLowerCase()
    .replace(/\s+/g, '')
    .replace(/(\d+(?:\.\d+)?)w(?:eeks?|ochen?)?/g, (_, weeks: string) => `${Number(weeks) * 168}h`)
    .replace(/(\d+(?:\.\d+)?)(?:d(?:ays?)?|tage?)/g, (_, days: string) => `${Number(days) * 24}h`)
    .replace(/h(?:ours?|rs?)|std\.?|stunden?/g, 'h')
    .replace(/m(?:in(?:ute[ns]?|s)?\.?)/g, 'm')
    .replace(/s(?:ec(?:ond)?s?|ek(?:unden?)?\.?)/g, 's')
    // A number without a unit means minutes, alone or after hours.
    .replace(/(^|h)(\d+)$/, '$1$2m');
  if (!TTL_RULE.accepts(ttl)) {
    return { problem: t('time.problem') };
  }
  if (seconds(ttl) > maxTtl)
    return { problem: t('time.tooLong', { duration: durationWords(maxTtl * 1000) }) };
  return { ttl };
}

function seconds(ttl: string): number {
  return parseDuration(ttl) ?? 0;
}
