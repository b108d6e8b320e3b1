/** The characters of HTTP/1.1 heads, as bytes. */

export const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const COLON = 0x3a;

const TOKEN = 1;
const VALUE = 2;
const TARGET = 4;

const classes = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  // Bytes from 0x80 up are allowed in targets and values: the standard does not allow them, but all parsers agree on
  // them.
  const isVisible = byte > SPACE && byte !== 0x7f;
  const isToken = /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte));
  // A target has no fragment.
  const isTarget = isVisible && byte !== 0x23;
  const isValue = isVisible || byte === SPACE || byte === TAB;
  classes[byte] = (isToken ? TOKEN : 0) | (isValue ? VALUE : 0) | (isTarget ? TARGET : 0);
}

/** One past the last byte of a token that begins at `start` (RFC 9110 section 5.6.2); `start` without a token. */
export function tokenEnd(bytes: Buffer, start: number): number {
  return endOf(TOKEN, bytes, start);
}

/** One past the last byte that a field value or a reason phrase may contain (RFC 9110 section 5.5). */
export function valueEnd(bytes: Buffer, start: number): number {
  return endOf(VALUE, bytes, start);
}

/** One past the last byte of a request target. */
export function targetEnd(bytes: Buffer, start: number): number {
  return endOf(TARGET, bytes, start);
}

function endOf(wanted: number, bytes: Buffer, start: number): number {
  const { length } = bytes;
  let position = start;
  while (position < length && ((classes[bytes[position] ?? 0] ?? 0) & wanted) !== 0) position += 1;
  return position;
}

/** Whether CR and LF are at the position. */
export function isLineEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF;
}

/** Whether the bytes at a position equal a text, ignoring case; the text must be in lower case. */
export function equalsIgnoringCase(bytes: Buffer, start: number, end: number, lower: string): boolean {
  if (end - start !== lower.length) return false;
  for (let index = 0; index < lower.length; index++) {
    const byte = bytes[start + index] ?? 0;
    const isUpper = byte >= 0x41 && byte <= 0x5a;
    if ((isUpper ? byte + 0x20 : byte) !== lower.charCodeAt(index)) return false;
  }
  return true;
}
