/**
 * What somebody else has written, to be followed by a full stop and more: without the marks that it ends with.
 *
 * @returns `is it paid` for `is it paid ??`
 */
export function withoutEnd(text: string): string {
  return text.replace(/[\s.?!…]+$/u, '');
}
