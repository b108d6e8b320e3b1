/** The errors of the API as docs/protocol.md section 2.2 documents them. */
import { readFileSync } from 'node:fs';

const ROW = /^\| \d{3} +\| `([\w-]+)` +\| `([^`]+)` +\|/gm;

const CODES = [...readFileSync('docs/protocol.md', 'utf8').matchAll(ROW)].map(([, code = '', text = '']) => ({
  code,
  // `…` stands for what a text names, or for the rest of it.
  parts: text.split('…'),
}));

/** @returns the code of the error with that text, the one that says most of it; `undefined` if none is documented */
export function documentedCode(text: string): string | undefined {
  const found = CODES.filter(({ parts }) => hasInOrder(text, parts));
  return found.toSorted((a, b) => b.parts.join('').length - a.parts.join('').length)[0]?.code;
}

function hasInOrder(text: string, [start = '', ...others]: readonly string[]): boolean {
  if (others.length === 0) return text === start;
  let from = text.startsWith(start) ? start.length : -1;
  for (const part of others) {
    if (from >= 0) from = text.indexOf(part, from);
    if (from >= 0) from += part.length;
  }
  return from >= 0;
}
