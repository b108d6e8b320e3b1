import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { MessageKind } from '../../model/request-detail.ts';
import { t } from '../../../i18n/translate.ts';
import { foundText } from '../../model/body/find.ts';
import { Icon } from '../../view/icons.tsx';
import type { Find } from './use-find.ts';

/** Looks for a text within a body: Enter goes to the next, Shift and Enter to the one before, Escape ends it. */
export function FindBar({
  of,
  find,
  close,
}: {
  of: MessageKind;
  find: Find;
  close: () => void;
}): JSX.Element {
  const { query = '', setQuery, found, current, move } = find;
  const field = useRef<HTMLInputElement>(null);
  // Before it shows: what is typed right after it was opened is for it.
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
