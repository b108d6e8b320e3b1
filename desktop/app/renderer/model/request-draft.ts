/** What is typed of a request that is edited. */
import type { EditForm, EditView, SendResult } from '../../ipc/request-views.ts';
import { t } from '../../messages/translate.ts';

export interface HeaderDraft {
  /** stays the same while others come and go */
  readonly key: number;
  readonly name: string;
  readonly value: string;
}

export interface EditDraft {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderDraft[];
  /** `undefined`: the one that was recorded */
  readonly body: string | undefined;
  /** whether it gets a new signature, where it can have one */
  readonly signs: boolean;
}

export function draftOf({ method, target, fields, signer }: EditView): EditDraft {
  const headers = fields.map(([name, value], key) => ({ key, name, value }));
  // The signature that it came with fits neither another body nor another day.
  return { method, target, headers, body: undefined, signs: signer !== undefined };
}

export function withHeader(draft: EditDraft): EditDraft {
  const key = Math.max(-1, ...draft.headers.map((header) => header.key)) + 1;
  return { ...draft, headers: [...draft.headers, { key, name: '', value: '' }] };
}

export function changeHeader(draft: EditDraft, key: number, change: Partial<HeaderDraft>): EditDraft {
  const headers = draft.headers.map((header) => (header.key === key ? { ...header, ...change } : header));
  return { ...draft, headers };
}

export function withoutHeader(draft: EditDraft, key: number): EditDraft {
  return { ...draft, headers: draft.headers.filter((header) => header.key !== key) };
}

/** As it is sent. A text field knows line feeds only: where lines ended with CR and LF, they do again. */
export function formOf({ method, target, headers, body, signs }: EditDraft, view: EditView): EditForm {
  const hadCrlf = view.body !== undefined && /\r\n/.test(view.body) && !/[^\r]\n/.test(view.body);
  return {
    method: method.trim(),
    target: target.trim(),
    fields: headers.map(({ name, value }) => [name.trim(), value]),
    body: body === undefined ? null : hadCrlf ? body.replaceAll(/\r?\n/g, '\r\n') : body,
    signs: signs && view.signer !== undefined,
  };
}

/** When a request that is repeated until it succeeds is sent the next time. */

/** Requests that are sent; nobody watches more. */
export const TRIES_MAX = 30;
/** ms in all. */
export const UNTIL_MS = 10 * 60_000;
/** ms between two looks whether the local server listens again. */
const LISTEN_MS = 1000;
/** ms before the second try, half as much again before each further one, and at most so many. */
const FIRST_MS = 2000;
const LAST_MS = 30_000;

/**
 * ms until the next try.
 *
 * @param tries requests that have been sent
 * @param isRefused nothing listens on the local port, so nothing was sent
 * @param elapsedMs since the first try
 * @returns `undefined` once it is over
 */
export function nextTry(tries: number, isRefused: boolean, elapsedMs: number): number | undefined {
  const wait = isRefused ? LISTEN_MS : Math.min(FIRST_MS * 1.5 ** Math.max(0, tries - 1), LAST_MS);
  return tries >= TRIES_MAX || elapsedMs + wait > UNTIL_MS ? undefined : wait;
}

/** A final response of the 2xx class. */
export function isOk(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}

/* What came of the requests of sets that were sent. */

/** A request that was sent: its number in the log, and the status of the response, if one came. */
export type SavedResult = Extract<SendResult, { sent: unknown }>['sent'];

/** By id of the kept request. */
export type SavedResults = ReadonlyMap<string, SavedResult>;

/** @param count of requests that were to be sent */
export function progressWords(done: number, count: number): string {
  return t('sets.progress', { done, count });
}

/** How it went, once all are sent. */
export function sentWords(results: readonly SavedResult[]): string {
  return t('sets.sent', { count: results.length, ok: results.filter(({ status }) => isOk(status)).length });
}

/** What stands at a request that was sent. */
export function resultText({ status }: SavedResult): string {
  return status === undefined ? t('sets.noResponse') : String(status);
}

/** Whether its response is one that a service sends when all is well. */
export function isFine({ status }: SavedResult): boolean {
  return status !== undefined && status < 400;
}
