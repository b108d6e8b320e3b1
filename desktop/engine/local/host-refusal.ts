/** Notices that a local service refuses the host name that visitors use, as dev servers do to be safe from others. */

/** What they say, and which server says it. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/Blocked request\. This host/, 'Vite: server.allowedHosts'],
  [/^Invalid Host(?:\/Origin)? header/m, 'webpack: devServer.allowedHosts'],
  [/DisallowedHost|Invalid HTTP_HOST header/, 'Django: ALLOWED_HOSTS'],
  [/Blocked hosts?:/, 'Rails: config.hosts'],
  [/Bad Request - Invalid Host/, 'ASP.NET: AllowedHosts'],
];
const HEAD = /^HTTP\/1\.[01] (?:400|403|421) /;
/** All of them say so at the beginning; Django says it after some markup. */
const LOOK_MAX_BYTES = 4096;

/** What a piece of a response says about the host name. */
export type HostRefusal =
  | { readonly kind: 'none' }
  /** a refusal whose reason comes in the next piece */
  | { readonly kind: 'perhaps' }
  /** @param setting the setting that makes the service accept the name */
  | { readonly kind: 'refused'; readonly setting: string };

const NONE: HostRefusal = { kind: 'none' };
const PERHAPS: HostRefusal = { kind: 'perhaps' };

/**
 * Looks at the beginning of a piece of a response.
 *
 * @param isBody whether the piece before was `perhaps`, so that this one needs no head
 */
export function findHostRefusal(piece: Buffer, isBody: boolean): HostRefusal {
  const text = piece.toString('latin1', 0, LOOK_MAX_BYTES);
  if (!isBody && !HEAD.test(text)) return NONE;
  for (const [pattern, setting] of REFUSALS) if (pattern.test(text)) return { kind: 'refused', setting };
  return !isBody && text.endsWith('\r\n\r\n') ? PERHAPS : NONE;
}
