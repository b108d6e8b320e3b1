import type { ComponentChildren, JSX } from 'preact';
import { useContext, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../../i18n/translate.ts';
import { PaneContext, useShell } from './context.ts';
import { Icon } from './icons.tsx';
import { UndoDock } from './undo-dock.tsx';

/** A screen with a heading that takes the focus when the screen opens, and a way back. */
export function Screen({
  title,
  titleDir,
  actions,
  children,
}: {
  title: string;
  /** of one that is code, not words of ours */
  titleDir?: 'ltr' | undefined;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const { back } = useShell();
  const heading = useRef<HTMLHeadingElement>(null);
  const { isMain, takesFocus } = useContext(PaneContext);
  const Root = isMain ? 'div' : 'section';
  const Content = isMain ? 'main' : 'div';
  // Before it shows: later, the focus would be taken from whoever has gone on by a key.
  useLayoutEffect(() => {
    if (takesFocus) heading.current?.focus();
    // Only when it opens.
  }, []);
  return (
    <Root class="screen" aria-label={isMain ? undefined : title}>
      <header class="bar">
        <button
          type="button"
          class="icon-button"
          aria-label={t('common.back')}
          title={t('common.backWithKey')}
          onClick={back}
        >
          <Icon name="back" />
        </button>
        <h1 ref={heading} tabIndex={-1} dir={titleDir}>
          {title}
        </h1>
        <div class="bar-end">{actions}</div>
      </header>
      <Content class="scroll">{children}</Content>
      <UndoDock />
    </Root>
  );
}
