/** Requests for signed links, as the REST interface accepts them (docs/protocol.md section 11.2). */
import * as yup from 'yup';
import { invalidLink } from './errors.ts';
import {
  type CreateLink,
  LINK_DEFAULT_TTL_SECONDS,
  LINK_MAX_TTL_SECONDS,
  LINK_NOTE_MAX_LENGTH,
  LINK_PATH_MAX_LENGTH,
} from './links.ts';
import { check, readGivenTtl, refuse, ttl } from './request-fields.ts';

const NOTE_RULE = `the note of a link must be up to ${LINK_NOTE_MAX_LENGTH} characters without control characters`;
const PATH_RULE =
  `the path of a link must be up to ${LINK_PATH_MAX_LENGTH} characters of a URL that begin with one slash, without . and .. between slashes, ` +
  'without a fragment, and without parameters that begin with culvert_';

/** Characters as people count them. Half of a surrogate pair is no text, and cannot be written as one. */
const NOTE = new RegExp(String.raw`^[^\p{Cc}\p{Cs}]{0,${LINK_NOTE_MAX_LENGTH}}$`, 'u');
/** RFC 3986 sections 3.3 and 3.4: a path and perhaps a query. */
const PATH = /^\/(?!\/)(?:[\w!$&'()*+,./:;=?@~-]|%[\dA-Fa-f]{2})*$/;
/** A segment that URL parsers take for the folder itself or the one above, also percent-encoded. */
const DOTS = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;
/** A parameter that could be one of the relay's own. */
const OWN_PARAMETER = /(?:^|&)culvert_/;

const note = yup
  .mixed<string>()
  .nullable()
  .test('note', (value: unknown, context) =>
    isNotGiven(value) || isNote(value) ? true : refuse(context, invalidLink(NOTE_RULE)),
  );

const path = yup
  .mixed<string>()
  .nullable()
  .test('path', (value: unknown, context) =>
    isNotGiven(value) || isLinkPath(value) ? true : refuse(context, invalidLink(PATH_RULE)),
  );

/** The create request, fields in the order in which they are checked. */
export const createLinkSchema = yup.object({ ttl: ttl(LINK_MAX_TTL_SECONDS), note, path }).strict();

/**
 * Reads the body of a request for a link.
 *
 * @param body parsed JSON
 * @throws ApiError for the first field that breaks a rule
 */
export function readCreateLink(body: unknown): CreateLink {
  const fields = check(createLinkSchema, body);
  return {
    ttl: readGivenTtl(fields.ttl, LINK_MAX_TTL_SECONDS) ?? LINK_DEFAULT_TTL_SECONDS,
    note: fields.note ?? '',
    path: isNotGiven(fields.path) ? undefined : (fields.path ?? undefined),
  };
}

/** Whether a link can lead there. */
export function isLinkPath(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > LINK_PATH_MAX_LENGTH || !PATH.test(value)) return false;
  const [below = '', ...query] = value.split('?');
  return !DOTS.test(below) && !OWN_PARAMETER.test(query.join('?'));
}

function isNote(value: unknown): boolean {
  return typeof value === 'string' && NOTE.test(value);
}

function isNotGiven(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
