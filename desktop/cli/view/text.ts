/** Text for a terminal: outside text made harmless, lines of styled pieces, and fitting them to a width. */

import { escapeCharacter, escapeUnprintable } from '../../../shared/unprintable.ts';

export type Style = 'plain' | 'strong' | 'dim' | 'good' | 'warning' | 'bad' | 'inverse';

/** A piece of a line. Its text has no control characters, and no characters of two code units. */
export interface Span {
  readonly text: string;
  readonly style: Style;
  /** the address that a click on it opens, if the terminal can do that */
  readonly url?: string;
}

export type Line = readonly Span[];

/** Of a terminal, in characters. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export function span(text: string, style: Style = 'plain'): Span {
  return { text, style };
}

const ESCAPE_NEXT = '\u{1B}[';
const RESET = `${ESCAPE_NEXT}0m`;
const STYLE_CODES: Readonly<Record<Style, string>> = {
  plain: '',
  strong: '1',
  dim: '2',
  good: '32',
  warning: '33',
  bad: '31',
  inverse: '40;97',
};

/** Text of a relay or this program: escapes only control and invisible characters, and emoji. */
export function escapeControls(text: string): string {
  return escapeUnprintable(text).replace(/\p{Cs}|[\u{10000}-\u{10ffff}]/gu, escapeCharacter);
}

/**
 * A value that must be whole, beside its name or below it. There it begins at the edge, so that it can be selected.
 *
 * @param nameColumns width of the column of names
 * @param url what a click on it opens
 */
export function wholeRow(
  name: string,
  text: string,
  style: Style,
  nameColumns: number,
  columns: number,
  url?: string,
): Line[] {
  const title = span(name.padEnd(nameColumns), 'dim');
  if (nameColumns + text.length <= columns) return [[title, ...whole(text, style, text.length, url).flat()]];
  return [[title], ...whole(text, style, columns, url)];
}

/** A value on as many lines as it needs. */
export function whole(text: string, style: Style, columns: number, url?: string): Line[] {
  const size = Math.max(1, columns);
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) => {
    const part = span(text.slice(index * size, (index + 1) * size), style);
    return [url === undefined ? part : { ...part, url }];
  });
}

/** Shortens to this many columns, with `…` at the end of a longer text. */
export function shorten(text: string, columns: number): string {
  if (text.length <= columns) return text;
  return columns < 1 ? '' : `${text.slice(0, columns - 1)}…`;
}

/** Cuts a line to this many columns, or fills it up. */
function fit(line: Line, columns: number): Line {
  const length = line.reduce((sum, { text }) => sum + text.length, 0);
  if (length <= columns) return [...line, span(' '.repeat(columns - length))];
  let left = columns - 1;
  const cut = line.map((part) => {
    const text = part.text.slice(0, Math.max(0, left));
    left -= text.length;
    return { ...part, text };
  });
  return [...cut.filter(({ text }) => text !== ''), span('…')];
}

/** Two texts beside each other, each line of the first as wide as this. */
export function beside(left: readonly Line[], right: readonly Line[], columns: number): Line[] {
  const count = Math.max(left.length, right.length);
  return Array.from({ length: count }, (_, row) => [
    ...fit(left[row] ?? [], columns),
    span(' │ ', 'dim'),
    ...(right[row] ?? []),
  ]);
}

/** Columns from which a request is shown on the right half. */
const SPLIT_COLUMNS = 110;

/** Columns of the left half of a window that has room for two; `undefined` for a narrower one. */
export function leftColumns(columns: number): number | undefined {
  return columns < SPLIT_COLUMNS ? undefined : Math.floor((columns - 3) / 2);
}

/** Breaks between words, so that no line is longer than this many columns if the words allow it. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** The line as it is written to a terminal of this width, with `…` at the end of a longer one. */
export function paint(line: Line, columns: number, hasColour: boolean, hasLinks = false): string {
  const length = line.reduce((sum, { text }) => sum + text.length, 0);
  const isCut = length > columns;
  let left = isCut ? columns - 1 : columns;
  let painted = '';
  for (const { text, style, url } of line) {
    if (left <= 0) break;
    const shown = text.slice(0, left);
    left -= shown.length;
    const code = hasColour ? STYLE_CODES[style] : '';
    const styled = code === '' || shown === '' ? shown : `${ESCAPE_NEXT}${code}m${shown}${RESET}`;
    painted += hasLinks && url !== undefined && shown !== '' ? linked(styled, url) : styled;
  }
  return isCut && columns > 0 ? `${painted}…` : painted;
}

/** A hyperlink for terminals (OSC 8). Only web addresses of visible ASCII, which cannot end the sequence. */
function linked(text: string, url: string): string {
  if (!/^https?:\/\/[!-~]+$/.test(url)) return text;
  return `\u{1B}]8;;${url}\u{1B}\\${text}\u{1B}]8;;\u{1B}\\`;
}

/** Programs that are known to open hyperlinks, by what they set. Others may print the sequence. */
const LINKING_PROGRAMS: ReadonlySet<string> = new Set(['iTerm.app', 'WezTerm', 'vscode', 'ghostty', 'Hyper']);
const LINKING_TERMS: ReadonlySet<string> = new Set(['xterm-kitty', 'xterm-ghostty', 'alacritty', 'foot']);
/** The first version of VTE, GNOME's terminal, that is not confused by hyperlinks. */
const LINKING_VTE = 5202;

/** Whether the terminal is known to open hyperlinks. Multiplexers pass on only what they know. */
export function knowsLinks(env: NodeJS.ProcessEnv): boolean {
  if (env['TMUX'] !== undefined || env['STY'] !== undefined) return false;
  return (
    LINKING_PROGRAMS.has(env['TERM_PROGRAM'] ?? '') ||
    LINKING_TERMS.has(env['TERM'] ?? '') ||
    Number(env['VTE_VERSION']) >= LINKING_VTE ||
    env['WT_SESSION'] !== undefined ||
    env['KONSOLE_VERSION'] !== undefined
  );
}
