import type { JSX } from 'preact';
import { useContext, useRef } from 'preact/hooks';
import { t } from '../../i18n/translate.ts';
import type { UndoView } from '../../shared/snapshot.ts';
import { UndoContext, useShell } from './context.ts';
import { useKeptFocus } from './focus.ts';
import { hasCommand, isTyping, useKey } from './keys.ts';
import { Failure } from './parts.tsx';
import { useAction } from './use-action.ts';
import { keysText } from './shortcut.tsx';

/** What was just done, with a way to take it back: over the end of a screen, so that nothing moves when it comes or goes. */
export function UndoDock(): JSX.Element | null {
  const undos = useContext(UndoContext);
  const { say } = useShell();
  const action = useAction();
  const list = useRef<HTMLUListElement>(null);
  useKeptFocus(list, () => document.getElementById('port') ?? document.querySelector('h1'));
  const undo = async ({ id }: UndoView): Promise<void> => {
    const answer = await action.run('undo:take', { id });
    if (answer.ok) say(t('undo.undone'));
  };
  const latest = undos.at(-1);
  useKey(
    (event) => latest !== undefined && hasCommand(event) && event.key === 'z' && !isTyping(event),
    () => void (latest !== undefined && undo(latest)),
  );
  if (undos.length === 0 && action.error === undefined) return null;
  return (
    <aside class="undo-dock" aria-label={t('undo.justNow')}>
      <div class="undo-stack">
        <Failure problem={action.error} />
        <ul ref={list}>
          {undos.map((view) => (
            <li key={view.id} class="undo">
              <span>{view.text}</span>
              <button
                type="button"
                class="link"
                aria-label={t('undo.undoOf', { text: view.text })}
                title={view === latest ? t('undo.undoWithKey', { keys: keysText('Mod+Z') }) : undefined}
                onClick={() => void undo(view)}
              >
                {t('undo.undo')}
              </button>
            </li>
          ))}
        </ul>
      </div>
    </aside>
  );
}
