import { replaceUnprintable } from '../../shared/unprintable.ts';

/**
 * What `--json` prints: a value as JSON on one line. `JSON.stringify` escapes C0 controls only; a visitor's path may contain
 * C1 controls too, and a body anything.
 */
export function jsonLine(value: object): string {
  return `${replaceUnprintable(JSON.stringify(value), escapeUnits)}\n`;
}

/** `\u009b`, twice for a character that takes two code units (RFC 8259 section 7). */
function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
