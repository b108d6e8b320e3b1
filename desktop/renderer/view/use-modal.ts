import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** A dialog that is open for as long as it is drawn, over a window that does nothing meanwhile. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      // Gives the focus back to what had it. The same redraw may take that away, too.
      element?.close();
      queueMicrotask(() => {
        if (before?.isConnected === false && document.activeElement === document.body) focusOnList();
      });
    };
  }, []);
  return dialog;
}

/** What was asked about in the dialog is in the list now, the newest first. */
function focusOnList(): void {
  const control = document.querySelector<HTMLElement>('.cards button') ?? document.getElementById('port');
  control?.focus();
}
