/**
 * A value without the white space of HTTP around it (RFC 9110 section 5.6.3). JavaScript would also trim 0xa0, a byte of many
 * characters in UTF-8. Looks at each character once, however many blanks there are.
 */
export function trimBlanks(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value.charAt(start))) start += 1;
  while (end > start && isBlank(value.charAt(end - 1))) end -= 1;
  return value.slice(start, end);
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\t';
}
