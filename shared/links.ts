import * as yup from 'yup';
import { typedDuration } from './duration.ts';
import { API_ERRORS, type ApiErrorEntry, withValues } from './errors.ts';
import {
  ADDRESS,
  described,
  listOf,
  MARK,
  object,
  optional,
  type OptionalField,
  SHORT_ID,
  TEXT,
  TEXT_OR_EMPTY,
  TIME,
  type TypeOf,
  withDefault,
} from './fields.ts';
import { check, isNotGiven, readGivenTtl, refuse, ttl } from './tunnel-requests.ts';
import type { ValueRule } from './value-rules.ts';

/** Signed links to a tunnel, as the REST interface has them (protocol.md section 11.2). */

/** Maximum length of a signed link's note. */
export const LINK_NOTE_MAX_LENGTH = 64;
/** Maximum length of a signed link's path. */
export const LINK_PATH_MAX_LENGTH = 1024;
/** Default lifetime of a signed link. */
export const LINK_DEFAULT_TTL_SECONDS = 24 * 3600;
/**
 * Longest lifetime of a signed link.
 * @limit owner: Lifetime of a signed link | 400 `invalid-link`
 */
export const LINK_MAX_TTL_SECONDS = 30 * 24 * 3600;

/** The query parameter of a link's address. Local services never see it. */
export const LINK_PARAMETER = 'culvert_pass';

/** A link as it is listed. */
export const LINK = object(
  {
    id: SHORT_ID,
    note: TEXT_OR_EMPTY,
    path: optional(described(TEXT_OR_EMPTY, "the path and query, relative to the tunnel's address")),
    once: { ...MARK, schema: { ...MARK.schema, description: 'admits only the first browser that opens it' } },
    used_at: optional(described(TIME, 'when that browser opened it; missing until then')),
    created_at: TIME,
    expires_at: TIME,
  },
  'Link',
);
export const LINK_LIST = object({ links: listOf(LINK, 'newest first') }, 'LinkList');
export type Link = TypeOf<typeof LINK>;

/** A new link: the only response that has its address. */
export const NEW_LINK = object(
  {
    ...LINK.fields,
    url: {
      ...described(ADDRESS, 'the address of the link, which is not shown again'),
      // It has a query.
      accepts: TEXT.accepts,
    },
  },
  'NewLink',
);
export type NewLink = TypeOf<typeof NEW_LINK>;

/** The create request, read. */
export interface CreateLink {
  /** s */
  ttl: number;
  note: string;
  path: string | undefined;
  /** whether it admits only the first browser that opens it */
  once?: true;
}

/* What the values of a signed link may be, wherever they come from (protocol.md section 11.2). */

/** Characters as people count them. Half of a surrogate pair is no text, and cannot be written as one. */
const NOTE = new RegExp(String.raw`^[^\p{Cc}\p{Cs}]{0,${LINK_NOTE_MAX_LENGTH}}$`, 'u');
/** RFC 3986 sections 3.3 and 3.4: a path and perhaps a query. */
const PATH = /^\/(?!\/)(?:[\w!$&'()*+,./:;=?@~-]|%[\dA-Fa-f]{2})*$/;
/** A segment that URL parsers take for the folder itself or the one above, also percent-encoded. */
const DOTS = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;
/** A parameter that could be one of the relay's own. */
const OWN_PARAMETER = /(?:^|&)culvert_/;

/** The note of a link: who it is for. */
export const LINK_NOTE_RULE: ValueRule = {
  accepts: (value) => typeof value === 'string' && NOTE.test(value),
  accepted: `up to ${LINK_NOTE_MAX_LENGTH} characters without control characters`,
};

/** Where a link leads below the tunnel's address. */
export const LINK_PATH_RULE: ValueRule = {
  accepts: (value) => typeof value === 'string' && isPath(value),
  accepted:
    `up to ${LINK_PATH_MAX_LENGTH} characters of a URL that begin with one slash, without . and .. between slashes, ` +
    'without a fragment, and without parameters that begin with culvert_',
};

function isPath(text: string): boolean {
  if (text.length > LINK_PATH_MAX_LENGTH || !PATH.test(text)) return false;
  const [below = '', ...query] = text.split('?');
  return !DOTS.test(below) && !OWN_PARAMETER.test(query.join('?'));
}

/* Requests for signed links, as the REST interface accepts them (protocol.md section 11.2). */

function invalidLink(field: string, { accepted }: Pick<ValueRule, 'accepted'>): ApiErrorEntry {
  return withValues(API_ERRORS.invalidLink, { field, rule: { code: field, text: accepted } });
}

const note: OptionalField<string | null> = optional({
  schema: {
    type: ['string', 'null'],
    maxLength: LINK_NOTE_MAX_LENGTH,
    description: "the recipient's name, which the local service receives; control characters are not allowed",
  },
  accepts: yup
    .mixed()
    .nullable()
    .test('note', (value: unknown, context) =>
      isNotGiven(value) || LINK_NOTE_RULE.accepts(value)
        ? true
        : refuse(context, invalidLink('note', LINK_NOTE_RULE)),
    ),
});

const path: OptionalField<string | null> = optional({
  schema: {
    type: ['string', 'null'],
    maxLength: LINK_PATH_MAX_LENGTH,
    description: 'the path and query that the link opens; visitors can open other paths as well',
  },
  accepts: yup
    .mixed()
    .nullable()
    .test('path', (value: unknown, context) =>
      isNotGiven(value) || LINK_PATH_RULE.accepts(value)
        ? true
        : refuse(context, invalidLink('path', LINK_PATH_RULE)),
    ),
});

const once: OptionalField<boolean | null> = optional({
  schema: {
    type: ['boolean', 'null'],
    description: withDefault('whether the link admits only the first browser that opens it', 'false'),
  },
  accepts: yup
    .mixed()
    .nullable()
    .test('once', (value: unknown, context) =>
      isNotGiven(value) || typeof value === 'boolean'
        ? true
        : refuse(context, invalidLink('once', { accepted: 'true or false' })),
    ),
});

/** The create request, fields in the order in which they are checked. */
export const CREATE_LINK = object(
  {
    ttl: ttl(
      LINK_MAX_TTL_SECONDS,
      `a duration, such as \`30m\` or \`24h\`, of at least 1s and at most ${typedDuration(LINK_MAX_TTL_SECONDS)}`,
      LINK_DEFAULT_TTL_SECONDS,
    ),
    note,
    path,
    once,
  },
  'CreateLink',
);

/**
 * Reads the body of a request for a link.
 *
 * @param body parsed JSON
 * @param maxTtl longest lifetime that the key allows, in seconds
 * @throws ApiError for the first field that breaks a rule
 */
export function readCreateLink(body: unknown, maxTtl = Infinity): CreateLink {
  const fields = check(CREATE_LINK, body);
  return {
    ttl:
      readGivenTtl(fields.ttl, Math.min(maxTtl, LINK_MAX_TTL_SECONDS)) ??
      Math.min(maxTtl, LINK_DEFAULT_TTL_SECONDS),
    note: fields.note ?? '',
    path: isNotGiven(fields.path) ? undefined : (fields.path ?? undefined),
    ...(fields.once === true && { once: true }),
  };
}
