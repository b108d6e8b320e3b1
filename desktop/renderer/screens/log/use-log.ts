import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { RequestSummary } from '../../../engine/inspector/records.ts';
import type { Problem, TunnelView } from '../../../shared/snapshot.ts';
import { share } from '../../model/share.ts';
import { useShell } from '../../view/context.ts';

/** A busy tunnel changes many times a second; a list for reading does not need to. */
const REFRESH_MS = 500;

export interface Log {
  /** newest first; `undefined` until there was a result */
  readonly requests: readonly RequestSummary[] | undefined;
  readonly problem: Pick<Problem, 'text'> | undefined;
  readonly reload: () => void;
}

/** The log of a tunnel, asked for again when the search changes or the tunnel has had more requests. */
export function useLog(key: string, search: string, tunnel: TunnelView | undefined): Log {
  const { bridge } = useShell();
  const [state, setState] = useState<Omit<Log, 'reload'>>({ requests: undefined, problem: undefined });
  const asked = useRef(0);
  const timer = useRef<number | undefined>(undefined);

  const load = useCallback(() => {
    window.clearTimeout(timer.current);
    timer.current = undefined;
    asked.current += 1;
    const mine = asked.current;
    const take = (next: Omit<Log, 'reload'>): void => {
      // A result that a later question has overtaken is not shown.
      if (mine === asked.current) setState((before) => share(before, next));
    };
    bridge.call('log:list', { key, search }).then(
      (answer) =>
        take(
          answer.ok
            ? { requests: answer.value, problem: undefined }
            : { requests: undefined, problem: answer.error },
        ),
      () => take({ requests: undefined, problem: { text: 'The requests could not be read.' } }),
    );
  }, [bridge, key, search]);

  useEffect(load, [load]);
  // The first time is the effect's above; later changes wait for each other.
  const seen = useRef(tunnel?.recent);
  useEffect(() => {
    if (seen.current === tunnel?.recent) return;
    seen.current = tunnel?.recent;
    timer.current ??= window.setTimeout(load, REFRESH_MS);
  }, [load, tunnel?.recent]);
  useEffect(
    () => () => {
      asked.current += 1;
      window.clearTimeout(timer.current);
    },
    [],
  );
  return { ...state, reload: load };
}
