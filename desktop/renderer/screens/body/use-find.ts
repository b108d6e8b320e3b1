import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { findInJson, findInText, type Found, NOTHING_FOUND } from '../../model/body/find.ts';
import type { JsonDocument } from '../../model/body/json-document.ts';

export interface Find {
  /** `undefined` while nothing is looked for */
  readonly query: string | undefined;
  readonly found: Found;
  /** which of what was found is looked at */
  readonly current: number;
  readonly setQuery: (query: string | undefined) => void;
  /** by how many, forward; round the end */
  readonly move: (by: number) => void;
}

/** Looks for a text in what is shown of a body. */
export function useFind(shown: JsonDocument | string | undefined): Find {
  const [query, setQuery] = useState<string>();
  const [current, setCurrent] = useState(0);
  const found = useMemo(() => {
    if (query === undefined || shown === undefined) return NOTHING_FOUND;
    return typeof shown === 'string' ? findInText(shown, query) : findInJson(shown, query);
  }, [shown, query]);
  // Before it shows: whoever presses Enter right after that goes on from the first.
  useLayoutEffect(() => setCurrent(0), [found]);
  const count = found.at.length;
  return {
    query,
    found,
    current: Math.min(current, Math.max(0, count - 1)),
    setQuery,
    move(by) {
      if (count > 0) setCurrent((before) => (before + by + count) % count);
    },
  };
}
