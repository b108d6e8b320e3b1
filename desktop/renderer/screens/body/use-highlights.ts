import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** Those of all bodies on the screen; style/body.css says how they look. */
const found = new Highlight();
const current = new Highlight();
current.priority = 1;
CSS.highlights.set('found', found);
CSS.highlights.set('found-current', current);

/**
 * Marks what was found in a text without a change of its elements (CSS Custom Highlight API), and scrolls to what is looked at.
 *
 * @param element with the text as its only child
 * @param starts where each begins
 * @param length of each
 * @param at which of them is looked at
 * @param text as shown
 */
export function useHighlights(
  element: RefObject<HTMLElement | null>,
  starts: readonly number[],
  length: number,
  at: number,
  text: string,
): void {
  useEffect(() => {
    const node = element.current?.firstChild;
    if (!(node instanceof Text)) return undefined;
    const ranges = starts
      .filter((start) => start + length <= node.length)
      .map((start) => rangeOf(node, start, start + length));
    for (const range of ranges) found.add(range);
    return () => {
      for (const range of ranges) found.delete(range);
    };
  }, [element, starts, length, text]);
  useEffect(() => {
    const node = element.current?.firstChild;
    const start = starts[at];
    if (!(node instanceof Text) || start === undefined || start + length > node.length) return undefined;
    const range = rangeOf(node, start, start + length);
    current.add(range);
    scrollTo(element.current, range);
    return () => void current.delete(range);
  }, [element, starts, length, at, text]);
}

function rangeOf(node: Text, start: number, end: number): Range {
  const range = new Range();
  range.setStart(node, start);
  range.setEnd(node, end);
  return range;
}

/** Into view, first within the element, then the element itself. */
function scrollTo(element: HTMLElement | null, range: Range): void {
  if (element === null) return;
  const { top, left, bottom, right } = range.getBoundingClientRect();
  const room = element.getBoundingClientRect();
  if (top < room.top || bottom > room.bottom)
    element.scrollTop += (top + bottom - room.top - room.bottom) / 2;
  if (left < room.left || right > room.right)
    element.scrollLeft += (left + right - room.left - room.right) / 2;
  element.scrollIntoView({ block: 'nearest' });
}
