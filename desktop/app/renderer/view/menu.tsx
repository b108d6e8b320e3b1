import type { JSX } from 'preact';
import { t } from '../../messages/translate.ts';
import { rowAfter, useModal } from './keyboard.ts';
import { Button } from './kit.tsx';

/** A position in the window, in px from its inline start and its top. */
export interface Spot {
  readonly across: number;
  readonly down: number;
}

interface MenuItem {
  readonly label: string;
  /** in a line of its own, in a lighter colour */
  readonly detail?: string;
  readonly act: () => unknown;
}

/** Where a context menu opens: at the mouse, or below the focused element. */
export function spotOf(event: MouseEvent, element: Element): Spot {
  const { left, right, bottom, width } = element.getBoundingClientRect();
  // A key has no position, and the synthetic one may be outside.
  const isAtMouse = event.button === 2 && event.clientX >= left && event.clientX <= right;
  const x = isAtMouse ? event.clientX : left + Math.min(width / 2, 48);
  return { across: x, down: isAtMouse ? event.clientY : bottom };
}

/** Where the menu of a button opens: below it, as far as there is room. */
export function spotBelow(button: Element): Spot {
  const { left, bottom } = button.getBoundingClientRect();
  return { across: left, down: bottom + 4 };
}

/** The button of a menu with what is rarely needed. */
export function MoreButton({
  id,
  look = 'icon-button',
  label,
  open,
}: {
  id: string;
  look?: string;
  label: string;
  open: (spot: Spot) => void;
}): JSX.Element {
  return (
    <Button
      id={id}
      look={look}
      aria-haspopup="menu"
      aria-label={label}
      title={label}
      act={({ currentTarget }) => open(spotBelow(currentTarget))}
    >
      <span aria-hidden="true">⋯</span>
    </Button>
  );
}

/** A menu over the window (WAI-ARIA Authoring Practices, menu). Closed by a choice, Escape, or a click outside. */
export function Menu({
  label,
  spot: { across, down },
  items,
  close,
}: {
  label: string;
  spot: Spot;
  items: readonly (MenuItem | false)[];
  close: () => void;
}): JSX.Element {
  const dialog = useModal();
  const shown = items.filter((item) => item !== false);
  const onKeyDown = (event: KeyboardEvent): void => {
    const buttons = [...(dialog.current?.querySelectorAll('button') ?? [])];
    const at = buttons.findIndex((button) => button === document.activeElement);
    const to = rowAfter(event.key, at, buttons.length);
    // Keys must not act on the window behind it.
    event.stopPropagation();
    if (event.key === 'Escape' || event.key === 'Tab') close();
    else if (to === undefined) return;
    else buttons.at(to % buttons.length)?.focus();
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="menu"
      aria-label={t('common.menu')}
      style={{ '--across': `${across}px`, '--down': `${down}px`, '--items': shown.length }}
      onKeyDown={onKeyDown}
      onClick={({ target, currentTarget }) => target === currentTarget && close()}
      onContextMenu={(event) => event.preventDefault()}
    >
      <div role="menu" aria-label={label}>
        {shown.map(({ label: words, detail = '', act }) => (
          <Button
            key={words + detail}
            look=""
            role="menuitem"
            act={() => {
              close();
              void act();
            }}
          >
            {words}
            {detail !== '' && <span class="hint"> {detail}</span>}
          </Button>
        ))}
      </div>
    </dialog>
  );
}
