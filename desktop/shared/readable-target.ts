/** Addresses and fields as people read them. What is recorded has one character for each byte. */

/** A text of bytes as the UTF-8 that it is; unchanged if it is not. */
export function utf8Text(text: string): string {
  if (!/[\u{80}-\u{ff}]/u.test(text) || /[^\0-\u{ff}]/u.test(text)) return text;
  try {
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return text;
  }
}

/** The target of a request with its percent codes read, but for those that would then divide it: `/caf%C3%A9%2F1` is `/café%2F1`. */
export function readableTarget(target: string): string {
  const text = utf8Text(target);
  return text.replace(/(?:%[\da-f]{2})+/gi, (codes) => {
    try {
      // A percent sign of its own would look like the beginning of another code.
      return decodeURI(codes.replaceAll('%25', '%2525'));
    } catch {
      return codes;
    }
  });
}
