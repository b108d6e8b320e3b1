import { escapeCharacter, replaceUnprintable } from '../../shared/unprintable.ts';

/** Values as people read them. */

/** `2026-07-10 14:03:05` in the time zone of this machine. */
export function localTime(timestamp: string): string {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return timestamp;
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()];
  return `${day.map(twoDigits).join('-')} ${time.map(twoDigits).join(':')}`;
}

/**
 * `3d 4h`, `1h 02m`, `9m 05s`, `45s`, `0s`: as precise as somebody who waits needs it.
 *
 * @param ms may be below 0, when time is up
 */
export function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)}d ${hours % 24}h`;
  if (hours > 0) return `${hours}h ${twoDigits(minutes % 60)}m`;
  return minutes > 0 ? `${minutes}m ${twoDigits(seconds % 60)}s` : `${seconds}s`;
}

/** `14:03:05` in the time zone of this machine. @param at wall-clock ms */
export function clockTime(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];

/** `512 B`, `1.5 KiB`. */
export function byteSize(bytes: number): string {
  let value = bytes;
  let unit = 'B';
  for (const next of UNITS) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return unit === 'B' ? `${bytes} B` : `${value.toFixed(1)} ${unit}`;
}

/** Rows in columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}

/**
 * What `--json` prints: a value as JSON on one line. `JSON.stringify` escapes C0 controls only; a visitor's path may
 * contain C1 controls too, and a body anything.
 */
export function jsonLine(value: object): string {
  return `${replaceUnprintable(JSON.stringify(value), escapeUnits)}\n`;
}

/** `\u009b`, twice for a character of two code units (RFC 8259 section 7). */
function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/**
 * What a visitor has sent, for a terminal: everything but printable ASCII is written as `\x1b` or `\u{202e}`, so that
 * it cannot move the cursor, hide anything or reverse text, and is as wide as it seems.
 */
export function escapeVisitorText(text: string): string {
  return text.replace(/[^\u{20}-\u{7e}]/gu, escapeCharacter);
}
