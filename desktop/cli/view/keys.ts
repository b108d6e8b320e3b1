/** Keys as a terminal sends them. */

/** Sequences of terminals, by the names that the view gives their keys. */
const SEQUENCES: Readonly<Record<string, string>> = {
  '\u{1B}[A': 'up',
  '\u{1B}OA': 'up',
  '\u{1B}[B': 'down',
  '\u{1B}OB': 'down',
  '\u{1B}[5~': 'page-up',
  '\u{1B}[6~': 'page-down',
  '\u{1B}': 'escape',
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u{7F}': 'backspace',
  '\u{8}': 'backspace',
  '\u{3}': 'ctrl-c',
  '\u{C}': 'ctrl-l',
};

const ESCAPE = '\u{1B}';
const KEY = new RegExp(`${ESCAPE}(?:\\[[\\d;]*[A-Za-z~]|O[A-Z])?|[^${ESCAPE}]`, 'gu');

/** @returns the keys of a piece of input: names for those above, a character for others; unknown sequences are left out */
export function splitKeys(input: string): string[] {
  const parts = input.match(KEY) ?? [];
  return parts.flatMap((part) => SEQUENCES[part] ?? (part.startsWith(ESCAPE) ? [] : part));
}
