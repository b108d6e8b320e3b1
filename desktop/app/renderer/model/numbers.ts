/** Formats numbers for reading at a glance, in the user's language. */
import { byteSize } from '../../../client/inspector/readable.ts';
import { currentLocale, perLocale, t } from '../../messages/translate.ts';

const counts = perLocale((tag) => new Intl.NumberFormat(tag));
const oneDecimal = perLocale((tag) => new Intl.NumberFormat(tag, digits(1)));
const noDecimal = perLocale((tag) => new Intl.NumberFormat(tag, { ...digits(0), useGrouping: false }));

function digits(decimals: number): Intl.NumberFormatOptions {
  return { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
}

/** `1,284` */
export function countText(count: number): string {
  return counts().format(count);
}

/** `0 B`, `999 B`, `1.2 KiB`, `36.2 MiB`: as terminals have it, with the decimal sign of the language. */
export function bytesText(count: number): string {
  return byteSize(count, (value, decimals) => (decimals === 0 ? noDecimal : oneDecimal)().format(value));
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
const PRECISE_CLOCK = { ...CLOCK, fractionalSecondDigits: 3 } as const;

/** Time of day with seconds, in the time zone of this machine. */
export function clockText(ms: number): string {
  return clockFormat(CLOCK).format(ms);
}

/** The same to the millisecond, for what follows each other quickly. */
export function preciseClockText(ms: number): string {
  return clockFormat(PRECISE_CLOCK).format(ms);
}

/** Kept, because each row of a log needs one, and making it costs 70 times as much as its use. */
const clocks = perLocale(() => new Map<object, { offset: number; format: Intl.DateTimeFormat }>());

/** A new one when the time zone has changed, because a format keeps its own. */
function clockFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const offset = new Date().getTimezoneOffset();
  const known = clocks().get(options);
  if (known?.offset === offset) return known.format;
  const format = new Intl.DateTimeFormat(currentLocale().tag, options);
  clocks().set(options, { offset, format });
  return format;
}

/** Day without the time. */
export function dayText(ms: number): string {
  return new Date(ms).toLocaleDateString(currentLocale().tag, { dateStyle: 'medium' });
}

/** Day and time without seconds. */
export function momentText(ms: number): string {
  return new Date(ms).toLocaleString(currentLocale().tag, { dateStyle: 'medium', timeStyle: 'short' });
}
