/** Reading what a relay says about a refusal. */
import type { IncomingHttpHeaders } from 'node:http';
import { replaceUnprintable } from '../../../shared/unprintable.ts';
import { RelayRefusal } from './errors.ts';

const ERROR_TEXT_MAX = 300;

/**
 * Reads an answer with an error (docs/protocol.md section 2.2): the relay's own has JSON, and a 401 also the challenge of its scheme.
 *
 * @param now ms since the epoch
 */
export function readRefusal(
  status: number,
  headers: Pick<IncomingHttpHeaders, 'retry-after' | 'www-authenticate'>,
  body: string,
  now: number,
): RelayRefusal {
  const text = readErrorText(body);
  const isChallenge = /^bearer\b/i.test(headers['www-authenticate'] ?? '');
  return new RelayRefusal(status, text ?? `it answered with status ${status}`, {
    retryAfterMs: readRetryAfter(headers['retry-after'], now),
    isOwn: text !== undefined && (status !== 401 || isChallenge),
  });
}

/**
 * The text of `{"error": "<text>"}`, made safe for a terminal: nothing unprintable, bounded.
 *
 * @returns `undefined` when the body is no such JSON, as from a proxy in front of the relay
 */
export function readErrorText(body: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || !('error' in value)) return undefined;
  const { error } = value;
  if (typeof error !== 'string' || error === '') return undefined;
  return replaceUnprintable(error.slice(0, ERROR_TEXT_MAX), ' ');
}

/**
 * Reads a `Retry-After` field: whole seconds or a date (RFC 9110 section 10.2.3).
 *
 * @param now ms since the epoch
 * @returns ms to wait, or `undefined` when the field is missing or malformed
 */
export function readRetryAfter(value: string | null | undefined, now: number): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
