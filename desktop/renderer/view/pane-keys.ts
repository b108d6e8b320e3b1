import { useEffect, useRef } from 'preact/hooks';
import { useKey } from './keys.ts';

/** F6 leads to the next pane, Shift+F6 to the one before: to what had the focus there last, or its heading. */
export function usePaneKeys(): void {
  const last = useRef(new WeakMap<Element, HTMLElement>());
  useEffect(() => {
    const remember = ({ target }: FocusEvent): void => {
      const pane = target instanceof HTMLElement ? target.closest('.panes > .screen') : null;
      if (pane !== null && target instanceof HTMLElement) last.current.set(pane, target);
    };
    window.addEventListener('focusin', remember);
    return () => window.removeEventListener('focusin', remember);
  }, []);
  useKey(
    ({ key, ctrlKey, metaKey, altKey }) => key === 'F6' && !ctrlKey && !metaKey && !altKey,
    ({ shiftKey }) => {
      const panes = [...document.querySelectorAll('.panes > .screen')];
      const at = panes.findIndex((pane) => pane.contains(document.activeElement));
      const next = panes.at((at + (shiftKey ? -1 : 1)) % panes.length);
      if (next === undefined) return;
      const known = last.current.get(next);
      const first = next.querySelector<HTMLElement>('.log .row[tabindex="0"], [tabindex="-1"], #port');
      (known?.isConnected === true ? known : first)?.focus();
    },
  );
}
