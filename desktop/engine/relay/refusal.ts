/** Reading what a relay says about a refusal. */
import type { IncomingHttpHeaders } from 'node:http';
import { withoutEnd } from '../../../shared/sentence.ts';
import { replaceUnprintable } from '../../../shared/unprintable.ts';
import { say } from '../said/said.ts';
import { RelayRefusal } from './errors.ts';

const ERROR_TEXT_MAX = 300;
const ERROR_CODE = /^[a-z0-9-]{1,64}$/;

/**
 * Reads a response with an error (docs/protocol.md section 2.2): the relay's own has JSON, and a 401 also the challenge of its scheme.
 *
 * @param now ms since the epoch
 */
export function readRefusal(
  status: number,
  headers: Pick<IncomingHttpHeaders, 'retry-after' | 'www-authenticate'>,
  body: string,
  now: number,
): RelayRefusal {
  const error = readErrorBody(body);
  const isChallenge = /^bearer\b/i.test(headers['www-authenticate'] ?? '');
  return new RelayRefusal(status, error?.text ?? say('relay.status', { status }), {
    code: error?.code,
    retryAfterMs: readRetryAfter(headers['retry-after'], now),
    isOwn: error !== undefined && (status !== 401 || isChallenge),
  });
}

/**
 * Text and code of `{"error": "<text>", "code": "<code>"}`, the text made safe for a terminal: nothing unprintable, bounded,
 * and without the mark that it ends with.
 *
 * @returns `undefined` when the body is not such JSON, as from a proxy in front of the relay; no code where there is none
 */
export function readErrorBody(body: string): { text: string; code: string | undefined } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { error, code } = value as Partial<Record<string, unknown>>;
  if (typeof error !== 'string') return undefined;
  // It becomes a part of sentences.
  const text = withoutEnd(replaceUnprintable(error.slice(0, ERROR_TEXT_MAX).toWellFormed(), ' '));
  if (text === '') return undefined;
  return {
    text,
    code: typeof code === 'string' && ERROR_CODE.test(code) ? code : undefined,
  };
}

/** ms of the longest wait that seconds can say; a date may be later. */
const RETRY_AFTER_MAX = 999_999_999_000;

/**
 * Reads a `Retry-After` field: whole seconds or a date (RFC 9110 section 10.2.3).
 *
 * @param now ms since the epoch
 * @returns ms to wait, of which callers wait as long as they think fit, or `undefined` when the field is missing or malformed
 */
export function readRetryAfter(value: string | null | undefined, now: number): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, date - now), RETRY_AFTER_MAX);
}
