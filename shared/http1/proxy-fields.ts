/** Fields by which a message speaks to the proxies on its way, or says what only they can know. */
import type { Field } from './fields.ts';

/**
 * Fields of a response that servers in front obey: which file or address to send in its place, whether to write it to disk,
 * whether the relay is healthy. They belong to nginx, Apache and uWSGI, lighttpd, LiteSpeed, Perlbal, and Envoy.
 */
const STEERING = ['x-accel-', 'x-sendfile', 'x-lighttpd-', 'x-litespeed-', 'x-reproxy-', 'x-envoy-'];

/** Whether a field of a response is meant for the proxy in front, which a tunnel must not control. */
export function steersProxy(field: Field): boolean {
  return field.begins('x-') && STEERING.some((start) => field.begins(start));
}

/**
 * What a field of a request says about where it came from. `nothing`. `named`: one of the two fields besides `X-Forwarded-For`,
 * `-Host` and `-Proto` that may come from a trusted proxy (RFC 7239, and nginx's). `claim`: any other that a proxy would know;
 * frameworks and libraries take the visitor's address, host or name from it. A claim counts in every spelling that servers for
 * WSGI, CGI and PHP cannot tell from it: they write any character but letters and digits as `_`. So do `Proxy`, which CGI programs
 * take for the proxy they should use, and {@link VISITOR_FIELD}, which the relay alone writes.
 */
export type Provenance = 'nothing' | 'named' | 'claim';

/** Says who a visitor is that a tunnel's gate has let in (docs/protocol.md section 11.1). */
export const VISITOR_FIELD = 'Culvert-Visitor';
const VISITOR_NAME = VISITOR_FIELD.toLowerCase();

const NAMED: ReadonlySet<string> = new Set(['forwarded', 'x-real-ip']);
const CLAIM = /^x-forwarded(?:-|$)|^forwarded$|(?:^|-)(?:forwarded-for|(?:client|real|connecting)-ip)$/;
/** What those servers write as `_`, of the characters of a name (RFC 9110 section 5.6.2). */
const FOLDED = /[^a-z\d]/g;

export function provenance(field: Field): Provenance {
  if (!mayClaim(field)) return 'nothing';
  const name = field.lower;
  if (NAMED.has(name)) return 'named';
  const folded = name.replaceAll(FOLDED, '-');
  return folded === 'proxy' || folded === VISITOR_NAME || CLAIM.test(folded) ? 'claim' : 'nothing';
}

const [C, F, I, O, P, R, X] = [0x63, 0x66, 0x69, 0x6f, 0x70, 0x72, 0x78];

/** Called for every field of every request, so most are ruled out by a few letters: x-f…, …ip, …or, forwarded, proxy, c… of its length. */
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
