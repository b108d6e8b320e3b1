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
 * @param element with the text in it, and nothing else
 * @param starts where each begins, in order
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
    const ranges = rangesOf(element.current, starts, length);
    for (const range of ranges) found.add(range);
    return () => {
      for (const range of ranges) found.delete(range);
    };
  }, [element, starts, length, text]);
  useEffect(() => {
    const start = starts[at];
    const [range] = start === undefined ? [] : rangesOf(element.current, [start], length);
    if (range === undefined) return undefined;
    current.add(range);
    scrollTo(element.current, range);
    return () => void current.delete(range);
  }, [element, starts, length, at, text]);
}

/** A text of the page, and where it is in all that is shown. */
interface Piece {
  readonly node: Node;
  readonly from: number;
  readonly to: number;
}

function piecesOf(element: HTMLElement): readonly Piece[] {
  const pieces: Piece[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(), from = 0; node !== null; node = walker.nextNode()) {
    const to = from + (node.textContent ?? '').length;
    pieces.push({ node, from, to });
    from = to;
  }
  return pieces;
}

/**
 * The ranges of what was found, as far as it is shown; one may begin in one text and end in another. Static ones: of live ones each
 * would be looked at whenever a text goes.
 */
function rangesOf(
  element: HTMLElement | null,
  starts: readonly number[],
  length: number,
): readonly StaticRange[] {
  const pieces = element === null ? [] : piecesOf(element);
  let place = 0;
  return starts.flatMap((start) => {
    while ((pieces[place]?.to ?? Infinity) <= start) place += 1;
    const first = pieces[place];
    const last = pieces.slice(place).find(({ to }) => to >= start + length);
    if (first === undefined || last === undefined) return [];
    return [
      new StaticRange({
        startContainer: first.node,
        startOffset: start - first.from,
        endContainer: last.node,
        endOffset: start + length - last.from,
      }),
    ];
  });
}

/** Into view, first within the element, then the element itself. */
function scrollTo(element: HTMLElement | null, place: StaticRange): void {
  if (element === null) return;
  const range = new Range();
  range.setStart(place.startContainer, place.startOffset);
  range.setEnd(place.endContainer, place.endOffset);
  const { top, left, bottom, right } = range.getBoundingClientRect();
  const room = element.getBoundingClientRect();
  if (top < room.top || bottom > room.bottom)
    element.scrollTop += (top + bottom - room.top - room.bottom) / 2;
  if (left < room.left || right > room.right)
    element.scrollLeft += (left + right - room.left - room.right) / 2;
  element.scrollIntoView({ block: 'nearest' });
}
