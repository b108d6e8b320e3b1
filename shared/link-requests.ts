/** Requests for signed links, as the REST interface accepts them (docs/protocol.md section 11.2). */
import * as yup from 'yup';
import { invalidLink } from './errors.ts';
import { LINK_NOTE_RULE, LINK_PATH_RULE } from './link-rules.ts';
import { type CreateLink, LINK_DEFAULT_TTL_SECONDS, LINK_MAX_TTL_SECONDS } from './links.ts';
import { check, readGivenTtl, refuse, ttl } from './request-fields.ts';

const note = yup
  .mixed<string>()
  .nullable()
  .test('note', (value: unknown, context) =>
    isNotGiven(value) || LINK_NOTE_RULE.accepts(value)
      ? true
      : refuse(context, invalidLink(`the note of a link must be ${LINK_NOTE_RULE.accepted}`)),
  );

const path = yup
  .mixed<string>()
  .nullable()
  .test('path', (value: unknown, context) =>
    isNotGiven(value) || LINK_PATH_RULE.accepts(value)
      ? true
      : refuse(context, invalidLink(`the path of a link must be ${LINK_PATH_RULE.accepted}`)),
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

function isNotGiven(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
