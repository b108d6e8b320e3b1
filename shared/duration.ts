/**
 * Duration strings of `ttl` (protocol.md section 3.4): the grammar of Go's `time.ParseDuration` without a sign,
 * with the units `h`, `m`, `s` and `ms`.
 */

const NANOSECONDS_PER_UNIT: Readonly<Record<string, bigint>> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
};

/** The form of a duration string. */
export const DURATION_PATTERN = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s))+$/;
const TERM = /(\d*)(?:\.(\d*))?(h|ms|m|s)/gy;

/**
 * Reads a duration string.
 *
 * @returns whole seconds, rounded down; `Infinity` for a well-formed duration too large for a number; `undefined` if
 *   the text is not a duration string
 */
export function parseDuration(text: string): number | undefined {
  if (!DURATION_PATTERN.test(text)) return undefined;
  // Whole numbers of nanoseconds, because 0.1 s + 0.7 s + 0.2 s must make one second.
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of text.matchAll(TERM)) {
    const scale = NANOSECONDS_PER_UNIT[unit] ?? 0n;
    total += BigInt(whole || '0') * scale;
    // Later digits are too small to add up to a nanosecond.
    const digits = fraction.slice(0, 18);
    if (digits !== '') total += (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
  }
  return Number(total / 1_000_000_000n);
}

/**
 * Formats a duration in its normalized form, as Go prints it: `1h0m0s`, `30m0s`, `45s`.
 *
 * @param seconds whole seconds, 0 or more
 */
export function formatDuration(seconds: number): string {
  const s = `${seconds % 60}s`;
  if (seconds < 60) return s;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${s}`;
  return `${Math.floor(minutes / 60)}h${minutes % 60}m${s}`;
}

/** The same as somebody would type it: `1h`, `1h30m`, `45s`. */
export function typedDuration(seconds: number): string {
  return formatDuration(seconds)
    .replace(/(?<=m)0s$/, '')
    .replace(/(?<=h)0m$/, '');
}

export interface DurationParts {
  readonly days: number;
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
}

/** @param seconds 0 or more; fractions are dropped */
export function durationParts(seconds: number): DurationParts {
  return {
    days: Math.floor(seconds / 86_400),
    hours: Math.floor(seconds / 3600) % 24,
    minutes: Math.floor(seconds / 60) % 60,
    seconds: Math.floor(seconds) % 60,
  };
}

/**
 * As precise as somebody who waits needs it, with at most two units. Seconds matter only in the last minutes, and a
 * number that changes each second is distracting.
 *
 * @param seconds 0 or more
 */
export function roughDuration(seconds: number): DurationParts {
  const parts = durationParts(seconds);
  const { days, hours, minutes } = parts;
  return {
    days,
    hours,
    minutes: days > 0 ? 0 : minutes,
    seconds: days > 0 || hours > 0 || minutes > 1 ? 0 : parts.seconds,
  };
}

/** A duration for people, in English: `2 d 4 h`, `1 h 30 min`, `45 s`. */
export function durationText({ days, hours, minutes, seconds }: DurationParts): string {
  const units = [
    [days, 'd'],
    [hours, 'h'],
    [minutes, 'min'],
    [seconds, 's'],
  ] as const;
  const shown = units.filter(([value]) => value > 0).map(([value, unit]) => `${value} ${unit}`);
  return shown.length === 0 ? '0 s' : shown.join(' ');
}
