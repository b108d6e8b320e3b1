import { useEffect, useRef, useState } from 'preact/hooks';
import { useShell } from '../../view/context.ts';

/** How long typing pauses before main searches headers and bodies. */
const PAUSE_MS = 250;
/** How often a search is continued while the log changes. */
const CONTINUE_MS = 1000;

/** Requests that contain the words of a search anywhere, as far as it is known. */
export interface ContentFound {
  readonly ids: ReadonlySet<number>;
  /** whether some compressed bodies were left out */
  readonly isPartial: boolean;
}

const NOTHING: ContentFound = { ids: new Set(), isPartial: false };

/**
 * Has main search headers and bodies, after a pause in typing and again when the log has changed. The result of other
 * words is dropped.
 *
 * @param change anything that is another object once the log has changed
 */
export function useContentSearch(key: string, search: string, change: unknown): ContentFound {
  const { bridge } = useShell();
  const [found, setFound] = useState({ key, search, result: NOTHING });
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => {
    if (search.trim() === '') return undefined;
    let isOver = false;
    let timer = 0;
    let searched: unknown;
    const look = async (): Promise<void> => {
      if (searched !== latest.current) {
        searched = latest.current;
        const answer = await bridge.call('log:search', { key, search });
        if (isOver) return;
        if (answer.ok) {
          const { ids, isPartial } = answer.value;
          setFound({ key, search, result: { ids: new Set(ids), isPartial } });
        }
      }
      later(CONTINUE_MS);
    };
    const later = (ms: number): void => {
      // Without an answer, paths, methods and states are found all the same.
      timer = window.setTimeout(() => void look().catch(() => {}), ms);
    };
    later(PAUSE_MS);
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [bridge, key, search]);
  return found.key === key && found.search === search && search.trim() !== '' ? found.result : NOTHING;
}
