/** Keys that work wherever the focus is. */
import { useEffect } from 'preact/hooks';

/** @param onEscape called for an Escape that nothing smaller, such as an open list, has handled */
export function useEscape(onEscape: () => void): void {
  useKey((event) => event.key === 'Escape', onEscape);
}

/** Calls back for a key that no part of the window has handled. */
export function useKey(matches: (event: KeyboardEvent) => boolean, onKey: () => void): void {
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || !matches(event)) return;
      event.preventDefault();
      onKey();
    };
    window.addEventListener('keydown', listener);
    return () => window.removeEventListener('keydown', listener);
  });
}

/** Control on most systems, Command on macOS. */
export function hasCommand(event: KeyboardEvent): boolean {
  return (event.ctrlKey || event.metaKey) && !event.altKey;
}
