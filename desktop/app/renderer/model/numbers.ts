/** Formats numbers for reading at a glance, in the user's language. */
import { currentLocale, perLocale, t } from '../../messages/translate.ts';

const counts = perLocale((tag) => new Intl.NumberFormat(tag));
const oneDecimal = perLocale((tag) => new Intl.NumberFormat(tag, digits(1)));
const bytes = perLocale((tag) => {
  return new Intl.NumberFormat(tag, { style: 'unit', unit: 'byte', unitDisplay: 'long' });
});
const BYTE_UNITS = ['kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
/** Formats without and with a decimal. */
const byteUnits = perLocale((tag) =>
  BYTE_UNITS.map((unit) =>
    [0, 1].map(
      (decimals) =>
        new Intl.NumberFormat(tag, { style: 'unit', unit, ...digits(decimals), useGrouping: false }),
    ),
  ),
);

function digits(decimals: number): Intl.NumberFormatOptions {
  return { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
}

/** `1,284` */
export function countText(count: number): string {
  return counts().format(count);
}

/** `0 bytes`, `999 bytes`, `1.2 kB`, `36.2 MB`: three significant digits, units of 1000. */
export function bytesText(count: number): string {
  if (count < 1000) return bytes().format(count);
  let value = count / 1000;
  let unit = 0;
  // 999.95 would become 1000.0.
  while (value >= 999.95 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return byteUnits()[unit]?.[value < 100 ? 1 : 0]?.format(value) ?? '';
}

/** The duration of a request: `12 ms`, `1.2 s`, `2 min 5 s`. */
export function latencyText(ms: number): string {
  if (ms < 999.5) return t('latency.milliseconds', { milliseconds: Math.round(ms) });
  if (ms < 59_950) return t('latency.seconds', { seconds: oneDecimal().format(ms / 1000) });
  const seconds = Math.round(ms / 1000);
  return t('latency.minutes', { minutes: Math.floor(seconds / 60), seconds: seconds % 60 });
}

/** `Dev` for `dev` */
export function capitalised(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;

/** Time of day with seconds, in the time zone of this machine. */
export function clockText(ms: number): string {
  return new Date(ms).toLocaleTimeString(currentLocale().tag, CLOCK);
}

/** The same to the millisecond, for what follows each other quickly. */
export function preciseClockText(ms: number): string {
  return new Date(ms).toLocaleTimeString(currentLocale().tag, { ...CLOCK, fractionalSecondDigits: 3 });
}

/** Day without the time. */
export function dayText(ms: number): string {
  return new Date(ms).toLocaleDateString(currentLocale().tag, { dateStyle: 'medium' });
}

/** Day and time without seconds. */
export function momentText(ms: number): string {
  return new Date(ms).toLocaleString(currentLocale().tag, { dateStyle: 'medium', timeStyle: 'short' });
}
