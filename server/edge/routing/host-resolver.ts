/** Hosts: which of them are the relay's own, and which name a tunnel (docs/protocol.md section 4.1). */
import { isIP } from 'node:net';
import { hostname } from '../../../shared/host.ts';
import { REMEMBERED_HOSTS_MAX } from '../../limits.ts';

/** What a Host header names. */
export type HostTarget =
  /** the relay itself: its public host, an IP address, a loopback name or a name of one label */
  | { readonly kind: 'own' }
  /** `account` is the account's subdomain, in the account form */
  | { readonly kind: 'tunnel'; readonly slug: string; readonly account: string | undefined }
  /** below a tunnel domain, but no tunnel can have it */
  | { readonly kind: 'unknown' }
  /**
   * any other host: a verified domain of a user's, or one where the relay offers its API alone. `name` as {@link hostname}
   * returns it; empty if the request names no host
   */
  | { readonly kind: 'other'; readonly name: string };

const OWN: HostTarget = { kind: 'own' };
const UNKNOWN: HostTarget = { kind: 'unknown' };
// A registered name or an address, and perhaps a port (RFC 9110 section 7.2), without the characters of the generic syntax
// that no host on the web has.
const HOST = /^(?:[0-9A-Za-z._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** Whether the value of a Host field is well-formed. */
export function isHost(value: string): boolean {
  return HOST.test(value);
}

/**
 * Whether the authority of an absolute target is the one that a well-formed Host names (RFC 9112 section 3.2.2), in upper or
 * lower case, with the default port of its scheme or without (RFC 9110 section 4.2.3).
 */
export function namesHost(authority: string, scheme: string, host: string): boolean {
  const port = scheme.toLowerCase() === 'https' ? ':443' : ':80';
  return withoutPort(authority, port) === withoutPort(host, port);
}

function withoutPort(host: string, port: string): string {
  const lower = host.toLowerCase();
  if (lower.endsWith(port)) return lower.slice(0, -port.length);
  return lower.endsWith(':') ? lower.slice(0, -1) : lower;
}

export interface Domains {
  /** the relay's own name */
  readonly own: string;
  /** `{slug}.{tunnel}` */
  readonly tunnel: string;
  /** `{slug}.{account}.{service}` */
  readonly service: string;
}

/** The longest value of `Host` that is remembered, in characters: as long as a name and a port can be. */
const REMEMBERED_LENGTH_MAX = 260;

/**
 * Decides what the values of `Host` fields name. It remembers well-formed ones: each one asked for goes into the recent
 * generation, which replaces the previous one when it is full, so that a flood of hosts does not drive out a host that is in
 * use.
 */
export class HostResolver {
  readonly domains: Domains;
  #recent = new Map<string, HostTarget>();
  #before = new Map<string, HostTarget>();

  constructor(domains: Domains) {
    this.domains = domains;
  }

  /** @returns `undefined` for a value that is malformed */
  resolve(value: string): HostTarget | undefined {
    const recent = this.#recent.get(value);
    if (recent !== undefined) return recent;
    if (!isHost(value)) return undefined;
    const target = this.#before.get(value) ?? resolveHost(value, this.domains);
    if (value.length <= REMEMBERED_LENGTH_MAX) this.#remember(value, target);
    return target;
  }

  #remember(value: string, target: HostTarget): void {
    if (this.#recent.size >= REMEMBERED_HOSTS_MAX) {
      this.#before = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(value, target);
  }
}

/** Decides what a well-formed host names. */
export function resolveHost(host: string, domains: Domains): HostTarget {
  const name = hostname(host);
  if (name === domains.own) return OWN;
  const below = labelsBelow(name, domains.tunnel);
  if (below?.length === 1) return { kind: 'tunnel', slug: below[0] ?? '', account: undefined };
  const belowService = labelsBelow(name, domains.service);
  if (belowService?.length === 2)
    return { kind: 'tunnel', slug: belowService[0] ?? '', account: belowService[1] };
  if (below !== undefined || belowService !== undefined) return UNKNOWN;
  return isLocalName(name) ? OWN : { kind: 'other', name };
}

/** Whether no user can have the host as a domain: an IP address, a loopback name (RFC 6761 section 6.3), a single label. */
function isLocalName(name: string): boolean {
  if (name.startsWith('[')) return isIP(name.slice(1, -1)) === 6;
  return !name.includes('.') || name.endsWith('.localhost') || isIP(name) === 4;
}

/** The labels of a name before the domain; `undefined` when it is not below it. */
function labelsBelow(name: string, domain: string): string[] | undefined {
  return name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1).split('.') : undefined;
}
