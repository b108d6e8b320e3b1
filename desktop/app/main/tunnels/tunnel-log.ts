/** The request log of one tunnel, as the window asks for it. */
import { curlCommand, shellOf } from '../../../client/inspector/curl.ts';
import type { ImportedRequest } from '../../../client/inspector/edit.ts';
import { addImported } from '../../../client/inspector/import-text.ts';
import type {
  RequestDetail,
  RequestSummary,
  SocketMessages,
  TrafficSecond,
} from '../../../client/inspector/records.ts';
import type { RequestLog } from '../../../client/inspector/request-log.ts';
import { type Found, LogSearch } from '../../../client/inspector/search.ts';
import type { LogPoint, LogUpdate } from '../../ipc/request-views.ts';

/**
 * Maximum number of one tunnel's requests that the window can list: about a kilobyte each, excluding their
 * bodies.
 */
export const LOG_REQUESTS_MAX = 10_000;
/** Maximum number of requests sent to the window at a time: a few ms of its time. */
export const LOG_PART_MAX = 1000;

/** A request log that the user can empty and restore: requests are hidden first, and forgotten later. */
export class ShownLog {
  readonly #log: RequestLog;
  readonly #search: LogSearch;
  /** the highest number that is hidden */
  #hiddenUpTo = 0;
  #epoch = 0;

  constructor(log: RequestLog) {
    this.#log = log;
    this.#search = new LogSearch(log);
  }

  /** the traffic of visitors in the last seconds, earliest first */
  get pulse(): readonly TrafficSecond[] {
    return this.#log.pulse;
  }

  /** Newest first; all recorded ones, or at most this many. */
  list(count?: number): readonly RequestSummary[] {
    return this.#log.list(undefined, count).filter(({ id }) => id > this.#hiddenUpTo);
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

  /** @param reveal whether the values of secrets are in it */
  detail(id: number, reveal: boolean): RequestDetail | undefined {
    return id > this.#hiddenUpTo ? this.#log.detail(id, { reveal }) : undefined;
  }

  /** Finds requests by words in their headers and bodies, in slices of work. */
  async search(typed: string): Promise<Found> {
    const { ids, isPartial } = await this.#search.find(typed);
    return { ids: ids.filter((id) => id > this.#hiddenUpTo), isPartial };
  }

  /**
   * Messages of a WebSocket; `undefined` for any other request.
   *
   * @param after number of the last one that is known
   */
  messages(id: number, after: number): SocketMessages | undefined {
    return id > this.#hiddenUpTo ? this.#log.messages(id, after) : undefined;
  }

  /**
   * A `curl` command that repeats the request.
   *
   * @param origin of the tunnel
   * @param reveal whether the values of secrets are in it
   */
  curl(id: number, origin: string, reveal: boolean): string | undefined {
    const detail = this.detail(id, reveal);
    return detail && curlCommand(detail, origin, shellOf(process.platform));
  }

  /**
   * Adds an imported request, and sends nothing.
   *
   * @param host the Host that the local service gets
   * @returns its number
   */
  add(request: ImportedRequest, host: string): number {
    return addImported(this.#log, request, host);
  }

  /** Its requests are shown differently from now on: readers have to read all of them again. */
  tellAnew(): void {
    this.#epoch += 1;
  }

  /** Hides all requests so far. */
  hide() {
    const before = this.#hiddenUpTo;
    const upTo = Math.max(before, this.#log.list(undefined, 1)[0]?.id ?? 0);
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
      forget: (): void => this.#log.clear(upTo),
    };
  }
}
