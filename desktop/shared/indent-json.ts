/** Lays JSON out for reading. */

/** How a line of each level begins. Deeper ones do as the last: the white space of a body of brackets grows with the square of its length. */
const LINES = Array.from({ length: 33 }, (_, level) => `\n${'  '.repeat(level)}`);
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
  return /^\s*[[{]/.test(text) && isJson(text) ? laidOutJson(text) : undefined;
}

/**
 * The same of a text that is known to be JSON.
 *
 * @returns `undefined` for what is too long
 */
export function laidOutJson(text: string): string | undefined {
  let depth = 0;
  let laidOut = '';
  /** nothing stands behind its opening bracket so far */
  let isEmpty = false;
  const newLine = (): string => LINES[Math.min(depth, LINES.length - 1)] ?? '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (laidOut.length > LAID_OUT_MAX_CHARS) return undefined;
    if (token === '}' || token === ']') {
      depth -= 1;
      laidOut += isEmpty ? token : newLine() + token;
      isEmpty = false;
      continue;
    }
    if (isEmpty) laidOut += newLine();
    isEmpty = token === '{' || token === '[';
    if (isEmpty) depth += 1;
    laidOut += token === ':' ? ': ' : token;
    if (token === ',') laidOut += newLine();
  }
  return laidOut;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
