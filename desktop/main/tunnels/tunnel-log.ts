/** The request log of one tunnel, as the window asks for it. */
import type { Recorder } from '../../engine/data/recorder.ts';
import type { RequestDetail, RequestSummary } from '../../engine/inspector/records.ts';

export interface TunnelLog {
  /** newest first; all that are kept, or at most this many */
  list(count?: number): readonly RequestSummary[];
  /** `undefined` if there is none with that number, or no longer */
  detail(id: number): RequestDetail | undefined;
  /**
   * A `curl` command that makes the request again; `undefined` like {@link TunnelLog.detail}.
   *
   * @param origin of the tunnel
   */
  curl(id: number, origin: string): string | undefined;
  /**
   * Makes the request once more, to the local service.
   *
   * @returns number of the new request
   * @throws ReplayRefused
   */
  replay(id: number): Promise<number>;
  clear(): void;
  /** Tells the listener of every request that begins, gets a response or ends. */
  subscribe(listener: (summary: RequestSummary) => void): () => void;
  /** sees the bytes of visitors */
  readonly recorder: Recorder;
}

/** The requests of a list that contain the text in method, target or status. */
export function searchRequests(
  requests: readonly RequestSummary[],
  search: string,
): readonly RequestSummary[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return requests;
  return requests.filter(({ method, target, status }) => {
    const line = `${method} ${target} ${status ?? ''}`.toLowerCase();
    return words.every((word) => line.includes(word));
  });
}
