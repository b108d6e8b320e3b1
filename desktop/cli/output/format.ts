import type { KnockClient } from '../../../shared/control.ts';
import { durationParts, durationText, parseDuration, roughDuration } from '../../../shared/duration.ts';
import { table as tableLines } from '../../../shared/help-text.ts';
import { escapeCharacter, replaceUnprintable } from '../../../shared/unprintable.ts';
import { endOfHost } from '../../client/host/approval-requests.ts';
import { readableTarget, utf8Text } from '../../client/inspector/readable.ts';

/**
 * Whether the terminal shows UTF-8, by the locale of POSIX: the first of these variables that is set decides. Without
 * any it does, because most terminals do and minimal systems set none. Windows and macOS have no other terminals.
 */
export function showsUtf8(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): boolean {
  if (platform === 'win32' || platform === 'darwin') return true;
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((value) => (value ?? '') !== '');
  return locale === undefined || /utf-?8/i.test(locale);
}

/** The marks of this program that are not ASCII. */
const MARKS: Readonly<Record<string, string>> = {
  '…': '~',
  '●': '*',
  '○': 'o',
  '◌': 'o',
  '✕': 'x',
  '✗': 'x',
  '✓': '+',
  '›': '>',
  '│': '|',
  '×': 'x',
  '→': '>',
  '↑': '^',
  '↓': 'v',
};

/** For a terminal without UTF-8, in as many columns. @param other replaces characters that are no marks */
export function toAscii(text: string, other?: string): string {
  return text.replace(/\P{ASCII}/gu, (character) => MARKS[character] ?? other ?? character);
}

/** Values as people read them. */

/** `2026-07-10 14:03:05` in the time zone of this machine. */
export function localTime(timestamp: string): string {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return timestamp;
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()];
  return `${day.map(twoDigits).join('-')} ${time.map(twoDigits).join(':')}`;
}

/** `14:03`, `tomorrow 14:03` or `2026-07-12 14:03`, in the time zone of this machine. @param at wall-clock ms */
export function dayTime(at: number, now: number): string {
  const day = new Date(now);
  const isToday = new Date(at).toDateString() === day.toDateString();
  day.setDate(day.getDate() + 1);
  const isTomorrow = new Date(at).toDateString() === day.toDateString();
  const time = localTime(new Date(at).toISOString()).slice(0, -':05'.length);
  return isToday || isTomorrow ? time.replace(/^\S+/, isToday ? '' : 'tomorrow').trimStart() : time;
}

/** `3 d 4 h`, `1 h 2 min`, `9 min`, `45 s`, `0 s`. @param ms may be below 0, when time is up */
export function timeLeft(ms: number): string {
  return durationText(roughDuration(Math.max(0, Math.ceil(ms / 1000))));
}

/** A duration of the relay: `1 h` for `1h0m0s`. */
export function lifetimeText(ttl: string): string {
  return durationText(durationParts(parseDuration(ttl) ?? 0));
}

/** `14:03:05` in the time zone of this machine. @param at wall-clock ms */
export function clockTime(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** The duration of a request, as in the app's window: `12 ms`, `1.5 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Rows in columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  return tableLines(rows)
    .map((line) => `${line}\n`)
    .join('');
}

/**
 * Rows with a heading, for a terminal: columns that do not fit into it are left out, the least important first.
 *
 * @param least the least important headings, the first of them first
 * @param columns of the terminal; `undefined` for a file or another program, which get everything
 */
export function fittingTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  least: readonly string[],
  columns: number | undefined,
): string {
  let shown = [...heading.keys()];
  const pick = (): string => table([heading, ...rows].map((row) => shown.map((column) => row[column] ?? '')));
  for (const title of least) {
    const text = pick();
    if (columns === undefined || text.split('\n').every((line) => line.length <= columns)) return text;
    shown = shown.filter((column) => heading[column] !== title);
  }
  return pick();
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

/** Who asks for access for an agent, by the hosts that the relay has checked. */
export function agentText({ host, returns_to }: KnockClient): string {
  const [id, returns] = [host, returns_to].map((name) => endOfHost(escapeVisitorText(name)));
  return `agent of ${id}${id === returns ? '' : `, returning to ${returns},`}`;
}

/** Letters that are one column wide and written from left to right, Latin, Greek and Cyrillic, and currency signs. */
const LETTERS = String.raw`[\u{a2}-\u{a5}\u{c0}-\u{24f}\u{370}-\u{4ff}\u{20a0}-\u{20c0}]&&[\p{L}\p{Sc}]`;
const ONLY_LETTERS = new RegExp(`^[${LETTERS}]+$`, 'v');
/** Other signs of one column that texts contain: `°`, `—`, `“`, `…`. */
const SIGNS = String.raw`[\u{a1}-\u{bf}\u{2010}-\u{2027}\u{2030}-\u{205e}]&&[\p{P}\p{S}\p{N}]`;
const NO_LETTER = new RegExp(`[^\u{20}-\u{7e}[${LETTERS}]]`, 'gv');
const NO_TEXT = new RegExp(`[^\u{20}-\u{7e}↑↓[${LETTERS}][${SIGNS}]]`, 'gv');

/** A line of a recorded message, for a terminal: characters that are not one column wide are escaped. */
export function messageLine(line: string): string {
  return line.replace(NO_TEXT, escapeCharacter);
}

/**
 * The target of a visitor's request, for a terminal: `/caf%C3%A9` is `/café`. Other percent codes stay, such as spaces,
 * which could imitate columns, and letters that take two columns or change the direction of the line.
 */
export function targetText(target: string): string {
  return utf8Text(target)
    .replace(/(?:%[89a-f][\da-f])+/gi, (codes) => {
      const text = readableTarget(codes);
      return ONLY_LETTERS.test(text) ? text : codes;
    })
    .replace(NO_LETTER, escapeCharacter);
}
