import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { JsonRow } from '../../model/body/json-rows.ts';

/** px of a row that is not wrapped: until a part is drawn, its height is a guess. */
const ROW_PX = 24;

/** Rows of a tree that are in the page only while they are near to what is in view. */
export function JsonPart({
  rows,
  isNeeded,
  draw,
}: {
  rows: readonly JsonRow[];
  /** whether they are in the page in any case */
  isNeeded: boolean;
  draw: (row: JsonRow) => JSX.Element;
}): JSX.Element {
  const part = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(false);
  useLayoutEffect(() => {
    const element = part.current;
    const onChange = (event: Event): void =>
      setNear(!(event as ContentVisibilityAutoStateChangeEvent).skipped);
    element?.addEventListener('contentvisibilityautostatechange', onChange);
    return () => element?.removeEventListener('contentvisibilityautostatechange', onChange);
  }, []);
  const height = `${rows.length * ROW_PX}px`;
  return (
    <div ref={part} class="tree-part" role="none" style={{ containIntrinsicHeight: `auto ${height}` }}>
      {isNear || isNeeded ? rows.map(draw) : <div style={{ height }} />}
    </div>
  );
}
