/** Signed links, through which a visitor comes into a tunnel (docs/protocol.md section 11). */
import * as yup from 'yup';
import { check, printable, text } from './response-fields.ts';
import { isSignedLink } from './web-address.ts';

/** What a relay keeps of a link: the address itself is shown once, when it is made. */
export interface LinkEntry {
  readonly id: string;
  /** what it is for, or whom; `''` for nothing */
  readonly note: string;
  /** RFC 3339, UTC, milliseconds */
  readonly created_at: string;
  /** RFC 3339, UTC, milliseconds */
  readonly expires_at: string;
}

export interface SignedLink extends LinkEntry {
  /** the address to hand out */
  readonly url: string;
}

/** The body of a request for a link; what is missing, the relay chooses. */
export interface LinkRequest {
  /** how long it is good, a duration string */
  readonly ttl?: string;
  readonly note?: string;
  /** where it leads, from `/` on */
  readonly path?: string;
}

const entry = { id: text, note: printable.defined(), created_at: text, expires_at: text };
/** Printed, copied and opened in a browser. */
const url = yup
  .string()
  .required()
  .test('link', (value) => typeof value !== 'string' || isSignedLink(value));
const linkSchema = yup.object({ ...entry, url }).strict();
const listSchema = yup.object({ links: yup.array(yup.object(entry).required()).required() }).strict();

/** @throws RelayUnreachable when the value is not a signed link */
export function readLink(value: unknown): SignedLink {
  return check(linkSchema, value) as SignedLink;
}

/** @throws RelayUnreachable when the value is not a list of links */
export function readLinkList(value: unknown): LinkEntry[] {
  return (check(listSchema, value) as { links: LinkEntry[] }).links;
}
