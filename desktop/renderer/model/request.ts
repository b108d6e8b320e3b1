/** One line of the request log, in words. */
import { t } from '../../i18n/translate.ts';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import type { RequestSummary } from '../../engine/inspector/records.ts';
import { isUnsent } from '../../shared/unsent.ts';
import { readableTarget } from '../../shared/readable-target.ts';
import { latencyText } from './numbers.ts';

export type Outcome = 'unsent' | 'pending' | 'live' | 'fine' | 'failed' | 'broken';

/** How a request went: its row shows it in words as well as in colour. */
export function outcome(request: RequestSummary): Outcome {
  if (request.isBroken) return 'broken';
  if (isUnsent(request)) return 'unsent';
  if (request.status === undefined) return 'pending';
  if (request.status >= 400) return 'failed';
  return request.durationMs === undefined ? 'live' : 'fine';
}

/** The status code, or a word if there is none; `200 cut` for a response that broke off. */
export function statusText(request: RequestSummary): string {
  if (outcome(request) === 'unsent') return t('request.status.notSent');
  if (request.status === undefined)
    return request.isBroken ? t('request.status.broken') : t('request.status.waiting');
  return request.isBroken ? t('request.status.cut', { status: request.status }) : String(request.status);
}

/** How long it took; `live` while its response comes. */
export function timeText(request: RequestSummary): string {
  if (outcome(request) === 'unsent') return '';
  if (request.durationMs !== undefined) return latencyText(request.durationMs);
  return request.status === undefined || request.isBroken ? '' : t('request.status.live');
}

/** The address as people read it, with nothing in it that hides or turns around the rest. */
export function targetText({ target }: Pick<RequestSummary, 'target'>): string {
  return escapeUnprintable(readableTarget(target));
}

/** How long a bar for it is, from 0 to 1: each factor of ten adds as much, up to 10 s. */
export function durationFraction(ms: number): number {
  return Math.min(1, Math.log10(1 + Math.max(0, ms)) / 4);
}

/** When it came, seen from now: `now`, `12 s`, `5 min`, `3 h`, `2 d`. Times in wall-clock ms. */
export function agoText(startedAt: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - startedAt) / 1000));
  if (seconds < 5) return t('log.now');
  if (seconds < 60) return t('time.seconds', { seconds: Math.floor(seconds / 5) * 5 });
  if (seconds < 3600) return t('time.minutes', { minutes: Math.floor(seconds / 60) });
  return seconds < 86_400
    ? t('time.hours', { hours: Math.floor(seconds / 3600) })
    : t('time.days', { days: Math.floor(seconds / 86_400) });
}
