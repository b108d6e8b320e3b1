/** The engine's request log, as the window asks for it. */
import { Deadlines, systemClock } from '../../../client/clock.ts';
import type { Recorder } from '../../../client/data/stream-filter.ts';
import { curlCommand, shellOf } from '../../../client/inspector/curl.ts';
import type { RequestEdit } from '../../../client/inspector/edit.ts';
import { addImported } from '../../../client/inspector/import-text.ts';
import type { ImportedRequest } from '../../../client/inspector/imported.ts';
import type {
  LogChanges,
  TrafficSecond,
  RequestDetail,
  RequestSummary,
} from '../../../client/inspector/records.ts';
import { type PrepareReplay, Replayer } from '../../../client/inspector/replay.ts';
import { RequestLog } from '../../../client/inspector/request-log.ts';
import { LocalDialer, type LocalTarget } from '../../../client/local/local-dialer.ts';
import { LOG_REQUESTS_MAX } from '../limits.ts';

/** @param target where requests are repeated */
export function createEngineLog(target: LocalTarget): TunnelLog {
  const log = new RequestLog(systemClock, LOG_REQUESTS_MAX);
  const deadlines = new Deadlines(systemClock);
  const replayer = new Replayer(log, new LocalDialer(target, deadlines), deadlines);
  return {
    recorder: log,
    get pulse() {
      return log.pulse;
    },
    list: (count) => log.list(undefined, count),
    get revision() {
      return log.revision;
    },
    changes: (since, count) => log.changes(since, count),
    detail: (id, reveal) => log.detail(id, { reveal }),
    curl(id, origin, reveal) {
      const detail = log.detail(id, { reveal });
      return detail && curlCommand(detail, origin, shellOf(process.platform));
    },
    replay: (id, prepare) => replayer.replay(id, prepare),
    replayEdited: (id, edit, prepare) => replayer.replayEdited(id, edit, prepare),
    send: (request, host, prepare) => replayer.sendImported(request, host, prepare),
    add: (request, host) => addImported(log, request, host),
    clear: (upTo) => log.clear(upTo),
    subscribe: (listener) => log.subscribe(listener),
  };
}

/* The request log of one tunnel, as the window asks for it. */

export interface TunnelLog {
  /** the traffic of visitors in the last seconds, earliest first */
  readonly pulse: readonly TrafficSecond[];
  /** newest first; all that are kept, or at most this many */
  list(count?: number): readonly RequestSummary[];
  /** moves with every change */
  readonly revision: number;
  /**
   * What has changed, the earliest change first.
   *
   * @param since revision that is known; 0 for everything
   * @param count of requests, at most
   */
  changes(since: number, count: number): LogChanges;
  /**
   * `undefined` if there is none with that number, or no longer.
   *
   * @param reveal whether the values of secrets are in it
   */
  detail(id: number, reveal: boolean): RequestDetail | undefined;
  /**
   * A `curl` command that makes the request again; `undefined` like {@link TunnelLog.detail}.
   *
   * @param origin of the tunnel
   * @param reveal whether the values of secrets are in it
   */
  curl(id: number, origin: string, reveal: boolean): string | undefined;
  /**
   * Makes the request once more, to the local service.
   *
   * @param prepare makes what is sent of what was recorded
   * @returns number of the new request
   * @throws ReplayRefused
   */
  replay(id: number, prepare?: PrepareReplay): Promise<number>;
  /**
   * The same with what was edited of it.
   *
   * @param prepare makes what is sent of what was edited
   * @throws ReplayRefused, EditRefused
   */
  replayEdited(id: number, edit: RequestEdit, prepare?: PrepareReplay): Promise<number>;
  /**
   * Sends a request that was written down elsewhere to the local service.
   *
   * @param host the Host that the local service gets
   * @param prepare makes what is sent of what was written down
   * @returns its number
   * @throws ReplayRefused
   */
  send(request: ImportedRequest, host: string, prepare?: PrepareReplay): Promise<number>;
  /**
   * Puts a request there that was written down elsewhere. Nothing is sent.
   *
   * @param host the Host that the local service gets
   * @returns its number
   */
  add(request: ImportedRequest, host: string): number;
  /** Forgets requests up to a number. */
  clear(upTo: number): void;
  /** Tells the listener of every request that begins, gets a response or ends. */
  subscribe(listener: (summary: RequestSummary) => void): () => void;
  /** sees the bytes of visitors */
  readonly recorder: Recorder;
}
