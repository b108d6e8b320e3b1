/** Values of fields as people read and write them: UTF-8. Recorded ones have a character for each byte. */
import { isUtf8 } from 'node:buffer';

/** The value as a text; one that is not UTF-8 stays as it is, and is UTF-8 when it is written again. */
export function shownValue(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}

/** The value that a text means. */
export function writtenValue(text: string): string {
  return Buffer.from(text).toString('latin1');
}
