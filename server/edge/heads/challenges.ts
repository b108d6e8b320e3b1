/**
 * `WWW-Authenticate` of a tunnel in the path form. Browsers send a password again, without asking, to whatever names the
 * same realm on the same origin, and unasked to everything in the folder that asked for it (RFC 7617 section 2.2).
 */

/** One Basic challenge and nothing else: the scheme, the realm, and perhaps the charset. */
const BASIC =
  /^basic +realm *= *(?:"((?:[^"\\]|\\[^"\\])*)"|([!#$%&'*+\-.^_`|~0-9a-z]+))( *, *charset *= *"?utf-8"?)?$/i;
/** Schemes for which browsers keep what was typed, or answer with what the system knows about its user. */
const KEPT = /(?:^|[\s,])(?:basic|digest|ntlm|negotiate)(?=[\s,]|$)/i;

/**
 * Limits a challenge to its tunnel: the realm of Basic begins with the prefix, which no other tunnel's realm does. Other
 * schemes whose credentials browsers keep are dropped, and so is Basic if it is not plain, or asked for at the bare prefix,
 * whose folder belongs to everybody.
 *
 * @param prefix `/t/{slug}`
 * @param isBare whether the request was for the prefix itself, without a slash after it
 * @returns the value to pass on, or `undefined` to drop the field
 */
export function challengeBelow(value: string, prefix: string, isBare: boolean): string | undefined {
  if (!KEPT.test(value)) return value;
  const [plain, quoted, token, charset] = BASIC.exec(value) ?? [];
  if (plain === undefined || isBare) return undefined;
  return `Basic realm="${prefix} ${quoted ?? token ?? ''}"${charset === undefined ? '' : ', charset="UTF-8"'}`;
}
