/**
 * Where an authorization may return to (RFC 6749 section 3.1.2, RFC 8252 section 7): https, http on this machine, and
 * the schemes of apps. Addresses are compared as they are written, so nothing that parsers read differently may occur.
 */

/** Maximum length of an address that an authorization returns to. */
export const REDIRECT_URI_MAX_LENGTH = 1024;

/** Characters of a URI (RFC 3986 section 2) but the one that begins a fragment. */
const URI = /^([a-z][a-z\d+.-]*):(?:[\w.~:/?[\]@!$&'()*+,;=-]|%[\dA-Fa-f]{2})+$/i;
/** A web address whose authority is a host, and perhaps a port. */
const WEB = /^https?:\/\/(?:[\w.-]+|\[[\da-f:]+\])(?::\d{1,5})?(?:[/?]|$)/i;
const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?((?:[/?].*)?)$/i;

/**
 * Schemes that browsers and systems handle by themselves: the sender of the address would choose what they do. Those
 * of Windows that begin with `ms-` start system programs.
 */
const RESERVED =
  /^(?:about|blob|content|cid|data|feed|file|filesystem|ftps?|geo|gopher|help|hcp|https?|imaps?|intent|irc|jar|javascript|ldaps?|livescript|mailto|market|mhtml|mid|mms|news|nntp|pop|rtsp|search|search-ms|shell|sips?|sms|smsto|ssh|tel|telnet|urn|vbscript|view-source|wais|webcal|wss?|xmpp|ms-.+|chrome.*|moz-.+|safari-.+|edge|resource|res|javascript.*)$/i;

/** Whether an authorization may return to an address at all. */
export function isRedirectUri(uri: unknown): uri is string {
  if (typeof uri !== 'string' || uri.length > REDIRECT_URI_MAX_LENGTH) return false;
  const [, scheme] = URI.exec(uri) ?? [];
  if (scheme === undefined || !URL.canParse(uri)) return false;
  if (/^https$/i.test(scheme)) return WEB.test(uri);
  if (/^http$/i.test(scheme)) return LOOPBACK.test(uri);
  const { username, password, host, pathname } = new URL(uri);
  const isNamed = uri.slice(scheme.length).startsWith('://') || scheme.includes('.');
  return !RESERVED.test(scheme) && isNamed && `${username}${password}` === '' && `${host}${pathname}` !== '';
}

/**
 * Whether a client that has registered an address may return to another one: it is the same, but for the port of a
 * program on the visitor's machine (RFC 8252 section 7.3).
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  return registered.some(
    (each) => each === uri || (LOOPBACK.test(each) && withoutPort(each) === withoutPort(uri)),
  );
}

function withoutPort(uri: string): string {
  const [, host, rest] = LOOPBACK.exec(uri) ?? [];
  return host === undefined ? uri : `${host.toLowerCase()} ${rest ?? ''}`;
}

/**
 * What people are shown of an address: the host, which nobody but its owner can answer at. Of an app's address it is the
 * scheme, because any app may put any host behind its own.
 *
 * @param uri that {@link isRedirectUri} accepts
 */
export function shownHost(uri: string): string {
  const { protocol, hostname } = new URL(uri);
  return protocol === 'https:' || protocol === 'http:' ? hostname : protocol;
}

/**
 * Where the form of a page that leads back to an address may lead (Content Security Policy Level 3 section 6.4.1).
 * Browsers apply it to what the client redirects to as well.
 */
export function formSources(uri: string): string {
  const { protocol, origin } = new URL(uri);
  return protocol === 'https:' || protocol === 'http:' ? `${origin} https:` : protocol;
}

/** The address with the parameters of a response. */
export function responseAddress(uri: string, parameters: Readonly<Record<string, string>>): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(parameters).toString()}`;
}
