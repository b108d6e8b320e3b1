/** Lifetimes in the forms. */
import { parseDuration, roughDuration } from '../../../../shared/duration.ts';
import { TTL_RULE } from '../../../../shared/value-rules.ts';
import type { TrafficSecond } from '../../../client/inspector/records.ts';
import type { TunnelView } from '../../ipc/snapshot.ts';
import { perLocale, t } from '../../messages/translate.ts';
import type { Counted } from './address.ts';

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

/* How long a tunnel lives, in words. */

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

/** `41 min left`. Times in ms. */
export function timeLeftWords(expiresAt: number, now: number): string {
  const left = expiresAt - now;
  return left < SECOND ? t('time.expiresNow') : leftWords(left);
}

/** `23 h 59 min left`. @param ms 0 or more */
export function leftWords(ms: number): string {
  return t('time.left', { duration: durationWords(ms) });
}

/**
 * Whether a tunnel ends so soon that its row should warn.
 *
 * @param expiresAt ms
 * @param ttl seconds
 * @param now ms
 */
export function expiresSoon(expiresAt: number, ttl: number, now: number): boolean {
  const left = expiresAt - now;
  return left <= SOON_MS && left <= SOON_FRACTION * ttl * SECOND;
}

type Timed = Pick<TunnelView, 'expiresAt' | 'isIdle'> & Partial<Pick<TunnelView, 'isKeptOpen'>>;

/** How long a tunnel stays: `41 min left`, or `until you stop it` if it is extended before that. @param now ms */
export function stayWords({ expiresAt, isIdle, isKeptOpen }: Timed, now: number): string {
  if (isKeptOpen === true && !isIdle) return t('tunnels.untilStopped');
  const left = timeLeftWords(expiresAt, now);
  return isIdle ? t('tunnels.leftIfUnused', { left }) : left;
}

/* The traffic of a tunnel in the last minute, as a drawing and in words. */

const MINUTE_SECONDS = 60;
/** The seconds of a bar. The drawing changes as often. */
export const SPARKLINE_STEP = 6;
/** px: a bar has three, with one after it. */
export const SPARKLINE_WIDTH = (4 * MINUTE_SECONDS) / SPARKLINE_STEP;
export const SPARKLINE_HEIGHT = 16;

interface SparklineDrawing {
  /** paths for SVG: all requests, and in front of them those that were refused (4xx) and those that failed */
  readonly requests: string;
  readonly refused: string;
  readonly errors: string;
  readonly words: string;
}

/**
 * @param until wall-clock s; the last bar contains it
 * @returns `undefined` if there was no traffic
 */
export function sparklineDrawing(
  seconds: readonly TrafficSecond[],
  until: number,
  kind: Counted = 'requests',
): SparklineDrawing | undefined {
  const last = Math.floor(until / SPARKLINE_STEP);
  const bars = Array.from({ length: MINUTE_SECONDS / SPARKLINE_STEP }, () => ({
    requests: 0,
    refused: 0,
    errors: 0,
  }));
  for (const { id, requests, refused, errors } of seconds) {
    const counts = bars[bars.length - 1 - last + Math.floor(id / SPARKLINE_STEP)];
    if (counts === undefined) continue;
    counts.requests += requests;
    counts.refused += refused;
    counts.errors += errors;
  }
  const requests = sum(bars.map((counts) => counts.requests));
  const bad = sum(bars.map(({ refused, errors }) => refused + errors));
  if (requests + bad === 0) return undefined;
  const drawn = bars.map(drawBar);
  const path = (part: 'requests' | 'refused' | 'errors'): string => drawn.map((each) => each[part]).join('');
  return {
    requests: path('requests'),
    refused: path('refused'),
    errors: path('errors'),
    words: t('tunnels.pulse', { requests, errors: bad, kind }),
  };
}

/**
 * Its height is logarithmic: each doubling adds the same, up to about 500 requests. Its colours divide it by the true
 * shares, errors at the bottom.
 */
function drawBar({ requests, refused, errors }: Omit<TrafficSecond, 'id'>, place: number) {
  // A request counts when it begins and fails when it ends, perhaps in a bar without others.
  const count = Math.max(requests, refused + errors);
  const height = count === 0 ? 0 : Math.min(SPARKLINE_HEIGHT, 3 + 1.5 * Math.log2(count));
  const share = (part: number): number => (part === 0 ? 0 : Math.max(1, (height * part) / count));
  const red = share(errors);
  return {
    requests: bar(4 * place, 0, height),
    refused: bar(4 * place, red, share(refused)),
    errors: bar(4 * place, 0, red),
  };
}

function bar(x: number, from: number, height: number): string {
  const [start, rounded] = [rounded1(SPARKLINE_HEIGHT - from), rounded1(height)];
  return rounded === 0 ? '' : `M${x} ${start}v-${rounded}h3v${rounded}z`;
}

function rounded1(value: number): number {
  return Math.round(value * 10) / 10;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
