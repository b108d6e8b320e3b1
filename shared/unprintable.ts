/**
 * Characters that must not reach a terminal, a notification or a log line unescaped, from any source: C0 and C1
 * controls (ECMA-48), which terminals obey; format characters, which hide or reverse text (Unicode, Cf), except the two
 * that join letters and emoji; and line separators.
 */
const UNPRINTABLE = /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\u{200C}\u{200D}]]/v;
const EACH_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gv');

export function hasUnprintable(text: string): boolean {
  return UNPRINTABLE.test(text);
}

/** @param replacement replaces each of them, or returns the replacement */
export function replaceUnprintable(
  text: string,
  replacement: string | ((character: string) => string),
): string {
  return text.replace(EACH_UNPRINTABLE, (character) =>
    typeof replacement === 'string' ? replacement : replacement(character),
  );
}

/**
 * Patterns by allowed characters. Long texts are mostly lines, so handling each line end separately would dominate the
 * time.
 */
const patterns = new Map([['', EACH_UNPRINTABLE]]);

/**
 * Escapes them as `\x1b` or `\u{202e}`, for people to read.
 *
 * @param allowed characters to keep, such as line feeds
 */
export function escapeUnprintable(text: string, allowed = ''): string {
  const pattern = patterns.get(allowed) ?? without(allowed);
  patterns.set(allowed, pattern);
  return text.replace(pattern, escapeCharacter);
}

function without(allowed: string): RegExp {
  const characters = Array.from(allowed, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  return new RegExp(`[${UNPRINTABLE.source}--[${characters.join('')}]]`, 'gv');
}

/** `\x1b` or `\u{202e}`. @param character one code point */
export function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  return code < 0x100 ? `\\x${digits.padStart(2, '0')}` : `\\u{${digits}}`;
}

/**
 * A text of another program without its final punctuation, so that it can be followed by a full stop and more text.
 *
 * @returns `is it paid` for `is it paid ??`
 */
export function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && /[\s.?!…]/.test(text[end - 1] as string)) end -= 1;
  return text.slice(0, end);
}

/** Quotes a text that people chose, such as a label, within a line: it cannot pass for what follows it. */
export function quoted(text: string): string {
  return escapeUnprintable(JSON.stringify(text));
}
