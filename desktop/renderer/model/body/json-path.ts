/** Where a value stands in a JSON document (JSONPath, RFC 9535). */
import type { JsonDocument } from './json-document.ts';

/** A name that needs no quotes (RFC 9535 section 2.5.1.1). */
const SHORTHAND = /^[A-Za-z_\u{80}-\u{D7FF}\u{E000}-\u{10FFFF}][\w\u{80}-\u{D7FF}\u{E000}-\u{10FFFF}]*$/u;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["'", "\\'"],
  ['\\', '\\\\'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** `$.a[0]['b c']`. A name that an object has several times names all of them. */
export function jsonPath({ nodes }: JsonDocument, number: number): string {
  const steps: string[] = [];
  for (let node = nodes[number]; node !== undefined && node.parent >= 0; node = nodes[node.parent])
    steps.push(node.name === undefined ? `[${node.index}]` : member(JSON.parse(node.name) as string));
  return `$${steps.toReversed().join('')}`;
}

function member(name: string): string {
  if (SHORTHAND.test(name)) return `.${name}`;
  const quoted = name.replace(
    /['\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => ESCAPES.get(character) ?? escapeUnits(character),
  );
  return `['${quoted}']`;
}

/** `\u200b`, twice for a character that takes two code units. */
function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
