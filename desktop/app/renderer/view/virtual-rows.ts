/**
 * Draws only the rows of a list around the visible area. All rows have the height that the style sheet sets, and some a
 * second line.
 */
import type { RefObject } from 'preact';
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

interface VirtualRows {
  readonly window: RowWindow;
  /** no rows until their height is known */
  readonly layout: RowLayout | undefined;
  /** number of rows that fit into view */
  readonly perPage: () => number;
  /** number of the first completely visible row */
  readonly firstInView: () => number;
}

/**
 * Draws rows as they come into view. When rows are added or removed above, visible rows keep their position.
 *
 * @param list an element as high as all rows
 * @param ruler an element as high as one row, and as wide as a second line is high
 * @param ids ids of the rows, in order
 * @param placeOf returns the number of the row with an id
 * @param tall numbers of the rows with a second line, in order
 */
export function useVirtualRows(
  list: RefObject<HTMLElement | null>,
  ruler: RefObject<HTMLElement | null>,
  ids: readonly { readonly id: number }[],
  placeOf: ReadonlyMap<number, number>,
  tall: readonly number[] = NO_PLACES,
): VirtualRows {
  const { row, more } = useRuler(ruler);
  const layout = useMemo(
    () => (row === 0 ? undefined : new RowLayout(ids.length, row, more, tall)),
    [ids.length, row, more, tall],
  );
  const [shown, setShown] = useState(NO_ROWS);
  const look = useCallback(() => {
    if (list.current === null || layout === undefined) return;
    const { above, height } = viewOf(list.current);
    const next = layout.window(above, height);
    setShown((before) => (before.from === next.from && before.to === next.to ? before : next));
  }, [list, layout]);

  // Visible rows are now at another position.
  const previous = useRef({ ids, layout });
  useLayoutEffect(() => {
    const before = previous.current;
    previous.current = { ids, layout };
    if (list.current === null || layout === undefined || before.layout === undefined) return;
    const { above } = viewOf(list.current);
    if (above <= 0) return;
    for (let at = before.layout.placeAt(above); at < before.ids.length; at++) {
      const place = placeOf.get(before.ids[at]?.id ?? 0);
      if (place === undefined) continue;
      scrollerOf(list.current).scrollTop += layout.topOf(place) - before.layout.topOf(at);
      break;
    }
  }, [list, ids, placeOf, layout]);

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
    layout,
    perPage: () => Math.max(1, Math.floor(viewOf(list.current).height / (row || 1)) - 1),
    firstInView: () => layout?.firstFrom(viewOf(list.current).above) ?? 0,
  };
}

/**
 * The height and the width of an element in px. Separate from the rows, because a long-lived effect would keep the
 * first ones in memory.
 */
function useRuler(ruler: RefObject<HTMLElement | null>): { row: number; more: number } {
  const [size, setSize] = useState({ row: 0, more: 0 });
  useLayoutEffect(() => {
    if (ruler.current === null) return undefined;
    const element = ruler.current;
    const measure = (): void => {
      const { height: row, width: more } = element.getBoundingClientRect();
      setSize((before) => (before.row === row && before.more === more ? before : { row, more }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [ruler]);
  return size;
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

/** Rows from one up to, but not including, another. */
interface RowWindow {
  readonly from: number;
  readonly to: number;
}

export const NO_ROWS: RowWindow = { from: 0, to: 0 };
const NO_PLACES: readonly number[] = [];

/** Extra rows on either side, and the step of the window, so that scrolling does not change it for every row. */
const STEP = 10;

/** The positions of the rows of a list. */
export class RowLayout {
  readonly #count: number;
  readonly #row: number;
  readonly #more: number;
  readonly #tall: readonly number[];

  /**
   * @param row px of one row
   * @param more px of a second line
   * @param tall numbers of the rows that have one, in order
   */
  constructor(count: number, row: number, more = 0, tall: readonly number[] = NO_PLACES) {
    this.#count = count;
    this.#row = row;
    this.#more = more;
    this.#tall = tall;
  }

  /** px of all rows */
  get height(): number {
    return this.topOf(this.#count);
  }

  /** px of the list above a row */
  topOf(place: number): number {
    const tallAbove = firstOf(this.#tall.length, (index) => (this.#tall[index] ?? 0) >= place);
    return place * this.#row + tallAbove * this.#more;
  }

  /** The number of the row that is so many px from the start of the list; beyond the ends the first or the last one. */
  placeAt(px: number): number {
    return Math.max(0, firstOf(this.#count, (place) => this.topOf(place) > px) - 1);
  }

  /** The number of the first row that begins there or later; of none, the number of rows. */
  firstFrom(px: number): number {
    return firstOf(this.#count, (place) => this.topOf(place) >= px);
  }

  /**
   * The rows in view, and some around them.
   *
   * @param above px of the list above the visible area; negative if the list starts further down
   * @param height px of the visible area
   */
  window(above: number, height: number): RowWindow {
    if (above + height < 0 || above > this.height) return NO_ROWS;
    const from = Math.floor(this.placeAt(above) / STEP) * STEP - STEP;
    const to = Math.ceil(this.firstFrom(above + height) / STEP) * STEP + STEP;
    return { from: clamp(from, 0, this.#count), to: clamp(to, 0, this.#count) };
  }
}

/** The first number that passes, given that all later ones do as well; the count if none does. */
function firstOf(count: number, passes: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
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
