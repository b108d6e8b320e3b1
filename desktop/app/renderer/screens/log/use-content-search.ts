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
  // Counted, because a search that kept an earlier log to compare it would keep its requests in memory.
  const changes = useRef({ latest: change, count: 0 });
  if (changes.current.latest !== change)
    changes.current = { latest: change, count: changes.current.count + 1 };
  useEffect(() => {
    if (search.trim() === '') return undefined;
    let isOver = false;
    let timer = 0;
    let searched = -1;
    const look = async (): Promise<void> => {
      if (searched !== changes.current.count) {
        searched = changes.current.count;
        const answer = await bridge.call('log:search', { key, search });
        if (isOver) return;
        if (answer.ok) {
          const { ids, isPartial } = answer.value;
          setFound({ key, search, result: { ids: new Set(ids), isPartial } });
        }
      }
    };
    const later = (ms: number): void => {
      timer = window.setTimeout(() => {
        // Without an answer, paths, methods and states are found all the same.
        void look()
          .catch(() => {})
          .finally(() => {
            if (!isOver) later(CONTINUE_MS);
          });
      }, ms);
    };
    later(PAUSE_MS);
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [bridge, key, search]);
  return found.key === key && found.search === search && search.trim() !== '' ? found.result : NOTHING;
}
