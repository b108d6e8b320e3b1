/** Where the focus is, and keys that work wherever it is. */
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Trail } from '../model/route.ts';

/** How long to wait for pending content of a screen, such as its list, before the focus stays elsewhere. */
const PATIENCE_MS = 10_000;

/** Restores the focus when the user returns to a screen. */
export function useReturnedFocus(trail: Trail): void {
  const id = trail.at(-1)?.focus;
  useLayoutEffect(() => {
    if (id === undefined || id === '' || focusOn(id)) return undefined;
    const observer = new MutationObserver(() => {
      if (focusOn(id)) stop();
    });
    const stop = (): void => {
      observer.disconnect();
      window.clearTimeout(timer);
      window.removeEventListener('keydown', stop);
      window.removeEventListener('pointerdown', stop);
    };
    const timer = window.setTimeout(stop, PATIENCE_MS);
    // A user who has moved on in the meantime keeps the focus.
    window.addEventListener('keydown', stop);
    window.addEventListener('pointerdown', stop);
    observer.observe(document.body, { childList: true, subtree: true });
    return stop;
  }, [trail, id]);
}

/**
 * Keeps the focus in a part of the window when a redraw removes the focused element. Otherwise the keyboard would start
 * at the top again.
 *
 * @param near returns the element to focus, given the position of the removed one among the children of the part
 */
export function useKeptFocus(
  part: RefObject<HTMLElement | null>,
  near: (place: number) => Element | null | undefined,
): void {
  // Read before the redraw, which loses the position.
  const place = [...(part.current?.children ?? [])].findIndex((child) =>
    child.contains(document.activeElement),
  );
  useLayoutEffect(() => {
    if (place < 0 || document.activeElement !== document.body) return;
    const element = near(place);
    if (element instanceof HTMLElement) element.focus();
  });
}

function focusOn(id: string): boolean {
  const element = document.getElementById(id);
  element?.focus();
  return element !== null;
}

/** What had the focus before each open dialog, and gets it back. */
const behind: (Element | null)[] = [];

/** Id of the focused element, or of the one behind a dialog. */
export function focusedId(): string | undefined {
  return (behind[0] ?? document.activeElement)?.id;
}

/** A dialog that is open while it is drawn, and blocks the window behind it. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    behind.push(before);
    element?.showModal();
    return () => {
      behind.splice(behind.indexOf(before), 1);
      // Restores the previous focus, but the same redraw may remove that element as well.
      element?.close();
      queueMicrotask(() => {
        if (before?.isConnected === false && document.activeElement === document.body) focusOnList();
      });
    };
  }, []);
  return dialog;
}

/** The subject of the dialog is now in the list, with the newest first. */
function focusOnList(): void {
  const control = document.querySelector<HTMLElement>('.cards button') ?? document.getElementById('port');
  control?.focus();
}

/** Whether a media query matches, updated when that changes. */
export function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const media = window.matchMedia(query);
    const tell = (): void => setHolds(media.matches);
    tell();
    media.addEventListener('change', tell);
    return () => media.removeEventListener('change', tell);
  }, [query]);
  return holds;
}

/**
 * @param isOn whether Escape has an effect here
 * @param onEscape called for an Escape that nothing smaller, such as an open list, has handled
 */
export function useEscape(isOn: boolean, onEscape: () => void): void {
  useKey((event) => isOn && event.key === 'Escape', onEscape);
}

/** Calls back for a key that no other part of the window has handled. */
export function useKey(
  matches: (event: KeyboardEvent) => boolean,
  onKey: (event: KeyboardEvent) => void,
): void {
  // A layout effect, so that keys apply to what is visible.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || !matches(event)) return;
      event.preventDefault();
      onKey(event);
    };
    window.addEventListener('keydown', listener);
    return () => window.removeEventListener('keydown', listener);
  });
}

/**
 * The row that a key of lists moves to (WAI-ARIA Authoring Practices).
 *
 * @param at number of the current row
 * @param perPage number of rows that fit into view
 * @returns number of a row, which may be beyond the ends; `undefined` for any other key
 */
export function rowAfter(key: string, at: number, count: number, perPage = 1): number | undefined {
  switch (key) {
    case 'ArrowDown':
      return at + 1;
    case 'ArrowUp':
      return at - 1;
    case 'PageDown':
      return at + perPage;
    case 'PageUp':
      return at - perPage;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}

/** Whether the key is typed into a text field. */
export function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLInputElement && !['checkbox', 'radio'].includes(target.type))
  );
}

/** Control on most systems, Command on macOS. */
export function hasCommand(event: KeyboardEvent): boolean {
  return (event.ctrlKey || event.metaKey) && !event.altKey;
}

/** Whether a key is a command: alone, and not part of a text. */
function isAlone(event: KeyboardEvent, key: string): boolean {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat;
  return isPlain && event.key === key && !isTyping(event);
}

/** The same for a letter that acts on something, unless a form is open beside it, for which the letter may be meant. */
export function isLetter(event: KeyboardEvent, letter: string): boolean {
  if (!isAlone(event, letter)) return false;
  const screen = event.target instanceof Element ? event.target.closest('.screen') : null;
  return (screen ?? document).querySelector('.screen form:not(.create form)') === null;
}

/** Whether the keys of a shortcut such as `Mod+Shift+O` are pressed; `Mod` is Control, or Command on macOS. */
export function arePressed(event: KeyboardEvent, keys: string): boolean {
  const [key = '', ...modifiers] = keys.split('+').toReversed();
  if (modifiers.length === 0) return isAlone(event, key);
  const hasShift = modifiers.includes('Shift');
  return hasCommand(event) && event.shiftKey === hasShift && event.key.toLowerCase() === key.toLowerCase();
}
