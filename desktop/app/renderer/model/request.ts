/** One line of the request log, in words. */
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import { REDACTED } from '../../../../shared/version.ts';
import { isUnsent, readableTarget } from '../../../client/inspector/readable.ts';
import type { RecordedMessage, RequestDetail, RequestSummary } from '../../../client/inspector/records.ts';
import type { MessageView } from '../../ipc/ipc.ts';
import { LOG_START, type LogPoint, type LogUpdate } from '../../ipc/request-views.ts';
import { t } from '../../messages/translate.ts';
import { latencyText } from './numbers.ts';

export type Outcome = 'unsent' | 'pending' | 'live' | 'fine' | 'refused' | 'failed' | 'broken';

/**
 * The outcome of a request, which its row shows in words as well as in colour: `refused` with a status of 4xx, `failed`
 * from 500 on.
 */
export function outcome(request: RequestSummary): Outcome {
  if (request.isBroken) return 'broken';
  if (isUnsent(request)) return 'unsent';
  if (request.status === undefined) return 'pending';
  if (request.status >= 500) return 'failed';
  if (request.status >= 400) return 'refused';
  return request.durationMs === undefined ? 'live' : 'fine';
}

/** The status code, or a word if there is none; `200 cut` for a response that broke off. */
export function statusText(request: RequestSummary): string {
  if (outcome(request) === 'unsent') return t('request.status.notSent');
  if (request.status === undefined)
    return request.isBroken ? t('request.status.broken') : t('request.status.waiting');
  return request.isBroken ? t('request.status.cut', { status: request.status }) : String(request.status);
}

/** The duration; `live` while the response arrives. */
export function timeText(request: RequestSummary): string {
  if (outcome(request) === 'unsent') return '';
  if (request.durationMs !== undefined) return latencyText(request.durationMs);
  return request.status === undefined || request.isBroken ? '' : t('request.status.live');
}

/** The address in readable form, with characters made visible that hide or reverse text. */
export function targetText({ target }: Pick<RequestSummary, 'target'>): string {
  return escapeUnprintable(readableTarget(target));
}

/** The length of the duration bar, from 0 to 1: each factor of ten adds as much, up to 10 s. */
export function durationFraction(ms: number): number {
  return Math.min(1, Math.log10(1 + Math.max(0, ms)) / 4);
}

/** The time since a request: `now`, `12 s`, `5 min`, `3 h`, `2 d`. Times in wall-clock ms. */
export function agoText(startedAt: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - startedAt) / 1000));
  if (seconds < 5) return t('log.now');
  if (seconds < 60) return t('time.seconds', { seconds: Math.floor(seconds / 5) * 5 });
  if (seconds < 3600) return t('time.minutes', { minutes: Math.floor(seconds / 60) });
  return seconds < 86_400
    ? t('time.hours', { hours: Math.floor(seconds / 3600) })
    : t('time.days', { days: Math.floor(seconds / 86_400) });
}

/* What can be done with a request, and what of it is hidden. */

export type MessageKind = 'request' | 'response';

const SWITCHING_PROTOCOLS = 101;

/** The number of replaced secrets in a message. */
export function hiddenSecrets({ startLine, fields }: Pick<RecordedMessage, 'startLine' | 'fields'>): number {
  return [startLine, ...fields.map(([, value]) => value)].reduce(
    (count, text) => count + text.split(REDACTED).length - 1,
    0,
  );
}

/** The fields that say most about a message: its type, and whether its connection is kept. */
export function headersSummary(fields: RecordedMessage['fields']): string {
  const valueOf = (wanted: string): string =>
    fields.find(([name]) => name.toLowerCase() === wanted)?.[1].split(';')[0] ?? '';
  return ['content-type', 'connection']
    .map(valueOf)
    .filter((value) => value !== '')
    .map((value) => escapeUnprintable(value))
    .join(' · ');
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

/**
 * Returns the previous message if nothing has arrived since: a running request is read repeatedly while it is shown,
 * and its unchanged parts must not be redrawn.
 *
 * @param before the same message, read earlier with the same secrets shown
 */
export function savedMessage(before: MessageView | undefined, next: MessageView): MessageView {
  const isSame = before?.body.length === next.body.length && before.isTruncated === next.isTruncated;
  return isSame ? before : next;
}

/*
 * Describes who made a request.
 *
 * @param visitor as the request log has it: `link:for the review`, `basic:ann`, `token:ci`, `password`, `knock`
 */

export function visitorWords(visitor: string): string {
  const [way = '', ...rest] = visitor.split(':');
  const name = rest.join(':');
  switch (way) {
    case 'link':
      return name === '' ? t('visitor.withLink') : t('visitor.withTheLink', { name });
    case 'basic':
      return t('visitor.as', { name });
    case 'token':
      return t('visitor.withToken', { name });
    case 'password':
      return t('visitor.withPassword');
    case 'knock':
      return t('visitor.admitted');
    default:
      return t('visitor.asVisitor', { visitor });
  }
}

/* The page's copy of a request log, updated with its changes. */

export interface KnownLog {
  /** the last update */
  readonly at: LogPoint;
  /** newest first */
  readonly requests: readonly RequestSummary[];
}

export const NOTHING_KNOWN: KnownLog = { at: LOG_START, requests: [] };

/** Applies an update to the log. Unchanged requests stay the same objects, and so does an unchanged list. */
export function updated(known: KnownLog, { at, isWhole, oldest, requests }: LogUpdate): KnownLog {
  const before = isWhole ? [] : known.requests;
  const isSame = requests.length === 0 && (before.at(-1)?.id ?? oldest) >= oldest;
  if (isSame) return { at, requests: before };
  const changed = new Map(requests.map((request) => [request.id, request]));
  const kept = before.filter(({ id }) => id >= oldest && !changed.has(id));
  return { at, requests: [...requests, ...kept].sort((one, other) => other.id - one.id) };
}
