/** What can be done with one request, and what of it is not shown. */
import { t } from '../../i18n/translate.ts';
import { REDACTED } from '../../../shared/redacted.ts';
import type { RecordedMessage, RequestDetail } from '../../engine/inspector/records.ts';

export type MessageKind = 'request' | 'response';

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
  if (request.isTruncated) return t('request.cutBody');
  if (status === SWITCHING_PROTOCOLS) return t('request.webSocket');
  if (status === undefined && durationMs === undefined && isBroken) return t('request.incomplete');
  return canReach ? undefined : t('request.needsOnline');
}
