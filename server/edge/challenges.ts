/**
 * `WWW-Authenticate` of a tunnel in the path form. Browsers send a password again without a question to whatever names the same
 * realm on the same origin, and ahead of any question to all of the folder that asked for it (RFC 7617 section 2.2).
 */

/** One Basic challenge and nothing else: the scheme, the realm, and perhaps the charset. */
const BASIC =
  /^basic +realm *= *(?:"((?:[^"\\]|\\[^"\\])*)"|([!#$%&'*+\-.^_`|~0-9a-z]+))( *, *charset *= *"?utf-8"?)?$/i;
/** Schemes for which browsers keep what was typed, or answer with what the system knows of its user. */
const KEPT = /(?:^|[\s,])(?:basic|digest|ntlm|negotiate)(?=[\s,]|$)/i;

/**
 * Leaves a challenge to its tunnel: the realm of Basic begins with the prefix, which no other tunnel's does. Other schemes whose
 * credentials browsers keep are dropped, and so is Basic where it is not plain, or asked for at the bare prefix, whose
 * folder is everybody's.
 *
 * @param prefix `/t/{slug}`
 * @param isBare whether the request was for the prefix itself, without a slash behind it
 * @returns the value to pass on, or `undefined` to drop the field
 */
export function challengeBelow(value: string, prefix: string, isBare: boolean): string | undefined {
  if (!KEPT.test(value)) return value;
  const [plain, quoted, token, charset] = BASIC.exec(value) ?? [];
  if (plain === undefined || isBare) return undefined;
  return `Basic realm="${prefix} ${quoted ?? token ?? ''}"${charset === undefined ? '' : ', charset="UTF-8"'}`;
}
