import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Trail } from '../model/route.ts';

/** What a screen still waits for, such as its list, has come by then, or the focus stays where it is. */
const PATIENCE_MS = 10_000;

/** Gives the focus back to the element with which the user left the screen they return to. */
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
    // The focus is not taken back from a user who has moved on by then.
    window.addEventListener('keydown', stop);
    window.addEventListener('pointerdown', stop);
    observer.observe(document.body, { childList: true, subtree: true });
    return stop;
  }, [trail, id]);
}

/**
 * Keeps the focus in a part of the window when a redraw removes the element that had it: otherwise the keyboard would begin
 * at the top again.
 *
 * @param near says which element is next to the removed one; given the position of that among the children of the part
 */
export function useKeptFocus(
  part: RefObject<HTMLElement | null>,
  near: (place: number) => Element | null | undefined,
): void {
  // Read before the redraw: afterwards nothing says where it was.
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

/** Whether a media query holds, now and whenever that changes. */
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
