/** The request log of one tunnel, as the window asks for it. */
import { Deadlines, systemClock } from '../../../client/clock.ts';
import type { Recorder } from '../../../client/data/stream-filter.ts';
import { curlCommand, shellOf } from '../../../client/inspector/curl.ts';
import type { ImportedRequest, RequestEdit } from '../../../client/inspector/edit.ts';
import { addImported } from '../../../client/inspector/import-text.ts';
import type {
  LogChanges,
  RequestDetail,
  RequestSummary,
  SocketMessages,
  TrafficSecond,
} from '../../../client/inspector/records.ts';
import { type PrepareReplay, Replayer } from '../../../client/inspector/replay.ts';
import { RequestLog } from '../../../client/inspector/request-log.ts';
import { type Found, LogSearch } from '../../../client/inspector/search.ts';
import type { LocalTarget } from '../../../client/local/local-service.ts';
import { type HostMapOptions, serviceOfRequest } from '../../../client/visitors/connections.ts';
import type { LogPoint, LogUpdate } from '../../ipc/request-views.ts';
import { LOG_PART_MAX, LOG_REQUESTS_MAX } from '../limits.ts';

export type TunnelLog = ReturnType<typeof tunnelLogOf>;

/**
 * @param target the local service that requests are replayed to
 * @param hosts hosts with other ports, if there are any
 * @param keptBody number of bytes of each body to keep
 */
export function createTunnelLog(
  target: LocalTarget,
  hosts?: HostMapOptions,
  keptBody?: () => number,
): TunnelLog {
  const log = new RequestLog(systemClock, LOG_REQUESTS_MAX, keptBody);
  const deadlines = new Deadlines(systemClock);
  return tunnelLogOf(log, new Replayer(log, serviceOfRequest(target, hosts, deadlines), deadlines));
}

/** @param replayer of the requests in the log */
export function tunnelLogOf(log: RequestLog, replayer: Replayer) {
  const recorder: Recorder = log;
  const search = new LogSearch(log);
  return {
    /** sees the bytes of visitors */
    recorder,
    /** the traffic of visitors in the last seconds, earliest first */
    get pulse(): readonly TrafficSecond[] {
      return log.pulse;
    },
    /** number of requests of visitors so far */
    get visits(): number {
      return log.visits;
    },
    /** newest first; all recorded ones, or at most this many */
    list: (count?: number): readonly RequestSummary[] => log.list(undefined, count),
    /** grows with every change */
    get revision(): number {
      return log.revision;
    },
    /**
     * The earliest change comes first.
     *
     * @param since revision that is known; 0 for everything
     * @param count of requests, at most
     */
    changes: (since: number, count: number): LogChanges => log.changes(since, count),
    /** @param reveal whether the values of secrets are in it */
    detail: (id: number, reveal: boolean): RequestDetail | undefined => log.detail(id, { reveal }),
    /** Finds requests by words in their headers and bodies, in slices of work. */
    search: (typed: string): Promise<Found> => search.find(typed),
    /**
     * Messages of a WebSocket; `undefined` for any other request.
     *
     * @param after number of the last one that is known
     */
    messages: (id: number, after: number): SocketMessages | undefined => log.messages(id, after),
    /**
     * A `curl` command that repeats the request.
     *
     * @param origin of the tunnel
     * @param reveal whether the values of secrets are in it
     */
    curl(id: number, origin: string, reveal: boolean): string | undefined {
      const detail = log.detail(id, { reveal });
      return detail && curlCommand(detail, origin, shellOf(process.platform));
    },
    /**
     * Sends the request to the local service again.
     *
     * @param prepare makes the bytes to send from those that were recorded
     * @returns number of the new request
     * @throws ReplayRefused
     */
    replay: (id: number, prepare?: PrepareReplay): Promise<number> => replayer.replay(id, prepare),
    /** Sends an edited request. @throws ReplayRefused, EditRefused */
    replayEdited: (id: number, edit: RequestEdit, prepare?: PrepareReplay): Promise<number> =>
      replayer.replayEdited(id, edit, prepare),
    /**
     * Sends an imported request to the local service.
     *
     * @param host the Host that the local service gets
     * @returns its number
     * @throws ReplayRefused
     */
    /**
     * Adds an imported request, and sends nothing.
     *
     * @param host the Host that the local service gets
     * @returns its number
     */
    add: (request: ImportedRequest, host: string): number => addImported(log, request, host),
    /** Forgets requests up to a number. */
    clear: (upTo: number): void => log.clear(upTo),
    /** Calls the listener with every request that begins, gets a response or ends. */
    subscribe: (listener: (summary: RequestSummary) => void): (() => void) => log.subscribe(listener),
  };
}

/** A request log that the user can empty and restore: requests are hidden first, and forgotten later. */
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

  get visits(): TunnelLog['visits'] {
    return this.#log.visits;
  }

  get pulse(): TunnelLog['pulse'] {
    return this.#log.pulse;
  }

  list(count?: number): readonly RequestSummary[] {
    return this.#log.list(count).filter(({ id }) => id > this.#hiddenUpTo);
  }

  /** Where a reader of everything is. */
  get point(): LogPoint {
    return { epoch: this.#epoch, revision: this.#log.revision };
  }

  /** The next changes, at most {@link LOG_PART_MAX} requests. */
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

  async search(typed: string): Promise<Found> {
    const { ids, isPartial } = await this.#log.search(typed);
    return { ids: ids.filter((id) => id > this.#hiddenUpTo), isPartial };
  }

  messages(id: number, after: number): SocketMessages | undefined {
    return id > this.#hiddenUpTo ? this.#log.messages(id, after) : undefined;
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

  add(request: ImportedRequest, host: string): number {
    return this.#log.add(request, host);
  }

  clear(upTo: number): void {
    this.#log.clear(upTo);
  }

  subscribe(listener: (summary: RequestSummary) => void): () => void {
    return this.#log.subscribe(listener);
  }

  /** Its requests are shown differently from now on: readers have to read all of them again. */
  tellAnew(): void {
    this.#epoch += 1;
  }

  /** Hides all requests so far. */
  hide() {
    const before = this.#hiddenUpTo;
    const upTo = Math.max(before, this.#log.list(1)[0]?.id ?? 0);
    this.#hiddenUpTo = upTo;
    this.#epoch += 1;
    return {
      /** Shows them again. */
      show: (): void => {
        if (this.#hiddenUpTo !== upTo) return;
        this.#hiddenUpTo = before;
        this.#epoch += 1;
      },
      /** Forgets them for good. */
      forget: (): void => this.clear(upTo),
    };
  }
}
