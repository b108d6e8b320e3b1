import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type LogView, WHOLE_LOG } from '../../ipc/request-views.ts';
import type { Snapshot, TunnelView } from '../../ipc/snapshot.ts';
import { setLocale, t } from '../../messages/translate.ts';
import type { Bridge } from '../bridge.ts';

export interface Watched {
  /** `undefined` until main has sent the first */
  readonly snapshot: Snapshot | undefined;
  /** why it is missing */
  readonly problem: string | undefined;
}

/**
 * The snapshot that main pushes.
 *
 * @param onChange called with the previous snapshot and the new one
 */
export function useSnapshot(
  bridge: Bridge,
  onChange: (previous: Snapshot | undefined, next: Snapshot) => void,
): Watched {
  const [watched, setWatched] = useState<Watched>({ snapshot: undefined, problem: undefined });
  useEffect(() => {
    let latest: Snapshot | undefined;
    const take = (received: Snapshot): void => {
      const next = share(latest, received);
      if (next === latest) return;
      setLocale(next.locale);
      onChange(latest, next);
      latest = next;
      setWatched({ snapshot: next, problem: undefined });
    };
    const stop = bridge.on('snapshot:changed', take);
    const ask = async (): Promise<void> => {
      const answer = await bridge.call('snapshot:get', undefined);
      // A push that arrived in the meantime is newer.
      if (latest !== undefined) return;
      if (answer.ok) take(answer.value);
      else setWatched({ snapshot: undefined, problem: answer.error.text });
    };
    ask().catch(() => setWatched({ snapshot: undefined, problem: t('common.lostContact') }));
    return stop;
  }, [bridge, onChange]);
  return watched;
}

/** Input is stored once typing pauses. */
const REMEMBER_MS = 500;

/** The views of the logs. */
export interface LogViews {
  readonly viewOf: (tunnel: Pick<TunnelView, 'key' | 'logView'> | undefined) => LogView;
  readonly show: (key: string, view: LogView) => void;
}

/** The user's view of each log, which main stores by tunnel. */
export function useLogViews(bridge: Bridge): LogViews {
  const [views, setViews] = useState<ReadonlyMap<string, LogView>>(new Map());
  const timers = useRef(new Map<string, number>());
  const show = useCallback(
    (key: string, view: LogView) => {
      setViews((before) => new Map(before).set(key, view));
      window.clearTimeout(timers.current.get(key));
      const remember = (): void => {
        timers.current.delete(key);
        // A view that cannot be stored is still shown.
        bridge.call('log:view', { key, ...view }).catch(() => {});
      };
      timers.current.set(key, window.setTimeout(remember, REMEMBER_MS));
    },
    [bridge],
  );
  const viewOf = useCallback(
    (tunnel: Pick<TunnelView, 'key' | 'logView'> | undefined) =>
      tunnel === undefined ? WHOLE_LOG : (views.get(tunnel.key) ?? tunnel.logView),
    [views],
  );
  return { viewOf, show };
}

/**
 * Keeps every unchanged part of a value, so that nothing is redrawn needlessly: each snapshot arrives as a copy, mostly
 * unchanged.
 *
 * @returns `next`, with each object or array that deeply equals its counterpart in `previous` replaced by that; items
 *   of arrays are matched by `key` or `id` if they have one
 */
export function share<T>(previous: unknown, next: T): T {
  return shareAny(previous, next) as T;
}

function shareAny(previous: unknown, next: unknown): unknown {
  if (Object.is(previous, next)) return previous;
  if (Array.isArray(previous) && Array.isArray(next)) return shareArray(previous, next);
  if (isRecord(previous) && isRecord(next)) return shareRecord(previous, next);
  return next;
}

function shareArray(previous: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  const byIdentity = new Map(previous.map((item, index) => [identity(item) ?? index, item]));
  const shared = next.map((item, index) => shareAny(byIdentity.get(identity(item) ?? index), item));
  const same = previous.length === shared.length && shared.every((item, index) => item === previous[index]);
  return same ? previous : shared;
}

function shareRecord(
  previous: Record<string, unknown>,
  next: Record<string, unknown>,
): Record<string, unknown> {
  const shared: Record<string, unknown> = {};
  let same = Object.keys(previous).length === Object.keys(next).length;
  for (const [name, value] of Object.entries(next)) {
    shared[name] = shareAny(previous[name], value);
    same &&= name in previous && Object.is(shared[name], previous[name]);
  }
  return same ? previous : shared;
}

function identity(item: unknown): unknown {
  return isRecord(item) ? (item['key'] ?? item['id']) : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
