import { useCallback, useRef, useState } from 'preact/hooks';
import { type LogView, WHOLE_LOG } from '../../shared/log.ts';
import type { TunnelView } from '../../shared/snapshot.ts';
import type { Bridge } from '../bridge.ts';

/** What is typed is remembered once the typing pauses. */
const REMEMBER_MS = 500;

/** What of each log is shown. */
export interface LogViews {
  readonly viewOf: (tunnel: TunnelView | undefined) => LogView;
  readonly show: (key: string, view: LogView) => void;
}

/** What of each log the user wants to see, which main remembers by tunnel. */
export function useLogViews(bridge: Bridge): LogViews {
  const [views, setViews] = useState<ReadonlyMap<string, LogView>>(new Map());
  const timers = useRef(new Map<string, number>());
  const show = useCallback(
    (key: string, view: LogView) => {
      setViews((before) => new Map(before).set(key, view));
      window.clearTimeout(timers.current.get(key));
      const remember = (): void => {
        timers.current.delete(key);
        // What cannot be remembered is shown all the same.
        bridge.call('log:view', { key, ...view }).catch(() => {});
      };
      timers.current.set(key, window.setTimeout(remember, REMEMBER_MS));
    },
    [bridge],
  );
  const viewOf = useCallback(
    (tunnel: TunnelView | undefined) =>
      tunnel === undefined ? WHOLE_LOG : (views.get(tunnel.key) ?? tunnel.logView),
    [views],
  );
  return { viewOf, show };
}
