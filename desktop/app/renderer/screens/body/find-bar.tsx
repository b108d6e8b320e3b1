import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { t } from '../../../messages/translate.ts';
import { findInJson, findInText, type Found, foundText, NOTHING_FOUND } from '../../model/body/find.ts';
import type { JsonDocument } from '../../model/body/json-document.ts';
import type { BodyKind } from '../../model/body/body-view.ts';
import { Icon } from '../../view/icons.tsx';

/** Searches a body: Enter moves to the next match, Shift+Enter to the previous one, Escape closes the bar. */
export function FindBar({ of, find, close }: { of: BodyKind; find: Find; close: () => void }): JSX.Element {
  const { query = '', setQuery, found, current, move } = find;
  const field = useRef<HTMLInputElement>(null);
  // A layout effect, so that text typed immediately after opening goes into the field.
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <div class="find" role="search">
      <input
        ref={field}
        type="search"
        aria-label={t(`body.findIn.${of}`)}
        placeholder={t('body.findInThis')}
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') move(event.shiftKey ? -1 : 1);
          else if (event.key === 'Escape') close();
          else return;
          event.preventDefault();
        }}
      />
      <span class="hint nowrap" role="status">
        {query !== '' && foundText(found, current)}
      </span>
      <button
        type="button"
        class="icon-button find-previous"
        aria-label={t('body.previous')}
        title={t('body.previousWithKey')}
        onClick={() => move(-1)}
      >
        <Icon name="next" />
      </button>
      <button
        type="button"
        class="icon-button find-next"
        aria-label={t('body.next')}
        title={t('body.nextWithKey')}
        onClick={() => move(1)}
      >
        <Icon name="next" />
      </button>
      <button
        type="button"
        class="icon-button"
        aria-label={t('body.closeFind')}
        title={t('body.closeWithKey')}
        onClick={close}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}

export interface Find {
  /** `undefined` while nothing is searched for */
  readonly query: string | undefined;
  readonly found: Found;
  /** index of the current match */
  readonly current: number;
  readonly setQuery: (query: string | undefined) => void;
  /** moves forward by that many matches, and wraps around */
  readonly move: (by: number) => void;
}

/** Searches the visible content of a body. */
export function useFind(shown: JsonDocument | string | undefined): Find {
  const [query, setQuery] = useState<string>();
  const [current, setCurrent] = useState(0);
  const found = useMemo(() => {
    if (query === undefined || shown === undefined) return NOTHING_FOUND;
    return typeof shown === 'string' ? findInText(shown, query) : findInJson(shown, query);
  }, [shown, query]);
  // A layout effect, so that Enter immediately afterwards continues from the first match.
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
