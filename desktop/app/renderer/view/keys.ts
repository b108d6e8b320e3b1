/** Keys that work wherever the focus is. */
import { useLayoutEffect } from 'preact/hooks';

/**
 * @param isOn whether there is anything that Escape could do here
 * @param onEscape called for an Escape that nothing smaller, such as an open list, has handled
 */
export function useEscape(isOn: boolean, onEscape: () => void): void {
  useKey((event) => isOn && event.key === 'Escape', onEscape);
}

/** Calls back for a key that no part of the window has handled. */
export function useKey(
  matches: (event: KeyboardEvent) => boolean,
  onKey: (event: KeyboardEvent) => void,
): void {
  // Before the redraw shows: a key that is pressed right after it means what is seen.
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

/** Whether the key belongs to a text that is being edited. */
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
