/** What came of the requests of sets that were sent. */
import { t } from '../../i18n/translate.ts';
import type { SendResult } from '../../shared/bench.ts';
import { isOk } from './bench/until-ok.ts';

/** A request that was sent: its number in the log, and the status of the response, if one came. */
export type KeptResult = Extract<SendResult, { sent: unknown }>['sent'];

/** By id of the kept request. */
export type KeptResults = ReadonlyMap<string, KeptResult>;

/** @param count of requests that were to be sent */
export function progressWords(done: number, count: number): string {
  return t('sets.progress', { done, count });
}

/** How it went, once all are sent. */
export function sentWords(results: readonly KeptResult[]): string {
  return t('sets.sent', { count: results.length, ok: results.filter(({ status }) => isOk(status)).length });
}

/** What stands at a request that was sent. */
export function resultText({ status }: KeptResult): string {
  return status === undefined ? t('sets.noResponse') : String(status);
}

/** Whether its response is one that a service sends when all is well. */
export function isFine({ status }: KeptResult): boolean {
  return status !== undefined && status < 400;
}
