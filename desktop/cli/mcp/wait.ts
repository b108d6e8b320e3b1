/** Waits for a request of a visitor that matches. */
import type { Clock } from '../../client/clock.ts';
import type { RequestLog } from '../../client/inspector/request-log.ts';
import type { RequestSummary } from '../../client/inspector/records.ts';

/** What a request must be; `undefined` matches all. */
interface Wanted {
  readonly method: string | undefined;
  /** the path without its query; one that ends in `*` matches everything that begins with the rest */
  readonly path: string | undefined;
  readonly status: number | undefined;
}

const SWITCHING_PROTOCOLS = 101;

/**
 * @param after the number of a request; only later ones count, including those that have already arrived
 * @returns the earliest complete request that matches; `undefined` if none arrives in time, or `cancelled` aborts
 */
export function waitForRequest(
  log: Pick<RequestLog, 'list' | 'subscribe'>,
  wanted: Wanted,
  { after, ms, clock }: { readonly after: number; readonly ms: number; readonly clock: Clock },
  cancelled: AbortSignal,
): Promise<RequestSummary | undefined> {
  const isFound = (summary: RequestSummary): boolean =>
    summary.id > after && isOver(summary) && isWanted(summary, wanted);
  const arrived = log
    .list()
    .filter(isFound)
    .toSorted((one, other) => one.id - other.id)[0];
  if (arrived !== undefined || cancelled.aborted) return Promise.resolve(arrived);
  return new Promise((resolve) => {
    const end = (found?: RequestSummary): void => {
      unsubscribe();
      timer.cancel();
      cancelled.removeEventListener('abort', cancel);
      resolve(found);
    };
    const cancel = (): void => end();
    const unsubscribe = log.subscribe((summary) => {
      if (isFound(summary)) end(summary);
    });
    const timer = clock.setTimeout(cancel, ms);
    cancelled.addEventListener('abort', cancel, { once: true });
  });
}

/** A WebSocket is open for long after its response. */
function isOver({ durationMs, status, replayOf, isImported }: RequestSummary): boolean {
  const isVisitors = replayOf === undefined && !isImported;
  return isVisitors && (durationMs !== undefined || status === SWITCHING_PROTOCOLS);
}

export function isWanted(summary: RequestSummary, { method, path, status }: Wanted): boolean {
  return (
    (method === undefined || summary.method.toUpperCase() === method.toUpperCase()) &&
    (status === undefined || summary.status === status) &&
    (path === undefined || isPath(summary.target.split('?', 1)[0] ?? '', path))
  );
}

function isPath(path: string, wanted: string): boolean {
  return wanted.endsWith('*') ? path.startsWith(wanted.slice(0, -1)) : path === wanted;
}
