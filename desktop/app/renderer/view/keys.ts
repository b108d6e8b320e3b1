/** Keys that work regardless of the focus. */
import { useLayoutEffect } from 'preact/hooks';

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

/** Whether a letter is a command: alone, and not part of a text. */
export function isLetter(event: KeyboardEvent, letter: string): boolean {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat;
  return isPlain && event.key === letter && !isTyping(event);
}
