/** Two texts, line by line: what stayed, went and came. */

export type DiffLine =
  { readonly kind: 'same'; readonly text: string } | { readonly kind: 'gone' | 'new'; readonly text: string };

/** Cells of the table that is computed, so that it takes some 10 ms at most; beyond that, what differs is not matched. */
const CELLS_MAX = 1_000_000;

/** The fewest lines that went and came (a longest common subsequence), those that went first. */
export function lineDiff(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const middle = between(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...before.slice(0, start).map(same), ...middle, ...before.slice(before.length - end).map(same)];
}

function between(before: readonly string[], after: readonly string[]): DiffLine[] {
  const gone = before.map((text): DiffLine => ({ kind: 'gone', text }));
  const added = after.map((text): DiffLine => ({ kind: 'new', text }));
  if (before.length * after.length > CELLS_MAX) return [...gone, ...added];
  const width = after.length + 1;
  // How many lines are common from there to the ends.
  const common = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row--)
    for (let column = after.length - 1; column >= 0; column--)
      common[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < before.length && column < after.length) {
    const text = before[row] ?? '';
    if (text === after[column]) {
      lines.push(same(text));
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      lines.push({ kind: 'gone', text });
      row += 1;
    } else {
      lines.push({ kind: 'new', text: after[column] ?? '' });
      column += 1;
    }
  }
  return [...lines, ...gone.slice(row), ...added.slice(column)];
}

function same(text: string): DiffLine {
  return { kind: 'same', text };
}
