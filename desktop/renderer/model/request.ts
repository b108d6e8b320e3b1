/** One line of the request log, in words. */
import type { RequestSummary } from '../../engine/inspector/records.ts';
import { latencyText } from './numbers.ts';

export type Outcome = 'pending' | 'fine' | 'failed' | 'broken';

/** How a request went: its row shows it in words as well as in colour. */
export function outcome(request: RequestSummary): Outcome {
  if (request.isBroken) return 'broken';
  if (request.status === undefined) return 'pending';
  return request.status >= 400 ? 'failed' : 'fine';
}

/** The status code, or a word if there is none; `200 cut` for a response that broke off. */
export function statusText(request: RequestSummary): string {
  if (request.status === undefined) return request.isBroken ? 'broken' : 'waiting';
  return request.isBroken ? `${request.status} cut` : String(request.status);
}

export function timeText(request: RequestSummary): string {
  return request.durationMs === undefined ? '' : latencyText(request.durationMs);
}
