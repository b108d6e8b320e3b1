import type { JSX } from 'preact';
import { useContext, useMemo, useRef } from 'preact/hooks';
import type { Found } from '../../model/body/find.ts';
import { type TextBlock, textBlocks } from '../../model/body/text-blocks.ts';
import { WrapContext } from '../../view/context.ts';
import { useHighlights } from './use-highlights.ts';

/** Characters of a line that is wrapped, as a guess. */
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
  /** which of them is looked at */
  current: number;
  /** characters of each */
  length: number;
  /** whether its lines mean anything when they are wrapped */
  mayWrap: boolean;
}): JSX.Element {
  const wraps = useContext(WrapContext) && mayWrap;
  const pre = useRef<HTMLPreElement>(null);
  const blocks = useMemo(() => textBlocks(text).map(block), [text]);
  useHighlights(pre, found.at, length, current, text);
  return (
    // A region that scrolls must be reachable without a mouse.
    <pre
      ref={pre}
      class={`body mono ${wraps ? 'body-wraps' : ''}`}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      {blocks}
    </pre>
  );
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

/** The size of what has not come into view, for the style: as wide as its longest line, or wrapped. */
function guess(characters: number, columns: number, lines: number): Record<string, number> {
  const wrapped = Math.max(lines, Math.ceil(characters / WRAPPED_AFTER));
  return { '--columns': columns, '--lines': lines, '--wrapped': wrapped };
}
