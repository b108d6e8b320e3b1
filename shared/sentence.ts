/**
 * What somebody else has written, to be followed by a full stop and more: without the marks that it ends with.
 *
 * @returns `is it paid` for `is it paid ??`
 */
export function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && /[\s.?!…]/.test(text[end - 1] as string)) end -= 1;
  return text.slice(0, end);
}
