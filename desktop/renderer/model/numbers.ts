/** Numbers as people read them at a glance. */

const COUNT = new Intl.NumberFormat('en');
const BYTE_UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

/** `1,284` */
export function countText(count: number): string {
  return COUNT.format(count);
}

/** `1 request`, `1,284 requests` */
export function plural(count: number, one: string, many: string): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** `0 bytes`, `999 bytes`, `1.2 kB`, `36.2 MB`: three significant digits, units of 1000. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // 999.95 would be written as 1000.0.
  while (value >= 999.95 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  if (unit === 0) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  return `${value.toFixed(value < 100 ? 1 : 0)} ${BYTE_UNITS[unit]}`;
}

/** How long a request took: `12 ms`, `1.2 s`, `2 min 5 s`. */
export function latencyText(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** `Dev` for `dev` */
export function capitalised(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** Time of day with seconds, in the format and time zone of this machine. */
export function clockText(ms: number): string {
  return clockFormat().format(ms);
}

/** To make one takes longer than to draw a row. It knows only the time zone in which it was made. */
let clock: { readonly offset: number; readonly format: Intl.DateTimeFormat } | undefined;

function clockFormat(): Intl.DateTimeFormat {
  const offset = new Date().getTimezoneOffset();
  if (clock?.offset !== offset) {
    const parts = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
    clock = { offset, format: new Intl.DateTimeFormat(undefined, parts) };
  }
  return clock.format;
}

/** Day and time without seconds, in the format of this machine. */
export function momentText(ms: number): string {
  return new Date(ms).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}
