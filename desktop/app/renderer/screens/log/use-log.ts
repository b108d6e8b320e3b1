import { useEffect, useRef, useState } from 'preact/hooks';
import type { RequestSummary } from '../../../../client/inspector/records.ts';
import type { Problem, TunnelView } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import type { Bridge } from '../../bridge.ts';
import { type KnownLog, NOTHING_KNOWN, updated } from '../../model/request.ts';
import { useShell } from '../../view/context.ts';

/** A busy tunnel changes many times a second, faster than people can read. */
const REFRESH_MS = 500;

/** The last log shown. Returning to it shows it immediately and reads only its changes. */
let latest: { readonly key: string; readonly known: KnownLog } | undefined;

export interface Log {
  /** newest first; `undefined` until the first result */
  readonly requests: readonly RequestSummary[] | undefined;
  readonly problem: Pick<Problem, 'text'> | undefined;
}

/** The log of a tunnel, updated when it changes. */
export function useLog(key: string, tunnel: Pick<TunnelView, 'log'> | undefined): Log {
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

  // The effect above reads it the first time. Later reads are throttled, unless the log was emptied or refilled.
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

/* Reads a request log in parts, and only its changes since the last time. */

interface LogReaderOptions {
  readonly bridge: Pick<Bridge, 'call'>;
  /** key of the tunnel */
  readonly key: string;
  /** previously read entries */
  readonly known?: KnownLog | undefined;
  /** Everything available was read. */
  readonly onRead: (known: KnownLog) => void;
  readonly onProblem: (problem: Pick<Problem, 'text'>) => void;
}

export class LogReader {
  readonly #options: LogReaderOptions;
  #known: KnownLog;
  #isReading = false;
  /** something has changed since the read began */
  #isStale = false;
  #isStopped = false;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#known = options.known ?? NOTHING_KNOWN;
  }

  /** Reads the changes. During a read, schedules another one. */
  read(): void {
    this.#isStale = true;
    if (this.#isReading) return;
    this.#isReading = true;
    this.#readAll().catch(() => this.#options.onProblem({ text: t('log.notRead') }));
  }

  /** Makes no more callbacks. */
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

  /** @returns whether it read everything */
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
