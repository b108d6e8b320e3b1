/** One tick per second for every part of the window that shows time, without redrawing anything else. */
import { useEffect, useReducer, useRef } from 'preact/hooks';

const TICK_MS = 1000;
const listeners = new Set<() => void>();
let timer: number | undefined;

/**
 * A value that depends on the time. The component is redrawn only when the value changes.
 *
 * @param read called with wall-clock ms
 */
export function useTime<T extends string | number | boolean>(read: (now: number) => T): T {
  const value = read(Date.now());
  const latest = useRef({ read, value });
  latest.current = { read, value };
  const [, redraw] = useReducer<number, undefined>((count) => count + 1, 0);
  useEffect(
    () =>
      listen(() => {
        if (latest.current.read(Date.now()) !== latest.current.value) redraw(undefined);
      }),
    [],
  );
  return value;
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  // A hidden window needs no time; once shown, it is updated within a second.
  if (document.hidden) return;
  for (const listener of listeners) listener();
}
