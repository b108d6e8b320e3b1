/** Fields that apply to one connection only and are not passed on (RFC 9110 section 7.6.1). */
import { type Field, listMembers } from './fields.ts';

/** Fields that a `Connection` field must not remove: they control the routing and framing of a message. */
const NEVER = new Set(['host', 'content-length', 'transfer-encoding', 'trailer']);
const NONE: ReadonlySet<string> = new Set();

/**
 * The names, in lower case, of the fields that the `Connection` fields of a message remove; an argument of
 * {@link isHopByHop}.
 */
export function namedByConnection(fields: readonly Field[]): ReadonlySet<string> {
  if (!fields.some(namesFields)) return NONE;
  const named = new Set(listMembers(fields, 'connection'));
  for (const name of NEVER) named.delete(name);
  return named;
}

/** Skips the usual values of `Connection`, which do not name a field. */
function namesFields(field: Field): boolean {
  return field.is('connection') && !field.hasValue('keep-alive') && !field.hasValue('close');
}

/** Fields about one HTTP/1.1 connection, which an HTTP/2 message must not have (RFC 9113 section 8.2.2). */
export const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** @param named of the same message, from {@link namedByConnection} */
export function isHopByHop(field: Field, named: ReadonlySet<string>): boolean {
  return isAboutConnection(field) || (named.size > 0 && named.has(field.lower));
}

/** Called for every forwarded field, so it excludes most by the length of their name. */
function isAboutConnection(field: Field): boolean {
  switch (field.nameLength) {
    case 7:
      return field.is('upgrade');
    case 10:
      return field.is('connection') || field.is('keep-alive');
    case 16:
      return field.is('proxy-connection');
    case 18:
      return field.is('proxy-authenticate');
    case 25:
      return field.is('proxy-authentication-info');
    default:
      return false;
  }
}

/* Fields addressed to proxies on the way, or with information that only proxies can have. */

/**
 * Response fields that control servers in front: they select a file or address to send instead, write the response to
 * disk, or report the relay's health. Used by nginx, Apache and uWSGI, lighttpd, LiteSpeed, Perlbal, and Envoy.
 */
const STEERING = ['x-accel-', 'x-sendfile', 'x-lighttpd-', 'x-litespeed-', 'x-reproxy-', 'x-envoy-'];

/**
 * Whether a response field is addressed to the proxy in front, or sends visitors to another server (RFC 7838). A tunnel
 * controls neither.
 */
export function steersVisitors(field: Field): boolean {
  if (field.is('alt-svc')) return true;
  return field.begins('x-') && STEERING.some((start) => field.begins(start));
}

/**
 * What a request field claims about the request's origin. `nothing`. `named`: `Forwarded` (RFC 7239) or `X-Real-IP`,
 * which a trusted proxy may send in addition to `X-Forwarded-For`, `-Host` and `-Proto`. `claim`: any other field from
 * which frameworks and libraries read the visitor's address, host or name; `Proxy`, from which CGI programs read the
 * proxy to use; and {@link VISITOR_FIELD}, which only the relay may send. Servers for WSGI, CGI and PHP convert every
 * character of a name except letters and digits to `_`, so all spellings that they cannot distinguish from a claim are
 * claims.
 */
type Provenance = 'nothing' | 'named' | 'claim';

/** Identifies a visitor that a tunnel's access policy has admitted (protocol.md section 11.1). */
export const VISITOR_FIELD = 'Culvert-Visitor';
const VISITOR_NAME = VISITOR_FIELD.toLowerCase();

const NAMED: ReadonlySet<string> = new Set(['forwarded', 'x-real-ip']);
const CLAIM = /^x-forwarded(?:-|$)|^forwarded$|(?:^|-)(?:forwarded-for|(?:client|real|connecting)-ip)$/;
/** The characters that those servers do not distinguish from a hyphen. */
const FOLDED = /[^a-z\d-]/g;

export function provenance(field: Field): Provenance {
  if (!mayClaim(field)) return 'nothing';
  const name = field.lower;
  if (NAMED.has(name)) return 'named';
  // Searching costs half as much as replacing, and nearly every name has none of them.
  const folded = name.search(FOLDED) === -1 ? name : name.replaceAll(FOLDED, '-');
  return folded === 'proxy' || folded === VISITOR_NAME || CLAIM.test(folded) ? 'claim' : 'nothing';
}

const [C, F, I, O, P, R, X] = [0x63, 0x66, 0x69, 0x6f, 0x70, 0x72, 0x78];

/**
 * Called for every field of every request, so it excludes most by a few letters: x-f…, …ip, …or, forwarded, proxy, c…
 * of its length.
 */
function mayClaim(field: Field): boolean {
  const { nameLength } = field;
  const initial = field.letter(0);
  if (initial === X && field.letter(2) === F) return true;
  if (initial === C && nameLength === VISITOR_NAME.length) return true;
  const last = field.letter(nameLength - 1);
  if (last === P) return field.letter(nameLength - 2) === I;
  if (last === R) return field.letter(nameLength - 2) === O;
  return (initial === F && nameLength === 9) || (initial === P && nameLength === 5);
}
