/** Lifetimes in the forms. */
import { parseDuration, roughDuration } from '../../../../shared/duration.ts';
import { TTL_RULE } from '../../../../shared/value-rules.ts';
import type { TrafficSecond } from '../../../client/inspector/records.ts';
import { perLocale, t } from '../../messages/translate.ts';

/** A duration string, empty for as long as the app runs, and its label. */
export type Choice = readonly [ttl: string, label: string];

/** Duration strings. */
const CREATE_CHOICES: readonly string[] = ['15m', '1h', '8h', '24h', '168h'];
const EXTEND_CHOICES: readonly string[] = ['15m', '1h', '8h'];

/** The choice of a duration string, written out: `15 minutes`. */
export function wholeChoice(ttl: string): Choice {
  return [ttl, wholeWords(lifetimeSeconds(ttl) * 1000)];
}

/** The possible lifetimes of a new tunnel; the first is for as long as the app runs. @param maxTtl seconds */
export function createChoices(maxTtl: number): readonly Choice[] {
  const fitting = CREATE_CHOICES.filter((ttl) => lifetimeSeconds(ttl) <= maxTtl);
  return [['', t('options.whileOpen')], ...fitting.map(wholeChoice)];
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
  return EXTEND_CHOICES.filter((ttl) => lifetimeSeconds(ttl) <= room).map((ttl) => [
    ttl,
    durationWords(lifetimeSeconds(ttl) * 1000),
  ]);
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
  if (lifetimeSeconds(ttl) > maxTtl)
    return { problem: t('time.tooLong', { duration: durationWords(maxTtl * 1000) }) };
  return { ttl };
}

function lifetimeSeconds(ttl: string): number {
  return parseDuration(ttl) ?? 0;
}

/* How long a tunnel lives, in words and as the fraction that its fuse shows. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** From here on the user is asked to extend. */
const SOON_MS = 5 * MINUTE;
/** Fraction of the lifetime that counts as soon, so that a short tunnel does not warn all its life. */
const SOON_FRACTION = 0.25;

/**
 * Formats a duration with at most two units: `2 h 58 min`.
 *
 * @param ms 0 or more; fractions of a second are dropped
 */
export function durationWords(ms: number): string {
  const { days, hours, minutes, seconds } = roughDuration(ms / SECOND);
  if (days > 0) return hours === 0 ? t('time.days', { days }) : t('time.daysHours', { days, hours });
  if (hours > 0)
    return minutes === 0 ? t('time.hours', { hours }) : t('time.hoursMinutes', { hours, minutes });
  if (minutes === 0) return t('time.seconds', { seconds });
  return seconds === 0 ? t('time.minutes', { minutes }) : t('time.minutesSeconds', { minutes, seconds });
}

const LONG = { style: 'unit', unitDisplay: 'long' } as const;
const longFormats = perLocale((tag) => ({
  day: new Intl.NumberFormat(tag, { ...LONG, unit: 'day' }),
  hour: new Intl.NumberFormat(tag, { ...LONG, unit: 'hour' }),
  minute: new Intl.NumberFormat(tag, { ...LONG, unit: 'minute' }),
}));

/**
 * A duration to choose, written out: `15 minutes`, `1 hour`, `7 days`. @param ms whole minutes; hours or days, if it is
 * whole ones
 */
export function wholeWords(ms: number): string {
  const { day, hour, minute } = longFormats();
  if (ms % DAY === 0) return day.format(ms / DAY);
  return ms % HOUR === 0 ? hour.format(ms / HOUR) : minute.format(ms / MINUTE);
}

/** The text under the fuse: `41 min left`. Times in ms. */
export function timeLeftWords(expiresAt: number, now: number): string {
  const left = expiresAt - now;
  return left < SECOND ? t('time.expiresNow') : leftWords(left);
}

/** `23 h 59 min left`. @param ms 0 or more */
export function leftWords(ms: number): string {
  return t('time.left', { duration: durationWords(ms) });
}

/**
 * The unburnt part of the fuse, from 0 to 1 in steps of a thousandth, so that it is redrawn only when it has moved.
 *
 * @param expiresAt ms
 * @param ttl seconds; a tunnel extended beyond it has a complete fuse
 * @param now ms
 */
export function fuseFraction(expiresAt: number, ttl: number, now: number): number {
  const fraction = (expiresAt - now) / (ttl * SECOND);
  return Math.round(Math.min(1, Math.max(0, fraction)) * 1000) / 1000;
}

/** Whether a tunnel ends so soon that its card should warn. Arguments as for {@link fuseFraction}. */
export function expiresSoon(expiresAt: number, ttl: number, now: number): boolean {
  return expiresAt - now <= SOON_MS && fuseFraction(expiresAt, ttl, now) <= SOON_FRACTION;
}

/* The traffic of a tunnel in the last minute, as a drawing and in words. */

/** The number of seconds shown: the width of the drawing. */
export const SPARKLINE_WIDTH = 60;
/** The height of the drawing, in the same unit. */
export const SPARKLINE_HEIGHT = 18;
const BAR_WIDTH = 0.7;

interface SparklineDrawing {
  /** paths for SVG: all requests, and in front of them those that were refused (4xx) and those that failed */
  readonly requests: string;
  readonly refused: string;
  readonly errors: string;
  readonly words: string;
}

/**
 * @param until the last second shown, in wall-clock s
 * @returns `undefined` if there was no traffic
 */
export function sparklineDrawing(
  seconds: readonly TrafficSecond[],
  until: number,
): SparklineDrawing | undefined {
  const shown = seconds.filter(({ id }) => id > until - SPARKLINE_WIDTH && id <= until);
  const requests = sum(shown.map((second) => second.requests));
  const bad = sum(shown.map(({ refused, errors }) => refused + errors));
  if (requests + bad === 0) return undefined;
  const bars = shown.map((second) => barOf(second, until));
  const path = (part: 'requests' | 'refused' | 'errors'): string => bars.map((each) => each[part]).join('');
  return {
    requests: path('requests'),
    refused: path('refused'),
    errors: path('errors'),
    words: t('tunnels.pulse', { requests, errors: bad }),
  };
}

/**
 * The bar of a second. Its height is logarithmic: each doubling adds the same, up to about 500 requests. Its colours
 * divide it by the true shares, errors at the bottom.
 */
function barOf({ id, requests, refused, errors }: TrafficSecond, until: number) {
  const x = SPARKLINE_WIDTH - 1 - (until - id);
  // A request counts when it begins and fails when it ends, perhaps in a second without others.
  const count = Math.max(requests, refused + errors);
  const height = count === 0 ? 0 : Math.min(SPARKLINE_HEIGHT, 4 + 1.6 * Math.log2(count));
  const share = (part: number): number => (part === 0 ? 0 : Math.max(1, (height * part) / count));
  const red = share(errors);
  return {
    requests: bar(x, 0, height),
    refused: bar(x, red, share(refused)),
    errors: bar(x, 0, red),
  };
}

function bar(x: number, from: number, height: number): string {
  const [start, rounded] = [rounded1(SPARKLINE_HEIGHT - from), rounded1(height)];
  return rounded === 0 ? '' : `M${x} ${start}v-${rounded}h${BAR_WIDTH}v${rounded}z`;
}

function rounded1(value: number): number {
  return Math.round(value * 10) / 10;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
