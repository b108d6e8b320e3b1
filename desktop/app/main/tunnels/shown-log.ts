import type { RequestEdit } from '../../../client/inspector/edit.ts';
import type { ImportedRequest } from '../../../client/inspector/imported.ts';
import type { RequestDetail, RequestSummary } from '../../../client/inspector/records.ts';
import type { PrepareReplay } from '../../../client/inspector/replay.ts';
import type { LogPoint, LogUpdate } from '../../ipc/request-views.ts';
import { LOG_PART_MAX } from '../limits.ts';
import type { TunnelLog } from './engine-log.ts';

/** Requests that were hidden: either of the two ends that. */
export interface Hidden {
  /** Shows them again. */
  show(): void;
  /** Forgets them for good. */
  forget(): void;
}

/** A request log that can be emptied so that it can be taken back: what was there is hidden, and forgotten later. */
export class ShownLog implements Omit<TunnelLog, 'changes' | 'revision'> {
  readonly #log: TunnelLog;
  /** the highest number that is hidden */
  #hiddenUpTo = 0;
  #epoch = 0;

  constructor(log: TunnelLog) {
    this.#log = log;
  }

  get recorder(): TunnelLog['recorder'] {
    return this.#log.recorder;
  }

  get pulse(): TunnelLog['pulse'] {
    return this.#log.pulse;
  }

  list(count?: number): readonly RequestSummary[] {
    return this.#log.list(count).filter(({ id }) => id > this.#hiddenUpTo);
  }

  /** How far it has come. */
  get point(): LogPoint {
    return { epoch: this.#epoch, revision: this.#log.revision };
  }

  /** The next of what has changed, at most {@link LOG_PART_MAX} requests. */
  update(since: LogPoint): LogUpdate {
    const isWhole = since.epoch !== this.#epoch;
    const { revision, oldest, requests } = this.#log.changes(isWhole ? 0 : since.revision, LOG_PART_MAX);
    return {
      at: { epoch: this.#epoch, revision },
      isWhole,
      isMore: revision < this.#log.revision,
      oldest: Math.max(oldest, this.#hiddenUpTo + 1),
      requests: requests.filter(({ id }) => id > this.#hiddenUpTo),
    };
  }

  detail(id: number, reveal: boolean): RequestDetail | undefined {
    return id > this.#hiddenUpTo ? this.#log.detail(id, reveal) : undefined;
  }

  curl(id: number, origin: string, reveal: boolean): string | undefined {
    return id > this.#hiddenUpTo ? this.#log.curl(id, origin, reveal) : undefined;
  }

  replay(id: number, prepare?: PrepareReplay): Promise<number> {
    return this.#log.replay(id, prepare);
  }

  replayEdited(id: number, edit: RequestEdit, prepare?: PrepareReplay): Promise<number> {
    return this.#log.replayEdited(id, edit, prepare);
  }

  send(request: ImportedRequest, host: string, prepare?: PrepareReplay): Promise<number> {
    return this.#log.send(request, host, prepare);
  }

  add(request: ImportedRequest, host: string): number {
    return this.#log.add(request, host);
  }

  clear(upTo: number): void {
    this.#log.clear(upTo);
  }

  subscribe(listener: (summary: RequestSummary) => void): () => void {
    return this.#log.subscribe(listener);
  }

  /** Something else is to be said of its requests: whoever has read it reads all of it again. */
  tellAnew(): void {
    this.#epoch += 1;
  }

  /** Hides everything that is there now. */
  hide(): Hidden {
    const before = this.#hiddenUpTo;
    const upTo = Math.max(before, this.#log.list(1)[0]?.id ?? 0);
    this.#hiddenUpTo = upTo;
    this.#epoch += 1;
    return {
      show: () => {
        if (this.#hiddenUpTo !== upTo) return;
        this.#hiddenUpTo = before;
        this.#epoch += 1;
      },
      forget: () => this.clear(upTo),
    };
  }
}
