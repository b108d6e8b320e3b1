/** Words of a POSIX shell command that mean exactly what was given, whatever it contains. */
import { hasUnprintable } from '../../../shared/unprintable.ts';

/** Characters that have no special meaning in any shell. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/**
 * Quotes a text as one word. Control characters are written as escapes (`$'…'`, POSIX.1-2024), so that the word can be
 * shown on a terminal.
 */
export function quoteWord(text: string): string {
  if (PLAIN.test(text)) return text;
  if (!hasUnprintable(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  return escapedWord(Buffer.from(text));
}

/** Quotes bytes that may not be text; NUL, which no word can contain, is left out. */
export function quoteBytes(bytes: Buffer): string {
  return bytes.every((byte) => byte >= 0x20 && byte < 0x7f)
    ? quoteWord(bytes.toString())
    : escapedWord(bytes);
}

function escapedWord(bytes: Buffer): string {
  let word = '';
  for (const byte of bytes) {
    if (byte === 0x0a) word += '\\n';
    else if (byte === 0x27 || byte === 0x5c) word += `\\${String.fromCodePoint(byte)}`;
    else if (byte >= 0x20 && byte < 0x7f) word += String.fromCodePoint(byte);
    else if (byte !== 0) word += `\\${byte.toString(8).padStart(3, '0')}`;
  }
  return `$'${word}'`;
}
