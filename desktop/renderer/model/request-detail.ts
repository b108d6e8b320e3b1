/** What can be done with one request, and what of it is not shown. */
import { REDACTED } from '../../../shared/redacted.ts';
import type { RecordedMessage, RequestDetail } from '../../engine/inspector/records.ts';

const SWITCHING_PROTOCOLS = 101;

/** How many secrets of a message were replaced. */
export function hiddenSecrets({ startLine, fields }: Pick<RecordedMessage, 'startLine' | 'fields'>): number {
  return [startLine, ...fields.map(([, value]) => value)].reduce(
    (count, text) => count + text.split(REDACTED).length - 1,
    0,
  );
}

/**
 * Why a request cannot be sent again; `undefined` if it can.
 *
 * @param canReach whether its tunnel is online
 */
export function replayProblem(
  {
    request,
    status,
    durationMs,
    isBroken,
  }: Pick<RequestDetail, 'request' | 'status' | 'durationMs' | 'isBroken'>,
  canReach: boolean,
): string | undefined {
  if (request.isTruncated) return 'Only the beginning of its body is kept, so it cannot be sent again.';
  if (status === SWITCHING_PROTOCOLS) return 'It opened a WebSocket, which cannot be sent again.';
  if (status === undefined && durationMs === undefined && isBroken)
    return 'It broke off before all of it had come, so it cannot be sent again.';
  return canReach ? undefined : 'Replay needs the tunnel to be online.';
}
