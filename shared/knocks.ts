/** Visitors who knock at a tunnel, and the owner's answers (protocol.md section 11.3). */
import * as yup from 'yup';
import { AGENT_CLIENT } from './agents.ts';
import { parseDuration, typedDuration } from './duration.ts';
import { API_ERRORS, ApiError, type Clause, withValues } from './errors.ts';
import {
  described,
  givenDuration,
  listOf,
  object,
  objectSchema,
  oneOf,
  optional,
  SHORT_ID,
  SHOWN_TIME,
  TEXT,
  type TypeOf,
} from './fields.ts';

/**
 * How long a visitor waits for the response to an approval request.
 * @limit visitor: Wait for the owner's decision on an approval request | the request expires; the visitor can ask again
 */
export const KNOCK_SECONDS = 5 * 60;
/** How long an approved visitor has access by default. */
const ADMISSION_DEFAULT_SECONDS = 3600;
/** Longest time for which a visitor can be approved, as for a signed link. */
export const ADMISSION_MAX_SECONDS = 30 * 24 * 3600;

/** A knock as the REST interface shows it. */
export const KNOCK = object(
  {
    id: SHORT_ID,
    status: oneOf(['waiting', 'admitted', 'refused']),
    address: described(TEXT, "the visitor's IP address"),
    // The visitor chooses it: what is done with it must not depend on what it says.
    agent: {
      ...described(TEXT, "the visitor's `User-Agent` header, without control characters"),
      accepts: yup.string().defined(),
    },
    at: SHOWN_TIME,
    ends_at: described(SHOWN_TIME, "when the visitor's wait, access or denial ends"),
    client: optional(described(AGENT_CLIENT, 'the agent that the visitor asks for, if it is for one')),
  },
  'Knock',
);
export const KNOCK_LIST = object({ knocks: listOf(KNOCK, 'oldest first') }, 'KnockList');
export type Knock = TypeOf<typeof KNOCK>;

/** Whether a visitor is approved, and for how many seconds. */
export type KnockAnswer = { readonly admit: false } | { readonly admit: true; readonly seconds: number };

export const KNOCK_ANSWER_SCHEMA = objectSchema(
  {
    admit: { type: 'boolean', description: 'whether to approve the visitor' },
    'for?': givenDuration(
      `how long the approval lasts, at most ${typedDuration(ADMISSION_MAX_SECONDS)}`,
      ADMISSION_DEFAULT_SECONDS,
    ),
  },
  'KnockAnswer',
);

/**
 * @param body parsed JSON
 * @param maxSeconds the longest approval that the key allows
 * @throws ApiError that names the field and the accepted values
 */
export function readKnockAnswer(body: unknown, maxSeconds = Infinity): KnockAnswer {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  const { admit, for: duration } = body as Partial<Record<string, unknown>>;
  if (typeof admit !== 'boolean')
    throw new ApiError(
      withValues(API_ERRORS.invalidKnockAnswer, {
        field: 'admit',
        rule: { code: 'flag', text: 'true or false' },
      }),
    );
  const seconds = readFor(duration, Math.min(maxSeconds, ADMISSION_MAX_SECONDS));
  return admit ? { admit, seconds } : { admit };
}

function readFor(given: unknown, max: number): number {
  if (given === undefined || given === null) return ADMISSION_DEFAULT_SECONDS;
  const seconds = typeof given === 'string' ? parseDuration(given) : undefined;
  if (seconds === undefined || seconds < 1 || seconds > max)
    throw new ApiError(
      withValues(API_ERRORS.invalidKnockAnswer, { field: 'for', rule: durationUpTo(typedDuration(max)) }),
    );
  return seconds;
}

function durationUpTo(max: string): Clause {
  const text = `a duration such as 1h, of at least 1s and at most ${max}`;
  return { code: 'duration', text, values: { max } };
}
