/** What the values of a signed link may be, wherever they come from (docs/protocol.md section 11.2). */
import { LINK_NOTE_MAX_LENGTH, LINK_PATH_MAX_LENGTH } from './links.ts';
import type { ValueRule } from './value-rules.ts';

/** Characters as people count them. Half of a surrogate pair is no text, and cannot be written as one. */
const NOTE = new RegExp(String.raw`^[^\p{Cc}\p{Cs}]{0,${LINK_NOTE_MAX_LENGTH}}$`, 'u');
/** RFC 3986 sections 3.3 and 3.4: a path and perhaps a query. */
const PATH = /^\/(?!\/)(?:[\w!$&'()*+,./:;=?@~-]|%[\dA-Fa-f]{2})*$/;
/** A segment that URL parsers take for the folder itself or the one above, also percent-encoded. */
const DOTS = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;
/** A parameter that could be one of the relay's own. */
const OWN_PARAMETER = /(?:^|&)culvert_/;

/** Who a link is for. */
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
