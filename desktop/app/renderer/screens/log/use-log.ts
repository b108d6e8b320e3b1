import { useEffect, useRef, useState } from 'preact/hooks';
import type { RequestSummary } from '../../../../client/inspector/records.ts';
import type { Problem, TunnelView } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import type { Bridge } from '../../bridge.ts';
import { type KnownLog, NOTHING_KNOWN, updated } from '../../model/request.ts';
import { useShell } from '../../view/context.ts';

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

/* Reads a request log part by part, and only what has changed since the last time. */

export interface LogReaderOptions {
  readonly bridge: Pick<Bridge, 'call'>;
  /** of the tunnel */
  readonly key: string;
  /** what was read before */
  readonly known?: KnownLog | undefined;
  /** All that there was to read is read. */
  readonly onRead: (known: KnownLog) => void;
  readonly onProblem: (problem: Pick<Problem, 'text'>) => void;
}

export class LogReader {
  readonly #options: LogReaderOptions;
  #known: KnownLog;
  #isReading = false;
  /** something has changed since it began to read */
  #isStale = false;
  #isStopped = false;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#known = options.known ?? NOTHING_KNOWN;
  }

  /** Reads what has changed; while it is reading, once more afterwards. */
  read(): void {
    this.#isStale = true;
    if (this.#isReading) return;
    this.#isReading = true;
    this.#readAll().catch(() => this.#options.onProblem({ text: t('log.notRead') }));
  }

  /** Tells nothing more. */
  stop(): void {
    this.#isStopped = true;
  }

  async #readAll(): Promise<void> {
    try {
      while (this.#isStale && !this.#isStopped) {
        this.#isStale = false;
        if (!(await this.#readParts())) return;
      }
    } finally {
      this.#isReading = false;
    }
  }

  /** @returns whether it was read to the end */
  async #readParts(): Promise<boolean> {
    const { bridge, key, onRead, onProblem } = this.#options;
    for (let isMore = true; isMore;) {
      const answer = await bridge.call('log:changes', { key, since: this.#known.at });
      if (this.#isStopped) return false;
      if (!answer.ok) {
        onProblem(answer.error);
        return false;
      }
      this.#known = updated(this.#known, answer.value);
      isMore = answer.value.isMore;
    }
    onRead(this.#known);
    return true;
  }
}
