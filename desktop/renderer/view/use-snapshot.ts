import { useEffect, useState } from 'preact/hooks';
import { setLocale, t } from '../../i18n/translate.ts';
import type { Snapshot } from '../../shared/snapshot.ts';
import type { Bridge } from '../bridge.ts';
import { share } from '../model/share.ts';

export interface Watched {
  /** `undefined` until main has sent the first */
  readonly snapshot: Snapshot | undefined;
  /** why there is none */
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
      // A push that came meanwhile is newer.
      if (latest !== undefined) return;
      if (answer.ok) take(answer.value);
      else setWatched({ snapshot: undefined, problem: answer.error.text });
    };
    ask().catch(() => setWatched({ snapshot: undefined, problem: t('common.lostContact') }));
    return stop;
  }, [bridge, onChange]);
  return watched;
}
