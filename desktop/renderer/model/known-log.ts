/** What the page knows of a request log, kept up to date by what has changed in it. */
import type { RequestSummary } from '../../engine/inspector/records.ts';
import { LOG_START, type LogPoint, type LogUpdate } from '../../shared/log.ts';

export interface KnownLog {
  /** how far it is read */
  readonly at: LogPoint;
  /** newest first */
  readonly requests: readonly RequestSummary[];
}

export const NOTHING_KNOWN: KnownLog = { at: LOG_START, requests: [] };

/** The log after an update; requests that did not change stay the same objects, and so does a list without changes. */
export function updated(known: KnownLog, { at, isWhole, oldest, requests }: LogUpdate): KnownLog {
  const before = isWhole ? [] : known.requests;
  const isSame = requests.length === 0 && (before.at(-1)?.id ?? oldest) >= oldest;
  if (isSame) return { at, requests: before };
  const changed = new Map(requests.map((request) => [request.id, request]));
  const kept = before.filter(({ id }) => id >= oldest && !changed.has(id));
  return { at, requests: [...requests, ...kept].sort((one, other) => other.id - one.id) };
}
