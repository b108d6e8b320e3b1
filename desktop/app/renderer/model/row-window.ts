/** Which rows of a long list are drawn: those in view, and some around them. All rows are of one height. */

/** Rows from one up to, but not including, another. */
export interface RowWindow {
  readonly from: number;
  readonly to: number;
}

export const NO_ROWS: RowWindow = { from: 0, to: 0 };

/** Drawn beyond what is in view on either side, and in steps of this: while somebody scrolls, not every row is news. */
const STEP = 10;

/**
 * @param above px of the list that are above what is in view; negative if the list begins further down
 * @param height px that are in view
 * @param row px of one row
 * @param count rows of the list
 */
export function rowWindow(above: number, height: number, row: number, count: number): RowWindow {
  const first = Math.floor(above / row / STEP) * STEP - STEP;
  const last = Math.ceil((above + height) / row / STEP) * STEP + STEP;
  const from = clamp(first, 0, count);
  return { from, to: clamp(last, from, count) };
}

/** The numbers of the rows in a window, in order, and of one that is drawn wherever it is. */
export function drawnRows({ from, to }: RowWindow, always: number | undefined): readonly number[] {
  const rows = Array.from({ length: to - from }, (_, n) => from + n);
  if (always === undefined || (always >= from && always < to)) return rows;
  return always < from ? [always, ...rows] : [...rows, always];
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}
