/** Checks the signed links that a relay returns (docs/protocol.md section 11.2). */
import * as yup from 'yup';
import { type Link, LINK_PARAMETER, type NewLink } from '../../../shared/links.ts';
import { say } from '../said/said.ts';
import { RelayUnreachable } from './errors.ts';
import { check, printable, text, time } from './response-fields.ts';
import { isWebAddress } from './web-address.ts';

/** The body of a request for a link; what is missing, the relay chooses. */
export interface LinkRequest {
  /** how long it is good, a duration string */
  readonly ttl?: string;
  /** who it is for */
  readonly note?: string;
  /** where it leads below the tunnel's address, from `/` on */
  readonly path?: string;
}

const link = yup
  .object({
    id: yup
      .string()
      .matches(/^[0-9a-f]{16}$/)
      .required(),
    note: printable.defined(),
    path: printable.optional(),
    created_at: time,
    expires_at: time,
  })
  .required();
const newLinkSchema = link.shape({ url: text }).strict();
const listSchema = yup.object({ links: yup.array(link).required() }).strict();

/** The one parameter that a relay adds, with nothing in it that means something to a shell. */
const TOKEN = new RegExp(String.raw`[?&]${LINK_PARAMETER}=[\w.~-]+$`);

/**
 * @param path that was asked for
 * @throws RelayUnreachable when the value is not a link to there
 */
export function readNewLink(value: unknown, path = '/'): NewLink {
  const made = check(newLinkSchema, value) as NewLink;
  const address = made.url.replace(TOKEN, '');
  // Printed, copied and opened in a browser: what is not the relay's to choose is what was asked for.
  const base = address.endsWith(path) ? address.slice(0, -path.length) : '';
  if (address !== made.url && isWebAddress(base)) return made;
  throw new RelayUnreachable(say('relay.linkElsewhere'));
}

/** @throws RelayUnreachable when the value is not a list of links */
export function readLinkList(value: unknown): Link[] {
  return (check(listSchema, value) as { links: Link[] }).links;
}
