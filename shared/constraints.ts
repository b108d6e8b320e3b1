/** What is accepted as a port, a name or a key, and why: for the relay, its clients and their forms. */

/** What every API key begins with. */
export const API_KEY_PREFIX = 'cvt_';
/** `cvt_` and at least 32 base62 characters; the upper bound keeps hashing cheap. */
export const API_KEY_PATTERN = /^cvt_[0-9A-Za-z]{32,200}$/;

/** @limit A tunnel with a shorter life is over before the response arrives. */
export const TTL_MIN_SECONDS = 1;

export const LOCAL_PORT_MIN = 1;
export const LOCAL_PORT_MAX = 65_535;

/** @limit Shorter names are for the operator to hand out. */
export const NAME_MIN_LENGTH = 2;
/** @limit RFC 1035 section 2.3.4: a DNS label has at most 63 octets. */
export const NAME_MAX_LENGTH = 63;
/**
 * A DNS label (RFC 1123 section 2.1) in lower case. `xn--` is kept back: browsers would show such a name as other
 * characters than were asked for.
 */
export const NAME_PATTERN = /^(?!xn--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/** What a relay calls itself in its description for programs (`/v1/openapi.json`). */
export const RELAY_TITLE = 'Culvert relay';
