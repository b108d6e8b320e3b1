/** The accepted ports, names and keys, with reasons: for the relay, its clients and their forms. */

/** The start of every API key. */
export const API_KEY_PREFIX = 'cvt_';
/** `cvt_` and at least 32 base62 characters; the upper bound keeps hashing cheap. */
export const API_KEY_PATTERN = /^cvt_[0-9A-Za-z]{32,200}$/;

/** @limit Shortest lifetime of a tunnel: with a shorter one, it would have ended before the response arrives. */
export const TTL_MIN_SECONDS = 1;

export const LOCAL_PORT_MIN = 1;
export const LOCAL_PORT_MAX = 65_535;

/** @limit Minimum length of a tunnel's name: shorter names are reserved for the operator. */
export const NAME_MIN_LENGTH = 2;
/** @limit Maximum length of a tunnel's name: a DNS label has at most 63 octets (RFC 1035 section 2.3.4). */
export const NAME_MAX_LENGTH = 63;
/**
 * A DNS label (RFC 1123 section 2.1) in lower case. `xn--` is reserved: browsers would show such a name in other
 * characters than requested.
 */
export const NAME_PATTERN = /^(?!xn--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/** The relay's title in its API description (`/v1/openapi.json`). */
export const RELAY_TITLE = 'Culvert relay';
