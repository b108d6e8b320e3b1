/** People double-click everything, and what a button does moves other buttons under the pointer. */
import { useEffect } from 'preact/hooks';

/** Makes a double click on any button of the window one click, and a key that is held down one press. */
export function useSinglePresses(): void {
  useEffect(() => {
    const onClick = (event: MouseEvent): void => {
      // The system counts clicks by its own idea of how fast a double click is; a key counts as none.
      if (event.detail > 1 && isButton(event.target)) swallow(event);
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.repeat && event.key === 'Enter' && !(event.target instanceof HTMLTextAreaElement))
        swallow(event);
    };
    window.addEventListener('click', onClick, true);
    window.addEventListener('keydown', onKey, true);
    return () => {
      window.removeEventListener('click', onClick, true);
      window.removeEventListener('keydown', onKey, true);
    };
  }, []);
}

function isButton(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('button') !== null;
}

function swallow(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}
