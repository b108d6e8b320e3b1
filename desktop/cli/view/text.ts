/** Text for a terminal: outside text made harmless, lines of styled pieces, and fitting them to a width. */

import { escapeCharacter, escapeUnprintable } from '../../../shared/unprintable.ts';

export type Style = 'plain' | 'strong' | 'dim' | 'good' | 'warning' | 'bad' | 'inverse';

/** A piece of a line. Its text has no control characters, and no characters of two code units. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

export type Line = readonly Span[];

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

/** Shortens to this many columns, with `…` at the end of a longer text. */
export function shorten(text: string, columns: number): string {
  if (text.length <= columns) return text;
  return columns < 1 ? '' : `${text.slice(0, columns - 1)}…`;
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
export function paint(line: Line, columns: number, hasColour: boolean): string {
  const length = line.reduce((sum, { text }) => sum + text.length, 0);
  const isCut = length > columns;
  let left = isCut ? columns - 1 : columns;
  let painted = '';
  for (const { text, style } of line) {
    if (left <= 0) break;
    const shown = text.slice(0, left);
    left -= shown.length;
    const code = hasColour ? STYLE_CODES[style] : '';
    painted += code === '' || shown === '' ? shown : `${ESCAPE_NEXT}${code}m${shown}${RESET}`;
  }
  return isCut && columns > 0 ? `${painted}…` : painted;
}
