/** Selects the drawn rows of a long list: the visible ones and some around them. All rows have the same height. */

/** Rows from one up to, but not including, another. */
export interface RowWindow {
  readonly from: number;
  readonly to: number;
}

export const NO_ROWS: RowWindow = { from: 0, to: 0 };

/** Extra rows on either side, and the step of the window, so that scrolling does not change it for every row. */
const STEP = 10;

/**
 * @param above px of the list above the visible area; negative if the list starts further down
 * @param height px of the visible area
 * @param row px of one row
 * @param count rows of the list
 */
export function rowWindow(above: number, height: number, row: number, count: number): RowWindow {
  const first = Math.floor(above / row / STEP) * STEP - STEP;
  const last = Math.ceil((above + height) / row / STEP) * STEP + STEP;
  const from = clamp(first, 0, count);
  return { from, to: clamp(last, from, count) };
}

/** The numbers of the rows in a window, in order, and of one that is always drawn. */
export function drawnRows({ from, to }: RowWindow, always: number | undefined): readonly number[] {
  const rows = Array.from({ length: to - from }, (_, n) => from + n);
  if (always === undefined || (always >= from && always < to)) return rows;
  return always < from ? [always, ...rows] : [...rows, always];
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}
