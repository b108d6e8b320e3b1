/** Visitors who knock at a tunnel, and how its owner answers them (docs/protocol.md section 11.3). */
import { formatDuration, parseDuration } from './duration.ts';
import { API_ERRORS, ApiError, invalidKnockAnswer } from './errors.ts';

/** @limit s for which a visitor waits for an answer. */
export const KNOCK_SECONDS = 5 * 60;
/** @limit s for which somebody is let in where the owner says nothing. */
export const ADMISSION_DEFAULT_SECONDS = 3600;
/** @limit The most s for which somebody is let in: as long as a signed link may be good. */
export const ADMISSION_MAX_SECONDS = 30 * 24 * 3600;

const ADMIT_RULE = 'admit must be true or false';
const FOR_RULE = `for must be a duration such as 1h, of at least 1s and at most ${formatDuration(ADMISSION_MAX_SECONDS)}`;

/** A knock as the REST interface shows it. */
export interface Knock {
  /** 16 hexadecimal digits */
  id: string;
  status: 'waiting' | 'admitted' | 'refused';
  /** the visitor's IP address */
  address: string;
  /** what the visitor's `User-Agent` says, without control characters; `''` without one */
  agent: string;
  /** RFC 3339, UTC, milliseconds */
  at: string;
  /** until when the visitor waits, is in, or may not knock again; RFC 3339, UTC, milliseconds */
  ends_at: string;
}

/** Whether somebody is let in: for how many seconds, or not. */
export type KnockAnswer = { readonly admit: false } | { readonly admit: true; readonly seconds: number };

/**
 * @param body parsed JSON
 * @throws ApiError that names the field and what it takes
 */
export function readKnockAnswer(body: unknown): KnockAnswer {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  const { admit, for: duration } = body as Partial<Record<string, unknown>>;
  if (typeof admit !== 'boolean') throw new ApiError(invalidKnockAnswer(ADMIT_RULE));
  const seconds = readFor(duration);
  return admit ? { admit, seconds } : { admit };
}

function readFor(given: unknown): number {
  if (given === undefined || given === null) return ADMISSION_DEFAULT_SECONDS;
  const seconds = typeof given === 'string' ? parseDuration(given) : undefined;
  if (seconds === undefined || seconds < 1 || seconds > ADMISSION_MAX_SECONDS)
    throw new ApiError(invalidKnockAnswer(FOR_RULE));
  return seconds;
}
