import * as yup from 'yup';
import { formatDuration } from './duration.ts';
import { invalidLink } from './errors.ts';
import {
  ADDRESS,
  described,
  listOf,
  object,
  optional,
  type OptionalField,
  SHORT_ID,
  TEXT,
  TEXT_OR_EMPTY,
  TIME,
  type TypeOf,
} from './fields.ts';
import { check, isNotGiven, readGivenTtl, refuse, ttl } from './tunnel-requests.ts';
import type { ValueRule } from './value-rules.ts';

/** Signed links to a tunnel in the REST interface (docs/protocol.md section 11.2). */

/** @limit Characters of a note. */
export const LINK_NOTE_MAX_LENGTH = 64;
/** @limit Characters of a path. */
export const LINK_PATH_MAX_LENGTH = 1024;
/** @limit s that a link is valid if its owner does not choose. */
export const LINK_DEFAULT_TTL_SECONDS = 24 * 3600;
/** @limit The longest validity of a link, in s. */
export const LINK_MAX_TTL_SECONDS = 30 * 24 * 3600;

/** The query parameter of a link, which is removed before the local service sees the request. */
export const LINK_PARAMETER = 'culvert_pass';

/** A link in a list. */
export interface Link {
  /** 16 hexadecimal digits */
  id: string;
  /** the owner's note; may be empty */
  note: string;
  /** the path below the tunnel's address; by default the tunnel's start page */
  path?: string;
  /** RFC 3339, UTC */
  created_at: string;
  /** RFC 3339, UTC */
  expires_at: string;
}

/** A new link. Its address is shown only once. */
export interface NewLink extends Link {
  url: string;
}

/** The parsed create request. */
export interface CreateLink {
  /** s */
  ttl: number;
  note: string;
  path: string | undefined;
}

/* Rules for the values of a signed link from any source (docs/protocol.md section 11.2). */

/** Characters as users count them. An unpaired surrogate is not text, and cannot be encoded. */
const NOTE = new RegExp(String.raw`^[^\p{Cc}\p{Cs}]{0,${LINK_NOTE_MAX_LENGTH}}$`, 'u');
/** RFC 3986 sections 3.3 and 3.4: a path and an optional query. */
const PATH = /^\/(?!\/)(?:[\w!$&'()*+,./:;=?@~-]|%[\dA-Fa-f]{2})*$/;
/** A segment that URL parsers resolve to the folder itself or its parent, also percent-encoded. */
const DOTS = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;
/** A parameter that could be one of the relay's. */
const OWN_PARAMETER = /(?:^|&)culvert_/;

/** The note, which names the recipient of a link. */
export const LINK_NOTE_RULE: ValueRule = {
  accepts: (value) => typeof value === 'string' && NOTE.test(value),
  accepted: `up to ${LINK_NOTE_MAX_LENGTH} characters without control characters`,
};

/** The path of a link, below the tunnel's address. */
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

/* Requests of the REST interface for signed links (docs/protocol.md section 11.2). */

const note: OptionalField<string | null> = optional({
  schema: {
    type: ['string', 'null'],
    maxLength: LINK_NOTE_MAX_LENGTH,
    description: 'without control characters; the local service is told it as the name of whoever comes',
  },
  accepts: yup
    .mixed()
    .nullable()
    .test('note', (value: unknown, context) =>
      isNotGiven(value) || LINK_NOTE_RULE.accepts(value)
        ? true
        : refuse(context, invalidLink(`the note of a link must be ${LINK_NOTE_RULE.accepted}`)),
    ),
});

const path: OptionalField<string | null> = optional({
  schema: {
    type: ['string', 'null'],
    maxLength: LINK_PATH_MAX_LENGTH,
    description:
      "where the link leads below the tunnel's address; it does not keep visitors from other paths",
  },
  accepts: yup
    .mixed()
    .nullable()
    .test('path', (value: unknown, context) =>
      isNotGiven(value) || LINK_PATH_RULE.accepts(value)
        ? true
        : refuse(context, invalidLink(`the path of a link must be ${LINK_PATH_RULE.accepted}`)),
    ),
});

/** The create request, with fields in the order of validation. */
export const createLinkSchema = yup.object({ ttl: ttl(LINK_MAX_TTL_SECONDS), note, path }).strict();

/**
 * Reads the body of a request for a link.
 *
 * @param body parsed JSON
 * @throws ApiError for the first invalid field
 */
export function readCreateLink(body: unknown): CreateLink {
  const fields = check(CREATE_LINK, body);
  return {
    ttl: readGivenTtl(fields.ttl, LINK_MAX_TTL_SECONDS) ?? LINK_DEFAULT_TTL_SECONDS,
    note: fields.note ?? '',
    path: isNotGiven(fields.path) ? undefined : (fields.path ?? undefined),
  };
}
