/** The draft of an edited request. */
import type { EditForm, EditView, SendResult } from '../../ipc/request-views.ts';
import { t } from '../../messages/translate.ts';

export interface HeaderDraft {
  /** identifies the header while others are added and removed */
  readonly key: number;
  readonly name: string;
  readonly value: string;
}

export interface EditDraft {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderDraft[];
  /** `undefined` keeps the recorded one */
  readonly body: string | undefined;
  /** whether to sign it again, if possible */
  readonly signs: boolean;
}

export function draftOf({ method, target, fields, signer }: EditView): EditDraft {
  const headers = fields.map(([name, value], key) => ({ key, name, value }));
  // The recorded signature is invalid for another body or another day.
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

/** The request to send. Text fields only contain line feeds: lines that ended with CR and LF get them back. */
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

/** Schedules a request that is repeated until it succeeds. */

/** Maximum number of tries; nobody watches more. */
export const TRIES_MAX = 30;
/** Maximum duration in ms. */
export const UNTIL_MS = 10 * 60_000;
/** ms between two checks whether the local server listens again. */
const LISTEN_MS = 1000;
/** ms before the second try; each further wait is half as much longer, up to a maximum. */
const FIRST_MS = 2000;
const LAST_MS = 30_000;

/**
 * ms until the next try.
 *
 * @param tries number of requests sent so far
 * @param isRefused whether nothing listens on the local port, so that nothing was sent
 * @param elapsedMs since the first try
 * @returns `undefined` at the end
 */
export function nextTry(tries: number, isRefused: boolean, elapsedMs: number): number | undefined {
  const wait = isRefused ? LISTEN_MS : Math.min(FIRST_MS * 1.5 ** Math.max(0, tries - 1), LAST_MS);
  return tries >= TRIES_MAX || elapsedMs + wait > UNTIL_MS ? undefined : wait;
}

/** A final response of the 2xx class. */
export function isOk(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}

/* Results of sending the requests of collections. */

/** A sent request: its number in the log, and the status of its response, if there was one. */
export type SavedResult = Extract<SendResult, { sent: unknown }>['sent'];

/** By id of the saved request. */
export type SavedResults = ReadonlyMap<string, SavedResult>;

/** @param count number of requests to send */
export function progressWords(done: number, count: number): string {
  return t('sets.progress', { done, count });
}

/** The overall result, once all are sent. */
export function sentWords(results: readonly SavedResult[]): string {
  return t('sets.sent', { count: results.length, ok: results.filter(({ status }) => isOk(status)).length });
}

/** The result beside a sent request. */
export function resultText({ status }: SavedResult): string {
  return status === undefined ? t('sets.noResponse') : String(status);
}

/** Whether the response means success. */
export function isFine({ status }: SavedResult): boolean {
  return status !== undefined && status < 400;
}
