/** Suggests what a user may have meant to type. */

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
