/** Lays JSON out for reading. */

const STEP = '  ';
/** Deeper levels begin there, too: the white space of a body of brackets grows with the square of its length. */
const STEPS_MAX = 32;
/** A text that is longer when it is laid out is not: more than this nobody reads. */
const LAID_OUT_MAX_CHARS = 4_000_000;
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/**
 * The same JSON with one value a line. Values are written as they were: numbers keep every digit, names that are there twice
 * stay.
 *
 * @returns `undefined` for what is no JSON object or array, or too long
 */
export function indentJson(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text) || !isJson(text)) return undefined;
  const tokens = text.match(TOKEN) ?? [];
  let depth = 0;
  let laidOut = '';
  for (const [index, token] of tokens.entries()) {
    if (laidOut.length > LAID_OUT_MAX_CHARS) return undefined;
    const next = tokens[index + 1];
    const isEmpty = next === ']' || next === '}';
    switch (token) {
      case '{':
      case '[':
        depth += 1;
        laidOut += isEmpty ? token : token + newLine(depth);
        break;
      case '}':
      case ']':
        depth -= 1;
        laidOut += tokens[index - 1] === '{' || tokens[index - 1] === '[' ? token : newLine(depth) + token;
        break;
      case ',':
        laidOut += token + newLine(depth);
        break;
      case ':':
        laidOut += ': ';
        break;
      default:
        laidOut += token;
    }
  }
  return laidOut;
}

function newLine(depth: number): string {
  return `\n${STEP.repeat(Math.min(depth, STEPS_MAX))}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
