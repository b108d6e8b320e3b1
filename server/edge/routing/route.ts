/** Decides, for every request, where it goes. By exact bytes, once: nothing is decoded or normalized first. */
import type { VisitorErrorCode } from '../../../shared/errors.ts';
import { type Field, fieldValue, listMembers } from '../../../shared/http1/fields.ts';
import type { RequestHead } from '../../../shared/http1/head.ts';
import { LINK_PARAMETER } from '../../../shared/links.ts';
import type { LiveTunnel } from '../../tunnels/live-tunnel.ts';
import type { OwnRoute } from '../own/own-responses.ts';
import { type HostResolver, type HostTarget, namesHost } from './host-resolver.ts';
import { takeLink } from './link-parameter.ts';
import { TunnelLookup } from './tunnel-lookup.ts';

export type Route =
  /**
   * `prefix` is what the path form adds before `target`, or empty; `link` is what the parameter of a signed link says, which
   * `target` does not have
   */
  | {
      readonly kind: 'tunnel';
      readonly tunnel: LiveTunnel | TunnelLookup;
      readonly prefix: string;
      readonly target: string;
      readonly link: string | undefined;
    }
  /** the relay itself */
  | { readonly kind: 'relay'; readonly target: string }
  | OwnRoute
  | { readonly kind: 'refuse'; readonly code: VisitorErrorCode };

/** Where a request is passed on to. */
export type Destination = Extract<Route, { kind: 'tunnel' | 'relay' }>;

/** What the edge needs to know about tunnels. */
export interface TunnelDirectory {
  bySlug(slug: string): LiveTunnel | undefined;
  /** Asks further, in case another relay has created the tunnel. */
  readonly find?: ((slug: string) => Promise<LiveTunnel | undefined>) | undefined;
  /** The tunnel at a verified domain, if it belongs to the account that owns the domain now. */
  byDomain(domain: string): LiveTunnel | undefined;
  /** Asks further for the tunnel of a verified domain. */
  readonly findByDomain?: ((domain: string) => Promise<LiveTunnel | undefined>) | undefined;
  /** Whether a domain is verified for an account. */
  isVerified(domain: string): boolean;
}

/** What a route depends on besides its request, the same for every connection. */
export interface RouteContext {
  readonly hosts: HostResolver;
  readonly tunnels: TunnelDirectory;
  /** whether `/t/{slug}` leads to a tunnel */
  readonly pathForm: boolean;
}

const NO_HOST: HostTarget = { kind: 'other', name: '' };
const ABSOLUTE_FORM = /^(https?):\/\/([^/?]*)(.*)$/is;
const PATH_FORM = /^(\/t\/([^/?]+))(.*)$/s;
/** Targets that people open in browsers: the start page and invitations. */
const PAGE = /^\/(?:$|\?|invite\/)/;

export function route(head: RequestHead, context: RouteContext): Route {
  const { hosts, tunnels } = context;
  if (head.method === 'CONNECT') return refuse('method-not-allowed');
  const named = namedByHost(head, hosts);
  const target = targetOf(head);
  if (named === undefined || target === undefined) return refuse('bad-request');
  if (target === '*') return { kind: 'options' };
  if (named.kind === 'unknown') return refuse('tunnel-unknown');
  if (named.kind === 'own') return ownRoute(head, target, context);
  if (named.kind === 'other') return domainRoute(named.name, head, target, context);
  const tunnel = tunnelOf(named.slug, named.account, tunnels);
  if (tunnel === undefined) return refuse('tunnel-unknown');
  return toTunnel(tunnel, '', target);
}

/**
 * At a host that is not verified as a user's domain, the relay offers its API, but nothing that a browser would show under
 * that name: whoever controls its DNS could pass off other users' tunnels as its content.
 */
function domainRoute(domain: string, head: RequestHead, target: string, context: RouteContext): Route {
  const { tunnels } = context;
  if (!tunnels.isVerified(domain)) {
    const isShown = PATH_FORM.test(target) || PAGE.test(target);
    return isShown ? refuse('misdirected') : ownRoute(head, target, context);
  }
  const tunnel = tunnels.byDomain(domain);
  if (tunnel !== undefined) return toTunnel(tunnel, '', target);
  const { findByDomain } = tunnels;
  if (findByDomain === undefined) return refuse('domain-offline');
  return toTunnel(new TunnelLookup(() => findByDomain(domain), 'domain-offline'), '', target);
}

function ownRoute(head: RequestHead, target: string, { tunnels, pathForm }: RouteContext): Route {
  const [, prefix, slug, rest] = PATH_FORM.exec(target) ?? [];
  if (prefix !== undefined && slug !== undefined && rest !== undefined) {
    const tunnel = pathForm ? tunnelOf(slug, undefined, tunnels) : undefined;
    if (tunnel === undefined) return refuse('tunnel-unknown');
    // Its scope could cover all tunnels below `/t/`, or it could outlive its tunnel and meet the next one of that name.
    if (head.fields.some((field) => field.is('service-worker'))) return refuse('path-worker');
    // On a page without the slash, relative links would lead to the tunnel's neighbours.
    if (!rest.startsWith('/') && isPageVisit(head))
      return { kind: 'redirect', location: `${prefix}/${rest}` };
    return toTunnel(tunnel, prefix, originForm(rest));
  }
  return head.method === 'TRACE' ? refuse('method-not-allowed') : { kind: 'relay', target };
}

/** @param asked in origin form */
function toTunnel(tunnel: LiveTunnel | TunnelLookup, prefix: string, asked: string): Route {
  // Most have none, and pay only for that.
  const taken = asked.includes(LINK_PARAMETER) ? takeLink(asked) : undefined;
  return { kind: 'tunnel', tunnel, prefix, target: taken?.target ?? asked, link: taken?.link };
}

/** Whether a browser asks for something to show as a page. */
function isPageVisit({ method, fields }: RequestHead): boolean {
  return method === 'GET' && fields.some((field) => field.is('sec-fetch-mode') && field.hasValue('navigate'));
}

/**
 * The target in origin form, or `*` for an OPTIONS of the whole server (RFC 9112 section 3.2); `undefined` for any other
 * form, and for an absolute one that disagrees with Host.
 */
function targetOf({ method, target, fields }: RequestHead): string | undefined {
  if (target.startsWith('/')) return target;
  if (target === '*') return method === 'OPTIONS' ? target : undefined;
  const [, scheme, authority, rest] = ABSOLUTE_FORM.exec(target) ?? [];
  const host = fieldValue(fields, 'host');
  if (scheme === undefined || authority === undefined || rest === undefined || host === undefined)
    return undefined;
  if (!namesHost(authority, scheme, host)) return undefined;
  return rest === '' && method === 'OPTIONS' ? '*' : originForm(rest);
}

/** @param account the account subdomain below which it was asked for */
function tunnelOf(
  slug: string,
  account: string | undefined,
  tunnels: TunnelDirectory,
): LiveTunnel | TunnelLookup | undefined {
  const belongs = (tunnel: LiveTunnel | undefined) =>
    account === undefined || tunnel?.account.subdomain === account ? tunnel : undefined;
  const tunnel = tunnels.bySlug(slug);
  const { find } = tunnels;
  if (tunnel !== undefined || find === undefined) return belongs(tunnel);
  return new TunnelLookup(async () => belongs(await find(slug)));
}

/** What the Host names; `undefined` when it is missing (which HTTP/1.0 permits), repeated or malformed. */
function namedByHost(head: RequestHead, hosts: HostResolver): HostTarget | undefined {
  let host: Field | undefined;
  for (const field of head.fields) {
    if (!field.is('host')) continue;
    if (host !== undefined) return undefined;
    host = field;
  }
  if (host === undefined) return head.minor === 0 ? NO_HOST : undefined;
  return hosts.resolve(host.value);
}

function originForm(rest: string): string {
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function refuse(code: VisitorErrorCode): Route {
  return { kind: 'refuse', code };
}

/** Whether the request offers to go on as a WebSocket, in a way that may be passed on. */
export function offersWebSocket(head: RequestHead): boolean {
  return (
    head.method === 'GET' &&
    head.minor === 1 &&
    fieldValue(head.fields, 'upgrade') !== undefined &&
    listMembers(head.fields, 'upgrade').join() === 'websocket' &&
    listMembers(head.fields, 'connection').includes('upgrade')
  );
}
