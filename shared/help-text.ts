/** Layout of the help and the tables of both programs, and what a user may have meant to type. */

/** Columns up to the explanations. */
const INDENT = 28;
const WIDTH = 100;

/** A line of a table: a word, and its explanation on as many lines as it takes. */
export function helpRow(word: string, text: string): string {
  const margin = ' '.repeat(INDENT);
  const head = word.length < INDENT ? word.padEnd(INDENT) : `${word}\n${margin}`;
  return `${head}${wordWrap(text, WIDTH - INDENT).join(`\n${margin}`)}\n`;
}

/** A paragraph in lines. */
export function helpParagraph(paragraph: string): string {
  return `${wordWrap(paragraph, WIDTH).join('\n')}\n`;
}

/** The paragraphs of a text with an empty line between them, each on one line. */
export function paragraphsOf(text: string): string[] {
  return text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replaceAll(/\s+/g, ' ').trim())
    .filter((paragraph) => paragraph !== '');
}

function wordWrap(text: string, width: number): string[] {
  const lines = [''];
  for (const part of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + part.length > width) lines.push(part);
    else lines[lines.length - 1] = line === '' ? part : `${line} ${part}`;
  }
  return lines;
}

/**
 * @param slips the maximum distance; by default one or two, depending on the word's length
 * @returns the known word nearest to the given one, if one is close enough
 */
export function nearest(
  word: string,
  known: readonly string[],
  slips = word.length < 4 ? 1 : 2,
): string | undefined {
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let least = slips + 1;
  for (const candidate of known) {
    const away = distance(wanted, candidate.toLowerCase());
    if (away < least) [best, least] = [candidate, away];
  }
  return best;
}

/** The number of letters to insert, remove, replace or swap with a neighbour to turn one word into the other. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replace = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(replace, at(last, j) + 1, at(row, j - 1) + 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      row.push(cost);
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}

/** @returns the rows as lines, with columns as wide as their widest cell */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
