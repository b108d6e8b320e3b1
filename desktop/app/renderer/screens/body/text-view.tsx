import type { JSX, RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type Found, type TextBlock, textBlocks } from '../../model/body/find.ts';
import { useWindow } from '../../view/context.ts';

/** Estimated characters of a wrapped line. */
const WRAPPED_AFTER = 80;

/** A body as text. */
export function TextView({
  label,
  text,
  found,
  current,
  length,
  mayWrap,
}: {
  label: string;
  text: string;
  found: Found;
  /** index of the current match */
  current: number;
  /** length of each match in characters */
  length: number;
  /** whether its lines may be wrapped without loss of meaning */
  mayWrap: boolean;
}): JSX.Element {
  const wraps = useWindow().snapshot.settings.wrapsBodies && mayWrap;
  const pre = useRef<HTMLPreElement>(null);
  const blocks = useMemo(() => textBlocks(text).map(block), [text]);
  useHighlights(pre, found.at, length, current, text);
  return (
    // A scrollable region must be reachable with the keyboard.
    <pre
      ref={pre}
      class={`body mono ${wraps ? 'body-wraps' : ''}`}
      tabIndex={0}
      role="region"
      aria-label={label}
      onCopy={copySelected}
    >
      {blocks}
    </pre>
  );
}

/** Copies also what is out of view and therefore not laid out, which Firefox leaves out. */
function copySelected(event: ClipboardEvent & { readonly currentTarget: Element }): void {
  const selected = document.getSelection();
  if (selected?.rangeCount !== 1 || event.clipboardData === null) return;
  const range = selected.getRangeAt(0);
  if (!event.currentTarget.contains(range.commonAncestorContainer)) return;
  event.clipboardData.setData('text/plain', range.toString());
  event.preventDefault();
}

function block({ pieces, lines, columns }: TextBlock, index: number): JSX.Element {
  const [first = ''] = pieces;
  if (pieces.length === 1)
    return (
      <span key={index} class="text-block" style={guess(first.length, columns, lines)}>
        {first}
      </span>
    );
  return (
    <span key={index} class="text-line">
      {pieces.map((piece, place) => (
        <span key={place} class="text-piece" style={guess(piece.length, piece.length, 1)}>
          {piece}
        </span>
      ))}
    </span>
  );
}

/** The estimated size of invisible content, for the style: as wide as its longest line, or wrapped. */
function guess(characters: number, columns: number, lines: number): Record<string, number> {
  const wrapped = Math.max(lines, Math.ceil(characters / WRAPPED_AFTER));
  return { '--columns': columns, '--lines': lines, '--wrapped': wrapped };
}

/** The matches in all bodies on the screen; styled in style/body.css. */
const useHighlightsFound = new Highlight();
const useHighlightsCurrent = new Highlight();
useHighlightsCurrent.priority = 1;
CSS.highlights.set('found', useHighlightsFound);
CSS.highlights.set('found-current', useHighlightsCurrent);

/**
 * Marks matches in a text without changing its elements (CSS Custom Highlight API), and scrolls to the current one.
 *
 * @param element contains the text and nothing else
 * @param starts start of each match, in order
 * @param length length of each match
 * @param at index of the current match
 * @param text as shown
 */
function useHighlights(
  element: RefObject<HTMLElement | null>,
  starts: readonly number[],
  length: number,
  at: number,
  text: string,
): void {
  useEffect(() => {
    const ranges = rangesOf(element.current, starts, length);
    for (const range of ranges) useHighlightsFound.add(range);
    return () => {
      for (const range of ranges) useHighlightsFound.delete(range);
    };
  }, [element, starts, length, text]);
  useEffect(() => {
    const start = starts[at];
    const [range] = start === undefined ? [] : rangesOf(element.current, [start], length);
    if (range === undefined) return undefined;
    useHighlightsCurrent.add(range);
    scrollTo(element.current, range);
    return () => void useHighlightsCurrent.delete(range);
  }, [element, starts, length, at, text]);
}

/** A text node of the page, and its position in the whole text. */
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
 * The ranges of the matches that are shown; a match may span several text nodes. Static ranges, because each live range
 * would be updated whenever a text node is removed.
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

/** Scrolls within the element, and then the element itself into view. */
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
