import type { JSX } from 'preact';
import { t } from '../../messages/translate.ts';
import { KEY_GROUPS, WINDOW_KEYS } from '../../messages/window-keys.ts';
import { canDo } from '../model/actions.ts';
import { useShell } from '../view/context.ts';
import { keyCaps } from '../view/controls.tsx';
import { Dialog } from '../view/kit.tsx';

/** The keys that work in this window, over the window. */
export function KeysDialog({ close }: { close: () => void }): JSX.Element {
  const { bridge, isOfCommand } = useShell();
  const here = WINDOW_KEYS.filter((row) =>
    canDo(row, { isBrowser: bridge.browser !== undefined, isOfCommand }),
  );
  return (
    <Dialog title={t('keys.title')} close={close} isResult isWide>
      <div class="keys">
        {KEY_GROUPS.map((group) => (
          <section key={group} aria-label={t(`keys.group.${group}`)}>
            <h3 class="hint strong">{t(`keys.group.${group}`)}</h3>
            <dl>
              {here
                .filter((row) => row.group === group)
                .map(({ keys, text }) => (
                  <div key={keys}>
                    <dt>{t(text)}</dt>
                    <dd>{keyCaps(keys)}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
