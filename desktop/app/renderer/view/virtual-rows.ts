/** Draws only the rows of a list around the visible area. All rows have the same height, set by the style sheet. */
import type { RefObject } from 'preact';
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface VirtualRows {
  readonly window: RowWindow;
  /** px of one row; 0 until it is known */
  readonly rowHeight: number;
  /** number of rows that fit into view */
  readonly perPage: () => number;
  /** number of the first completely visible row */
  readonly firstInView: () => number;
}

/**
 * Draws rows as they come into view. When rows are added or removed above, visible rows keep their position.
 *
 * @param list an element as high as all rows
 * @param ruler an element as high as one row
 * @param ids ids of the rows, in order
 * @param placeOf returns the number of the row with an id
 */
export function useVirtualRows(
  list: RefObject<HTMLElement | null>,
  ruler: RefObject<HTMLElement | null>,
  ids: readonly { readonly id: number }[],
  placeOf: ReadonlyMap<number, number>,
): VirtualRows {
  const rowHeight = useHeight(ruler);
  const [shown, setShown] = useState(NO_ROWS);
  const look = useCallback(() => {
    if (list.current === null || rowHeight === 0) return;
    const { above, height } = viewOf(list.current);
    const next = rowWindow(above, height, rowHeight, ids.length);
    setShown((before) => (before.from === next.from && before.to === next.to ? before : next));
  }, [list, rowHeight, ids]);

  // Visible rows are now at another position.
  const previous = useRef(ids);
  useLayoutEffect(() => {
    const before = previous.current;
    previous.current = ids;
    if (list.current === null || rowHeight === 0 || before === ids) return;
    const first = Math.floor(viewOf(list.current).above / rowHeight);
    if (first < 0 || viewOf(list.current).above <= 0) return;
    for (let at = first; at < before.length; at++) {
      const place = placeOf.get(before[at]?.id ?? 0);
      if (place === undefined) continue;
      scrollerOf(list.current).scrollTop += (place - at) * rowHeight;
      break;
    }
  }, [list, ids, placeOf, rowHeight]);

  useLayoutEffect(look, [look]);
  useLayoutEffect(() => {
    // The scrolling element is the list's own pane, or in a low window the whole page.
    window.addEventListener('scroll', look, { capture: true, passive: true });
    window.addEventListener('resize', look);
    return () => {
      window.removeEventListener('scroll', look, { capture: true });
      window.removeEventListener('resize', look);
    };
  }, [look]);

  return {
    window: shown,
    rowHeight,
    perPage: () => Math.max(1, Math.floor(viewOf(list.current).height / (rowHeight || 1)) - 1),
    firstInView: () => Math.max(0, Math.ceil(viewOf(list.current).above / (rowHeight || 1))),
  };
}

/**
 * The height of an element in px. Separate from the rows, because a long-lived effect would keep the first ones in
 * memory.
 */
function useHeight(ruler: RefObject<HTMLElement | null>): number {
  const [height, setHeight] = useState(0);
  useLayoutEffect(() => {
    if (ruler.current === null) return undefined;
    const element = ruler.current;
    const measure = (): void => setHeight(element.getBoundingClientRect().height);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [ruler]);
  return height;
}

/** px of the list above the visible area, and px of the visible area. */
function viewOf(list: HTMLElement | null): { above: number; height: number } {
  if (list === null) return { above: 0, height: 0 };
  const box = scrollerOf(list).getBoundingClientRect();
  const top = Math.max(0, box.top);
  const bottom = Math.min(window.innerHeight, box.bottom);
  return { above: top - list.getBoundingClientRect().top, height: Math.max(0, bottom - top) };
}

/** The element that scrolls a list: in a low window the whole page. */
export function scrollerOf(list: HTMLElement): Element {
  const pane = list.closest('.scroll');
  const page = document.scrollingElement ?? document.documentElement;
  return pane !== null && pane.scrollHeight > pane.clientHeight ? pane : page;
}

/** Selects the drawn rows of a long list: the visible ones and some around them. All rows have the same height. */

/** Rows from one up to, but not including, another. */
interface RowWindow {
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
