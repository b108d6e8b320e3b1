import { useEffect, useRef, useState } from 'preact/hooks';
import type { RequestSummary } from '../../../engine/inspector/records.ts';
import type { Problem, TunnelView } from '../../../shared/snapshot.ts';
import type { KnownLog } from '../../model/known-log.ts';
import { useShell } from '../../view/context.ts';
import { LogReader } from './log-reader.ts';

/** A busy tunnel changes many times a second; a list for reading does not need to. */
const REFRESH_MS = 500;

/** The log that was shown last, for who comes back to it: it is there at once, and only what has changed is read. */
let latest: { readonly key: string; readonly known: KnownLog } | undefined;

export interface Log {
  /** newest first; `undefined` until there was a result */
  readonly requests: readonly RequestSummary[] | undefined;
  readonly problem: Pick<Problem, 'text'> | undefined;
}

/** The log of a tunnel, read on whenever it has changed. */
export function useLog(key: string, tunnel: TunnelView | undefined): Log {
  const { bridge } = useShell();
  const [log, setLog] = useState<Log>(() => ({ requests: knownOf(key)?.requests, problem: undefined }));
  const reader = useRef<LogReader>(undefined);
  const timer = useRef<number>(undefined);
  const point = tunnel?.log;
  const seen = useRef(point);

  useEffect(() => {
    const own = new LogReader({
      bridge,
      key,
      known: knownOf(key),
      onRead(known) {
        latest = { key, known };
        setLog({ requests: known.requests, problem: undefined });
      },
      onProblem: (problem) => setLog({ requests: undefined, problem }),
    });
    reader.current = own;
    own.read();
    return () => {
      own.stop();
      window.clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [bridge, key]);

  // The first time is the effect's above; later changes wait for each other, except when the log was emptied or filled again.
  useEffect(() => {
    const before = seen.current;
    seen.current = point;
    if (before === point) return;
    if (before?.epoch !== point?.epoch) {
      reader.current?.read();
      return;
    }
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined;
      reader.current?.read();
    }, REFRESH_MS);
  }, [point]);
  return log;
}

function knownOf(key: string): KnownLog | undefined {
  return latest?.key === key ? latest.known : undefined;
}
