/** Reads a request log part by part, and only what has changed since the last time. */
import { t } from '../../../i18n/translate.ts';
import type { Bridge } from '../../bridge.ts';
import type { Problem } from '../../../shared/snapshot.ts';
import { type KnownLog, NOTHING_KNOWN, updated } from '../../model/known-log.ts';

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
