/** Lifetimes as the forms offer and read them. */
import { parseDuration } from '../../../shared/duration.ts';
import { TTL_RULE } from '../../../shared/value-rules.ts';
import { durationWords } from './time-left.ts';

export interface Choice {
  /** duration string; empty for the relay's default */
  readonly ttl: string;
  readonly label: string;
}

const CREATE_CHOICES: readonly Choice[] = [
  { ttl: '15m', label: '15 minutes' },
  { ttl: '1h', label: '1 hour' },
  { ttl: '8h', label: '8 hours' },
  { ttl: '24h', label: '1 day' },
  { ttl: '168h', label: '7 days' },
];
const EXTEND_CHOICES: readonly Choice[] = [
  { ttl: '15m', label: '15 min' },
  { ttl: '1h', label: '1 h' },
  { ttl: '8h', label: '8 h' },
];

/** The lifetimes that a new tunnel can have. Arguments in seconds. */
export function createChoices(defaultTtl: number, maxTtl: number): readonly Choice[] {
  const fitting = CREATE_CHOICES.filter(({ ttl }) => seconds(ttl) <= maxTtl);
  const isListed = fitting.some(({ ttl }) => seconds(ttl) === defaultTtl);
  return isListed ? fitting : [{ ttl: '', label: durationWords(defaultTtl * 1000) }, ...fitting];
}

/** The choice that is taken unless the user takes another. */
export function defaultChoice(defaultTtl: number): string {
  return CREATE_CHOICES.find(({ ttl }) => seconds(ttl) === defaultTtl)?.ttl ?? '';
}

/**
 * By how much a tunnel can be extended: the relay allows no expiry later than now plus its maximum.
 *
 * @param expiresAt ms
 * @param maxTtl seconds
 * @param now ms
 */
export function extendChoices(expiresAt: number, maxTtl: number, now: number): readonly Choice[] {
  const room = maxTtl - (expiresAt - now) / 1000;
  return EXTEND_CHOICES.filter(({ ttl }) => seconds(ttl) <= room);
}

/**
 * Reads a lifetime that was typed, with the words people use for units.
 *
 * @param maxTtl seconds
 * @returns a duration string of the relay's grammar, or what to change
 */
export function readLifetime(text: string, maxTtl: number): { ttl: string } | { problem: string } {
  const ttl = text
    .toLowerCase()
    .replace(/\s+/g, '')
    .replace(/(\d+(?:\.\d+)?)w(?:eeks?)?/g, (_, weeks: string) => `${Number(weeks) * 168}h`)
    .replace(/(\d+(?:\.\d+)?)d(?:ays?)?/g, (_, days: string) => `${Number(days) * 24}h`)
    .replace(/h(?:ours?|rs?)/g, 'h')
    .replace(/m(?:in(?:ute)?s?)/g, 'm')
    .replace(/s(?:ec(?:ond)?s?)/g, 's')
    // A number on its own is minutes, as it is after hours.
    .replace(/(^|h)(\d+)$/, '$1$2m');
  if (!TTL_RULE.accepts(ttl)) {
    return { problem: 'Give a time such as 30m, 4h, 1h30m or 2d; a number alone is minutes.' };
  }
  if (seconds(ttl) > maxTtl) return { problem: `The relay allows at most ${durationWords(maxTtl * 1000)}.` };
  return { ttl };
}

function seconds(ttl: string): number {
  return parseDuration(ttl) ?? 0;
}
