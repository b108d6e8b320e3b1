/**
 * Rules for a tunnel's settings from any source: an option, `culvert.yml`, the window, a link, or the REST interface if
 * it has them.
 */
import { parseDuration } from './duration.ts';
import { isHostName, isIPv6 } from './networks.ts';

// Accepted ports, names and keys, for the relay, its clients and their forms.

/** The start of every API key. */
export const API_KEY_PREFIX = 'cvt_';
/** `cvt_` and at least 32 base62 characters; the upper bound keeps hashing cheap. */
export const API_KEY_PATTERN = /^cvt_[0-9A-Za-z]{32,200}$/;

/** Shortest lifetime of a tunnel: with a shorter one, it would have ended before the response arrives. */
export const TTL_MIN_SECONDS = 1;

export const LOCAL_PORT_MIN = 1;
export const LOCAL_PORT_MAX = 65_535;

/** Minimum length of a tunnel's name: shorter names are reserved for the operator. */
export const NAME_MIN_LENGTH = 2;
/**
 * Maximum length of a tunnel's name: a DNS label has at most 63 octets (RFC 1035 section 2.3.4).
 * @limit owner: Length of a tunnel name | 400 `invalid-name`
 */
export const NAME_MAX_LENGTH = 63;
/**
 * A DNS label (RFC 1123 section 2.1) in lower case. `xn--` is reserved: browsers would show such a name in other
 * characters than requested.
 */
export const NAME_PATTERN = /^(?!xn--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/** The relay's title in its API description (`/v1/openapi.json`). */
export const RELAY_TITLE = 'Culvert relay';

/** The relay's version, read from its API description; `undefined` if the description is of something else. */
export function relayVersionIn(description: string): string | undefined {
  try {
    const { info } = JSON.parse(description) as { info?: { title?: unknown; version?: unknown } };
    const isVersion = typeof info?.version === 'string' && /^[\w.+-]{1,40}$/.test(info.version);
    return info?.title === RELAY_TITLE && isVersion ? String(info.version) : undefined;
  } catch {
    return undefined;
  }
}

/** A rule for a value, with its description. */
export interface ValueRule {
  accepts(value: unknown): boolean;
  /** completes "must be …" */
  readonly accepted: string;
  /** by which an app finds the same in another language */
  readonly code?: string;
}

/** A local port, as a number. */
export const PORT_RULE: ValueRule = {
  code: 'port',
  accepts: (value) =>
    Number.isInteger(value) && Number(value) >= LOCAL_PORT_MIN && Number(value) <= LOCAL_PORT_MAX,
  accepted: `a whole number from ${LOCAL_PORT_MIN} to ${LOCAL_PORT_MAX}`,
};

/** @returns the port that a text denotes; `undefined` if it is not a port */
export function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return PORT_RULE.accepts(port) ? port : undefined;
}

/** The name of a tunnel, in its address. */
export const NAME_RULE: ValueRule = {
  code: 'name',
  accepts: (value) => typeof value === 'string' && NAME_PATTERN.test(value),
  accepted:
    `${NAME_MIN_LENGTH} to ${NAME_MAX_LENGTH} lowercase letters, digits and hyphens, ` +
    'not starting or ending with a hyphen, and not starting with xn--',
};

/** The text form of the ids of tunnels, keys, accounts, domains and invitations (RFC 9562). */
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Whether a text has the form of an id. If both a name and an id are accepted, such a text is tried as an id first; no
 * new tunnel gets such a name.
 */
export function looksLikeId(text: string): boolean {
  return ID.test(text);
}

/** A time to live. The relay decides about its maximum. */
export const TTL_RULE: ValueRule = {
  code: 'ttl',
  accepts: (value) => typeof value === 'string' && (parseDuration(value) ?? 0) >= TTL_MIN_SECONDS,
  accepted: `a duration of at least ${TTL_MIN_SECONDS}s, such as 90s, 30m, 4h or 1h30m`,
};

/** `keep` sends the visitor's Host, `local` that of the local service; any other value is sent unchanged. */
export type HostHeader = string;

const HOST_AND_PORT = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/;

/** The Host sent to the local service: `keep`, `local`, or a custom value (RFC 9110 section 7.2). */
export const HOST_HEADER_RULE: ValueRule = {
  code: 'hostHeader',
  accepts(value) {
    const [, ipv6, name, port] = (typeof value === 'string' && HOST_AND_PORT.exec(value)) || [];
    if (port !== undefined && parsePort(port) === undefined) return false;
    return ipv6 === undefined ? isHostName(name ?? '') : isIPv6(ipv6);
  },
  accepted: 'keep, local, or a host name with or without a port, such as app.test:3000',
};

/** The host of the local port. An IPv6 address may name its zone (RFC 4007 section 11). */
export const LOCAL_HOST_RULE: ValueRule = {
  code: 'localHost',
  accepts: (value) =>
    typeof value === 'string' && (isHostName(value) || isIPv6(value.replace(/%[\w.~-]+$/, ''))),
  accepted: 'a host name or an IP address, without a port',
};

/** Whether the client compresses responses: `auto` unless the relay is on this machine or in a private network. */
export type CompressMode = 'auto' | 'on' | 'off';

export const COMPRESS_RULE: ValueRule = {
  code: 'compress',
  accepts: (value) => value === 'auto' || value === 'on' || value === 'off',
  accepted: 'auto, on or off',
};

/** The protocol of a local service: HTTP/1.1, or HTTP/2 without TLS (RFC 9113 section 3.3) or with it (section 3.2). */
export type Upstream = 'http1' | 'h2c' | 'h2';

const UPSTREAMS: ReadonlySet<unknown> = new Set(['http1', 'h2c', 'h2'] satisfies Upstream[]);

export const UPSTREAM_RULE: ValueRule = {
  code: 'upstream',
  accepts: (value) => UPSTREAMS.has(value),
  accepted: 'http1, h2c (HTTP/2 without TLS) or h2 (HTTP/2 over TLS)',
};
