import type { JSX } from 'preact';
import { t } from '../../messages/translate.ts';
import { WINDOW_KEYS } from '../../messages/window-keys.ts';
import { Shortcut } from '../view/controls.tsx';
import { useModal } from '../view/focus.ts';

const TITLE = 'keys-title';

/** All keys of the window, over the window. */
export function KeysDialog({ close }: { close: () => void }): JSX.Element {
  const dialog = useModal();
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={TITLE}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' && event.key !== '?') return;
        event.preventDefault();
        close();
      }}
      onClick={({ target, currentTarget }) => target === currentTarget && close()}
    >
      <h2 id={TITLE}>{t('keys.title')}</h2>
      <dl class="keys">
        {WINDOW_KEYS.map(([keys, text]) => (
          <div key={keys}>
            <dt>
              <Shortcut keys={keys} />
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
      <div class="dialog-buttons dialog-buttons-stay">
        <button type="button" class="button" onClick={close}>
          {t('common.close')}
        </button>
      </div>
    </dialog>
  );
}
