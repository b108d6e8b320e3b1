/** One tunnel as the user asks for it, by flags or in `culvert.yml`, and what each of its fields takes. */
import { isIP } from 'node:net';
import { parseDuration } from '../../shared/duration.ts';
import {
  LOCAL_PORT_MAX,
  LOCAL_PORT_MIN,
  NAME_MAX_LENGTH,
  NAME_MIN_LENGTH,
  NAME_PATTERN,
  TTL_MIN_SECONDS,
} from '../../shared/tunnel.ts';
import { WAIT_MAX_SECONDS } from './limits.ts';

export interface TunnelSpec {
  /** what `culvert.yml` calls it; `undefined` where there is only one */
  readonly label: string | undefined;
  /** local port */
  readonly port: number;
  /** custom subdomain name; `undefined` for a random one */
  readonly name: string | undefined;
  /** duration string; `undefined` for the relay's default */
  readonly ttl: string | undefined;
  readonly idle: boolean;
  /** `keep`, `local`, or the value itself */
  readonly hostHeader: string;
  /** name or IP address of the machine that has the port */
  readonly localHost: string;
  /** whether the port speaks TLS */
  readonly localHttps: boolean;
  /** seconds that a port on which nothing listens is waited for */
  readonly wait: number;
}

/** Where the tunnel leads, such as `http://localhost:3000`. */
export function localUrl({ localHost, localHttps, port }: TunnelSpec): string {
  const host = localHost.includes(':') ? `[${localHost}]` : localHost;
  return `${localHttps ? 'https' : 'http'}://${host}:${port}`;
}

/** What is taken for a field that is not given. */
export const SPEC_DEFAULTS = {
  idle: false,
  hostHeader: 'keep',
  localHost: 'localhost',
  localHttps: false,
  wait: 0,
} as const;

/** What a value may be, and how to say so. */
export interface ValueRule {
  accepts(value: unknown): boolean;
  /** completes "it takes …" */
  readonly accepted: string;
}

const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/;
const HOST_AND_PORT = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:]+))(?::(\d{1,5}))?$/;

export const PORT_RULE: ValueRule = {
  accepts: isPort,
  accepted: `a whole number from ${LOCAL_PORT_MIN} to ${LOCAL_PORT_MAX}`,
};

export const NAME_RULE: ValueRule = {
  accepts: (value) => typeof value === 'string' && NAME_PATTERN.test(value),
  accepted:
    `${NAME_MIN_LENGTH} to ${NAME_MAX_LENGTH} lowercase letters, digits and hyphens, ` +
    'not starting or ending with a hyphen, and not starting with xn--',
};

export const TTL_RULE: ValueRule = {
  accepts: (value) => typeof value === 'string' && (parseDuration(value) ?? 0) >= TTL_MIN_SECONDS,
  accepted: 'a duration such as 90s, 30m, 4h or 1h30m, at least 1s',
};

export const HOST_HEADER_RULE: ValueRule = {
  accepts(value) {
    const [, ipv6, host, port] = (typeof value === 'string' && HOST_AND_PORT.exec(value)) || [];
    if (port !== undefined && !isPort(Number(port))) return false;
    return ipv6 === undefined ? HOST_NAME.test(host ?? '') : isIP(ipv6) === 6;
  },
  accepted: 'keep, local, or a host name with or without a port, such as app.test:3000',
};

export const LOCAL_HOST_RULE: ValueRule = {
  accepts: (value) => typeof value === 'string' && (isIP(value) !== 0 || HOST_NAME.test(value)),
  accepted: 'a host name or an IP address, without a port',
};

export const WAIT_RULE: ValueRule = {
  accepts: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= WAIT_MAX_SECONDS,
  accepted: `whole seconds from 0 to ${WAIT_MAX_SECONDS}`,
};

export const FLAG_RULE: ValueRule = {
  accepts: (value) => typeof value === 'boolean',
  accepted: 'true or false',
};

function isPort(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= LOCAL_PORT_MIN && Number(value) <= LOCAL_PORT_MAX;
}
