import type { ComponentChildren, JSX } from 'preact';
import { useContext, useLayoutEffect, useRef } from 'preact/hooks';
import type { UndoView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { PaneContext, UndoContext, useAction, useShell } from './context.ts';
import { keysText } from './controls.tsx';
import { hasCommand, isTyping, useKeptFocus, useKey } from './keyboard.ts';
import { Button, Failure, IconButton } from './kit.tsx';

/** A screen with a heading, which gets the focus when the screen opens, and a back button. */
export function Screen({
  title,
  titleDir,
  heading = title,
  actions,
  footer,
  children,
}: {
  title: string;
  /** direction of a title that is code */
  titleDir?: 'ltr' | undefined;
  /** what the heading shows instead of its title */
  heading?: ComponentChildren;
  actions?: ComponentChildren;
  /** stays at the bottom while the content scrolls */
  footer?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const { back } = useShell();
  const h1 = useRef<HTMLHeadingElement>(null);
  const { isMain, takesFocus, hasBack, divider } = useContext(PaneContext);
  // A layout effect, because a later focus would interrupt a user who has already pressed a key.
  useLayoutEffect(() => {
    if (takesFocus) h1.current?.focus();
  }, [takesFocus]);
  // Roles instead of elements, because another element would be another screen: what it holds would be lost.
  return (
    <section class="screen" aria-label={isMain ? undefined : title}>
      <header class="bar" role={isMain ? 'banner' : undefined}>
        {hasBack && (
          <IconButton icon="back" name={t('common.back')} title={t('common.backWithKey')} act={back} />
        )}
        <h1
          ref={h1}
          class="cut"
          tabIndex={-1}
          dir={titleDir}
          aria-label={heading === title ? undefined : title}
        >
          {heading}
        </h1>
        <div class="bar-end">{actions}</div>
      </header>
      <div class="scroll" role={isMain ? 'main' : undefined}>
        {children}
      </div>
      <UndoDock />
      {footer !== undefined && (
        <footer class="screen-footer stack" role={isMain ? 'contentinfo' : undefined}>
          {footer}
        </footer>
      )}
      {divider}
    </section>
  );
}

/**
 * The last action with an undo button, over the end of a screen, so that nothing moves when it appears or disappears.
 */
export function UndoDock(): JSX.Element | null {
  const undos = useContext(UndoContext);
  const action = useAction();
  const list = useRef<HTMLUListElement>(null);
  useKeptFocus(list, () => document.getElementById('port') ?? document.querySelector('h1'));
  const undo = ({ id }: UndoView) => action.run('undo:take', { id }, t('undo.undone'));
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
        <ul ref={list} class="stack">
          {undos.map((view) => (
            <li key={view.id} class="undo">
              <span class="grow">{view.text}</span>
              <Button
                look="link"
                aria-label={t('undo.undoOf', { text: view.text })}
                title={view === latest ? t('undo.undoWithKey', { keys: keysText('Mod+Z') }) : undefined}
                act={() => undo(view)}
              >
                {t('undo.undo')}
              </Button>
            </li>
          ))}
        </ul>
      </div>
    </aside>
  );
}
