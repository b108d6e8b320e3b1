import type { RequestSummary } from '../engine/inspector/records.ts';

/** Whether a request is only written down here: it was not sent, and no response came with it. */
export function isUnsent({
  isImported,
  status,
  durationMs,
  isBroken,
}: Pick<RequestSummary, 'isImported' | 'status' | 'durationMs' | 'isBroken'>): boolean {
  return isImported && status === undefined && durationMs !== undefined && !isBroken;
}
