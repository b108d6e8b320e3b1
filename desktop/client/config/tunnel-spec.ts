/** One tunnel as the user wants it, from options or `culvert.yml`, with the values of fields that only these have. */
import type { Access } from '../../../shared/access.ts';
import { type HeaderChanges, NO_HEADER_CHANGES } from '../../../shared/header-changes.ts';
import { uriHost } from '../../../shared/networks.ts';
import { PROTOCOLS } from '../../../shared/tunnel.ts';
import { type CompressMode, PORT_RULE, type ValueRule } from '../../../shared/value-rules.ts';
import { type LocalTarget, usesTls } from '../local/local-service.ts';
import { RECORDED_BODY_MAX_BYTES, RECORDED_BODY_MIN_BYTES } from '../inspector/records.ts';
import type { Rehearsal } from '../visitors/rehearsal.ts';

/**
 * Maximum number of bytes that users can have recorded for each body: a few of that size fit into
 * {@link RECORDED_BYTES_MAX}, and push out older ones.
 * @limit owner: Recorded part of a body, with `--keep-bodies` | the command reports an error
 */
export const KEPT_BODY_MAX_BYTES = 10 * 1024 * 1024;
/**
 * Maximum number of tunnels in one `culvert.yml`: each holds sockets and timers in one process; an account may
 * open 10 a minute.
 * @limit owner: Tunnels in a `culvert.yml` | the command reports an error
 */
export const CONFIG_TUNNELS_MAX = 64;
/** Maximum length of a tunnel name in `culvert.yml`: longer names leave no room for anything else on a line. */
export const LABEL_MAX_LENGTH = 32;
/**
 * Longest time that a visitor may wait for a service that is restarting. Browsers show nothing until then.
 * @limit owner: Value of `--wait` | the command reports an error
 */
export const WAIT_MAX_SECONDS = 60;
/** Maximum number of `hosts` of a tunnel: each service has its own connections. */
const CONFIG_HOSTS_MAX = 32;

/** What a tunnel forwards to: a local service, several of them that differ in their ports, or a folder. */
export type TunnelTarget = LocalTarget | HostsTarget | FolderTarget;

/** The services of a wildcard tunnel; the port of the target itself is for hosts that are not listed. */
interface HostsTarget extends LocalTarget {
  readonly hosts: HostPorts;
}

/** A folder that this process serves, read-only. */
export interface FolderTarget {
  /** its path */
  readonly folder: string;
  /** paths of files that visitors do not see, in addition to Culvert's own */
  readonly hidden?: readonly string[];
}

/** Local ports by what a host of a wildcard tunnel begins with; `*` for all others. */
export type HostPorts = Readonly<Record<string, number>>;

/** That the account keeps the name of a tunnel, and what visitors read while no client serves it. */
export interface KeepWish {
  /** `undefined` leaves the message as it is */
  readonly away: string | undefined;
}

/** How a tunnel is served, without its access policy. */
export interface TunnelSettings {
  /** its name in `culvert.yml`; `undefined` if there is only one */
  readonly label: string | undefined;
  /** name of the project whose `culvert.yml` has it; none for any other tunnel */
  readonly project?: string | undefined;
  readonly target: TunnelTarget;
  /** custom subdomain name; `undefined` for a random one */
  readonly name: string | undefined;
  /** whether the name is kept before the tunnel opens; without it, nothing changes */
  readonly keep?: KeepWish | undefined;
  /** one of the account's verified domains; `undefined` for none */
  readonly domain: string | undefined;
  /** whether the tunnel answers at every host `{any}--{slug}`, and at every host of a domain `*.example.com` */
  readonly wildcard: boolean;
  /** duration string; `undefined` for the relay's default */
  readonly ttl: string | undefined;
  readonly idle: boolean;
  /** headers to set and remove */
  readonly headers: HeaderChanges;
  /** whether responses are compressed */
  readonly compress: CompressMode;
  /** bytes of each body that the request log keeps */
  readonly keepBodies: number;
  /** requests that fail or are delayed on purpose; by default none */
  readonly rehearsal?: Rehearsal | undefined;
}

/** One tunnel as the user wants it. */
export interface TunnelSpec extends TunnelSettings {
  /** the access policy */
  readonly access: Access;
  /** the password of `access`, if it was generated and has to be shown */
  readonly madePassword: string | undefined;
}

/** Names what the tunnel forwards to: an address such as `http://localhost:3000` or `tcp://localhost:22`, or a folder. */
export function localUrl(target: TunnelTarget): string {
  if ('folder' in target) return target.folder;
  const scheme = target.raw?.protocol ?? (usesTls(target) ? 'https' : 'http');
  return `${scheme}://${uriHost(target.host)}:${target.port}`;
}

/** Whether it gets the bytes of connections instead of requests. */
export function isRawTarget(target: LocalTarget | { readonly folder: string }): boolean {
  return !('folder' in target) && target.raw !== undefined;
}

/** The ports of a target's hosts, if they have ports of their own. */
export function hostsOf(target: TunnelTarget): HostPorts | undefined {
  return 'hosts' in target ? target.hosts : undefined;
}

/** Defaults of fields that are not given. */
export const SPEC_DEFAULTS = {
  idle: false,
  wildcard: false,
  headers: NO_HEADER_CHANGES,
  compress: 'auto',
  keepBodies: RECORDED_BODY_MAX_BYTES,
  madePassword: undefined,
} as const satisfies Partial<TunnelSpec>;

export const WAIT_RULE: ValueRule = {
  code: 'wait',
  accepts: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= WAIT_MAX_SECONDS,
  accepted: `a whole number of seconds from 0 to ${WAIT_MAX_SECONDS}`,
};

const KIB = 1024;
const MIB = 1024 * KIB;

/** Sizes with a unit. KB and MB are binary, like the limits, so that `256KB` is the default. */
export const KEEP_BODIES_RULE: ValueRule = {
  code: 'keepBodies',
  accepts: (value) => typeof value === 'string' && parseSize(value) !== undefined,
  accepted: `a size from ${RECORDED_BODY_MIN_BYTES / KIB}KB to ${KEPT_BODY_MAX_BYTES / MIB}MB, such as 256KB or 1MB`,
};

/** Reads a size that the request log can keep of each body. @returns bytes; `undefined` for anything else */
export function parseSize(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,5}) ?([km])i?b?$/i.exec(text) ?? [];
  const bytes = Number(count) * (unit.toLowerCase() === 'k' ? KIB : MIB);
  return bytes >= RECORDED_BODY_MIN_BYTES && bytes <= KEPT_BODY_MAX_BYTES ? bytes : undefined;
}

export const FLAG_RULE: ValueRule = {
  code: 'flag',
  accepts: (value) => typeof value === 'boolean',
  accepted: 'true or false',
};

export const PROTOCOL_RULE: ValueRule = {
  code: 'protocol',
  accepts: (value) => PROTOCOLS.some((protocol) => protocol === value),
  accepted: 'http, tls or tcp',
};

export const FOLDER_RULE: ValueRule = {
  code: 'folder',
  accepts: (value) => typeof value === 'string' && isBelow(value),
  accepted: 'the path of a folder inside the folder of culvert.yml, such as ./public',
};

/** The key of all hosts that are not listed. */
export const ANY_HOST = '*';

export const HOSTS_RULE: ValueRule = {
  code: 'hosts',
  accepts: (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length > 0 &&
    Object.keys(value).length <= CONFIG_HOSTS_MAX &&
    Object.entries(value).every(([host, port]) => isHostKey(host) && PORT_RULE.accepts(port)),
  accepted: `the ports of 1 to ${CONFIG_HOSTS_MAX} hosts, such as "api: 3001" (letters, digits and hyphens), with "*" for all others`,
};

function isHostKey(host: string): boolean {
  return host === ANY_HOST || (/^[a-z0-9-]{1,63}$/.test(host) && !host.startsWith('xn--'));
}

/** Follows the rules of every system, because a project's file is used on all of them. */
function isBelow(path: string): boolean {
  if (path === '' || path.includes('\0')) return false;
  return !/^(?:[A-Za-z]:|[\\/])/.test(path) && !path.split(/[\\/]/).includes('..');
}
