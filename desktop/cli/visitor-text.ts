import { escapeCharacter } from '../../shared/unprintable.ts';

/**
 * What a visitor has sent, for a terminal: everything but printable ASCII is written as `\x1b` or `\u{202e}`, so that it
 * cannot move the cursor, hide anything or reverse text, and is as wide as it seems.
 */
export function escapeVisitorText(text: string): string {
  return text.replace(/[^\u{20}-\u{7e}]/gu, escapeCharacter);
}
