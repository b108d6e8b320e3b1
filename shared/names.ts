/** Names that an account keeps while they have no tunnel, as the REST interface has them (protocol.md section 16). */
import * as yup from 'yup';
import { UUID_PATTERN } from './control.ts';
import { API_ERRORS, ApiError, withValues } from './errors.ts';
import {
  described,
  type Field,
  type JsonObject,
  listOf,
  object,
  objectSchema,
  SHOWN_TIME,
  TEXT,
  type TypeOf,
  UUID,
} from './fields.ts';
import { hasUnprintable } from './unprintable.ts';
import { NAME_RULE, type ValueRule } from './value-rules.ts';

/**
 * Maximum length of what visitors read at a kept name that no client serves.
 * @limit owner: Length of the text of `culvert away` | 400 `invalid-name-change`
 */
export const AWAY_MAX_LENGTH = 500;

/** What visitors read while no client serves the name. Lines may end; nothing else moves a cursor or hides text. */
export const AWAY_RULE: ValueRule = {
  code: 'away',
  accepts: (value) =>
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.isWellFormed() &&
    Array.from(value).length <= AWAY_MAX_LENGTH &&
    !hasUnprintable(value.replaceAll('\n', ' ')),
  accepted: `1 to ${AWAY_MAX_LENGTH} characters`,
};

const AWAY: Field<string | null> = {
  schema: { type: ['string', 'null'], maxLength: AWAY_MAX_LENGTH, description: 'what visitors read' },
  accepts: yup
    .string()
    .test('away', (value) => value === undefined || value === null || AWAY_RULE.accepts(value))
    .nullable()
    .defined(),
};
const UNTIL: Field<string | null> = {
  schema: {
    ...SHOWN_TIME.schema,
    type: ['string', 'null'],
    description: 'when the owner expects to be back',
  },
  accepts: yup
    .string()
    .test('time', (value) => value === undefined || value === null || !Number.isNaN(Date.parse(value)))
    .nullable()
    .defined(),
};

const TUNNEL_ID: Field<string | null> = {
  schema: { ...UUID.schema, type: ['string', 'null'], description: 'of the live tunnel with that name' },
  accepts: yup.string().matches(UUID_PATTERN).nullable().defined(),
};

export const KEPT_NAME = object(
  {
    name: TEXT,
    created_at: SHOWN_TIME,
    away: AWAY,
    until: UNTIL,
    tunnel_id: TUNNEL_ID,
  },
  'KeptName',
);
export const KEPT_NAME_LIST = object({ names: listOf(KEPT_NAME, 'oldest first') }, 'KeptNameList');
export type KeptName = TypeOf<typeof KEPT_NAME>;

export const KEEP_NAME_SCHEMA: JsonObject = objectSchema(
  { name: described(TEXT, 'the name').schema },
  'KeepName',
);
export const CHANGE_NAME_SCHEMA: JsonObject = objectSchema(
  { 'away?': AWAY.schema, 'until?': UNTIL.schema },
  'ChangeName',
);

/** Changes to a kept name; what is left out stays. */
export interface NameChanges {
  readonly away?: string | null;
  /** wall time in ms */
  readonly until?: number | null;
}

/** @throws ApiError 400 */
export function readKeepName(body: unknown): string {
  const { name } = readObject(body);
  if (typeof name !== 'string' || !NAME_RULE.accepts(name)) throw new ApiError(API_ERRORS.invalidName);
  return name;
}

/** @throws ApiError 400 that names the field and what it accepts */
export function readNameChanges(body: unknown): NameChanges {
  const { away, until } = readObject(body);
  if (away !== undefined && away !== null && !AWAY_RULE.accepts(away))
    throw invalid('away', `${AWAY_RULE.accepted}, or null`);
  const time = until === undefined || until === null ? until : readTime(until);
  if (time === undefined && until !== undefined)
    throw invalid('until', 'a time such as 2030-01-31T09:00:00Z, or null');
  return {
    ...(away !== undefined && { away: away as string | null }),
    ...(time !== undefined && { until: time }),
  };
}

function invalid(field: 'away' | 'until', text: string): ApiError {
  return new ApiError(withValues(API_ERRORS.invalidNameChange, { field, rule: { code: field, text } }));
}

/** RFC 3339 section 5.6. */
const RFC_3339 = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

/** @returns wall time in ms; `undefined` for anything else than a time of RFC 3339 */
export function readTime(value: unknown): number | undefined {
  const time =
    typeof value === 'string' && RFC_3339.test(value) ? Date.parse(value.replace(' ', 'T')) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

function readObject(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  return body as Readonly<Record<string, unknown>>;
}

/** Longest beginning of a message in a list. */
const SHOWN_LENGTH = 100;

/** What a list shows of a message. */
export function firstLine(away: string): string {
  const whole = away.trim();
  const [first = ''] = whole.split('\n');
  const shown = Array.from(first).slice(0, SHOWN_LENGTH).join('');
  return shown === whole ? shown : `${shown.trimEnd()} …`;
}
