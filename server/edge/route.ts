/** Decides where every request goes. By exact bytes, once: nothing is decoded or normalized first. */
import { type BlockList, isIP } from 'node:net';
import type { VisitorErrorCode } from '../../shared/errors.ts';
import { type Framing, requestFraming } from '../../shared/http1/body.ts';
import { type Field, fieldValue, listMembers } from '../../shared/http1/fields.ts';
import { parseRequestHead, type RequestHead } from '../../shared/http1/head.ts';
import { LINK_PARAMETER } from '../../shared/links.ts';
import { hostname } from '../../shared/networks.ts';
import type { VerifiedDomains } from '../domains/verified-domains.ts';
import type { RestingName } from '../store/queries/name-queries.ts';
import type { Coordination } from '../tunnels/coordination.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { TunnelRegistry } from '../tunnels/registry.ts';
import type { Dial, Dialer, DialFault, DialHandler } from '../tunnels/stream.ts';
import { type OwnResponse, type OwnRoute, routeResponse } from './builtin-responses.ts';
import { REQUEST_FIELDS_MAX, REQUEST_TARGET_MAX_BYTES } from './request-head.ts';

/**
 * Number of parsed `Host` values that the relay caches in each of two generations; visitors send few different
 * ones.
 */
export const REMEMBERED_HOSTS_MAX = 512;

export type Route =
  /**
   * `prefix` is what the path form adds before `target`, or empty; `link` is the value of a signed link's parameter,
   * which is removed from `target`
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

/** The upstream of a request. */
export type Destination = Extract<Route, { kind: 'tunnel' | 'relay' }>;

/** Everything a route depends on besides its request, the same for every connection. */
export interface RouteContext {
  readonly hosts: HostResolver;
  /** the tunnels that this relay knows */
  readonly registry: Pick<TunnelRegistry, 'bySlug' | 'byDomain'>;
  /** finds those that another relay may have created */
  readonly coordination: Pick<
    Coordination,
    'isAlone' | 'isUnknown' | 'byLabel' | 'find' | 'findByLabel' | 'findByDomain' | 'findResting'
  >;
  /** the verified domains */
  readonly verified: Pick<VerifiedDomains, 'domainsOf' | 'ownerOf'>;
  /** whether `/t/{slug}` names a tunnel */
  readonly pathForm: boolean;
}

const NO_HOST: HostTarget = { kind: 'other', name: '' };
const ABSOLUTE_FORM = /^(https?):\/\/([^/?]*)(.*)$/is;
const PATH_FORM = /^(\/t\/([^/?]+))(.*)$/s;
/** Targets that people open in browsers: the start page, invitations, and the steps of a sign-in or of an agent's approval. */
const PAGE = /^\/(?:$|\?|invite\/|auth\/|oauth\/authorize)/;

export function route(head: RequestHead, context: RouteContext): Route {
  const { hosts, coordination } = context;
  if (head.method === 'CONNECT') return refuse('method-not-allowed');
  const named = namedByHost(head, hosts);
  const target = targetOf(head);
  if (named === undefined || target === undefined) return refuse('bad-request');
  if (target === '*') return { kind: 'options' };
  if (named.kind === 'unknown') return refuse('tunnel-unknown');
  if (named.kind === 'own') return ownRoute(head, target, context);
  if (named.kind === 'other') return domainRoute(named.name, head, target, context);
  const tunnel =
    named.account === undefined
      ? tunnelAtLabel(named.slug, coordination)
      : tunnelOf(named.slug, named.account, context);
  if (tunnel === undefined) return refuse('tunnel-unknown');
  return toTunnel(tunnel, '', target);
}

/**
 * At a host that is not verified as a user's domain, the relay offers its API, but nothing that a browser would show
 * under that name: the owner of its DNS could pass off other users' tunnels as their own content.
 */
function domainRoute(host: string, head: RequestHead, target: string, context: RouteContext): Route {
  const domains = context.verified.domainsOf(host);
  const [first] = domains;
  if (first === undefined) {
    const isShown = PATH_FORM.test(target) || PAGE.test(target);
    return isShown ? refuse('misdirected') : ownRoute(head, target, context);
  }
  const { coordination } = context;
  const known = (coordination.isAlone ? domains : [first]).map((domain) => tunnelAtDomain(domain, context));
  const tunnel = known.find((found) => found !== undefined);
  if (tunnel !== undefined) return toTunnel(tunnel, '', target);
  if (coordination.isAlone) return refuse('domain-offline');
  const find = async (): Promise<LiveTunnel | undefined> => {
    for (const domain of domains) {
      const found = tunnelAtDomain(domain, context) ?? (await coordination.findByDomain(domain));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return toTunnel(new TunnelLookup(find, { missing: 'domain-offline' }), '', target);
}

/** The tunnel at a verified domain, if it belongs to the account that now owns the domain. */
function tunnelAtDomain(domain: string, { registry, verified }: RouteContext): LiveTunnel | undefined {
  const tunnel = registry.byDomain(domain);
  // The notification that the previous owner's tunnel has ended may still be in transit from another relay.
  return tunnel?.account.id === verified.ownerOf(domain) ? tunnel : undefined;
}

function ownRoute(head: RequestHead, target: string, context: RouteContext): Route {
  const [, prefix, slug, rest] = PATH_FORM.exec(target) ?? [];
  if (prefix !== undefined && slug !== undefined && rest !== undefined) {
    // On a page without the slash, relative links would point to the tunnel's neighbours.
    const redirect: OwnRoute | undefined =
      !rest.startsWith('/') && isPageVisit(head)
        ? { kind: 'redirect', location: `${prefix}/${rest}` }
        : undefined;
    const tunnel = context.pathForm ? tunnelOf(slug, undefined, context, redirect) : undefined;
    if (tunnel === undefined) return refuse('tunnel-unknown');
    // Its scope could cover all tunnels below `/t/`, or it could outlive its tunnel and be used with the next one of
    // that name.
    if (head.fields.some((field) => field.is('service-worker'))) return refuse('path-worker');
    if (redirect !== undefined && !(tunnel instanceof TunnelLookup) && !tunnel.isRaw) return redirect;
    return toTunnel(tunnel, prefix, originForm(rest));
  }
  return head.method === 'TRACE' ? refuse('method-not-allowed') : { kind: 'relay', target };
}

/** @param asked in origin form */
function toTunnel(tunnel: LiveTunnel | TunnelLookup, prefix: string, asked: string): Route {
  if (!(tunnel instanceof TunnelLookup) && tunnel.isRaw) return refuse('tunnel-unknown');
  // Most requests have none and should not pay for parsing it.
  const taken = asked.includes(LINK_PARAMETER) ? takeLink(asked) : undefined;
  return { kind: 'tunnel', tunnel, prefix, target: taken?.target ?? asked, link: taken?.link };
}

/** Whether a browser requests a page. */
function isPageVisit({ method, fields }: RequestHead): boolean {
  return method === 'GET' && fields.some((field) => field.is('sec-fetch-mode') && field.hasValue('navigate'));
}

/**
 * The target in origin form, or `*` for an OPTIONS of the whole server (RFC 9112 section 3.2); `undefined` for any
 * other form, and for an absolute one that disagrees with Host.
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

/** @returns `undefined` if there is none, and nobody's name is looked up either */
function tunnelAtLabel(
  label: string,
  coordination: RouteContext['coordination'],
): LiveTunnel | TunnelLookup | undefined {
  const tunnel = coordination.byLabel(label);
  if (tunnel !== undefined || coordination.isUnknown(label)) return tunnel;
  const findResting = () => coordination.findResting(label);
  return new TunnelLookup(() => coordination.findByLabel(label), { findResting });
}

/**
 * @param account the account subdomain of the requested host; `undefined` in the path form
 * @param redirect see {@link Outcome.redirect}
 * @returns as {@link tunnelAtLabel}
 */
function tunnelOf(
  slug: string,
  account: string | undefined,
  { registry, coordination }: RouteContext,
  redirect?: OwnRoute,
): LiveTunnel | TunnelLookup | undefined {
  const isAt = (subdomain: string | null | undefined) => account === undefined || subdomain === account;
  const belongs = (tunnel: LiveTunnel | undefined) => (isAt(tunnel?.account.subdomain) ? tunnel : undefined);
  const known = registry.bySlug(slug);
  if (known !== undefined || coordination.isUnknown(slug)) return belongs(known);
  const findResting = async (): Promise<RestingName | undefined> => {
    const resting = await coordination.findResting(slug);
    return isAt(resting?.subdomain) ? resting : undefined;
  };
  return new TunnelLookup(async () => belongs(await coordination.find(slug)), { findResting, redirect });
}

/** What the Host header names; `undefined` if it is missing (which HTTP/1.0 permits), repeated or malformed. */
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

/** Whether the request offers to upgrade to a WebSocket, in a way that may be passed on. */
export function offersWebSocket(head: RequestHead): boolean {
  return (
    head.method === 'GET' &&
    head.minor === 1 &&
    fieldValue(head.fields, 'upgrade') !== undefined &&
    listMembers(head.fields, 'upgrade').join() === 'websocket' &&
    listMembers(head.fields, 'connection').includes('upgrade')
  );
}

/**
 * The TLS tunnel at a host: its own label, or its domain. Responds immediately if that is known here.
 *
 * @param host from the first message of a handshake
 */
export function tlsTunnelAt(
  host: string,
  context: RouteContext,
): LiveTunnel | Promise<LiveTunnel | undefined> | undefined {
  const { hosts, coordination, registry, verified } = context;
  const named = hosts.resolve(host);
  if (named?.kind === 'tunnel' && named.account === undefined) {
    const known = registry.bySlug(named.slug);
    return known !== undefined || coordination.isUnknown(named.slug)
      ? onlyTls(known)
      : coordination.find(named.slug).then(onlyTls);
  }
  if (named?.kind !== 'other' || verified.ownerOf(named.name) === undefined) return undefined;
  const known = registry.byDomain(named.name);
  if (known !== undefined || coordination.isAlone) return onlyTls(tunnelAtDomain(named.name, context));
  return coordination.findByDomain(named.name).then(onlyTls);
}

function onlyTls(tunnel: LiveTunnel | undefined): LiveTunnel | undefined {
  return tunnel?.protocol === 'tls' ? tunnel : undefined;
}

/**
 * The live tunnel that visitors of a host get, but for the path form.
 *
 * @param host as in a `Host` field
 * @throws StoreError
 */
export async function tunnelAtHost(host: string, context: RouteContext): Promise<LiveTunnel | undefined> {
  const head = parseRequestHead(Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`), {
    target: REQUEST_TARGET_MAX_BYTES,
    fields: REQUEST_FIELDS_MAX,
  });
  const decided = typeof head === 'string' ? undefined : route(head, context);
  if (decided?.kind !== 'tunnel') return undefined;
  return decided.tunnel instanceof TunnelLookup ? await decided.tunnel.find() : decided.tunnel;
}

/* Parses a request and decides what to do with it, from its head alone. */

/** Context of the edge, the same for every connection. */
export interface EdgeContext extends RouteContext {
  readonly trustedProxies: BlockList;
  /** address of a link for complaints about tunnels */
  readonly abuseContact?: string | undefined;
}

/** A well-formed request. */
export interface ParsedRequest {
  readonly head: RequestHead;
  readonly framing: Framing;
  readonly route: Route;
  /** Whether it offers a WebSocket that may be passed on. */
  readonly upgrade: boolean;
  /** Whether the visitor waits for a 100 before it sends its body. */
  readonly expectsContinue: boolean;
  /** Whether the visitor wants its connection to end with the response, as every HTTP/1.0 visitor does. */
  readonly close: boolean;
}

/**
 * Reads a head and decides.
 *
 * @returns the parsed request, or why it is refused; after a refusal nothing more may be read on its connection
 */
export function parseRequest(bytes: Buffer, context: EdgeContext): ParsedRequest | VisitorErrorCode {
  const head = parseRequestHead(bytes, { target: REQUEST_TARGET_MAX_BYTES, fields: REQUEST_FIELDS_MAX });
  if (typeof head === 'string') return head;
  const framing = requestFraming(head);
  if (typeof framing === 'string') return framing;
  const decided = route(head, context);
  if (decided.kind === 'refuse' && decided.code === 'bad-request') return decided.code;
  const expectation = head.minor === 1 ? fieldValue(head.fields, 'expect') : undefined;
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') return 'expectation-failed';
  return {
    head,
    framing,
    route: decided,
    upgrade: framing.kind === 'none' && offersWebSocket(head),
    expectsContinue: expectation !== undefined,
    close: head.minor === 0 || wantsClose(head),
  };
}

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

function wantsClose(head: RequestHead): boolean {
  return head.fields.some((field) => field.is('connection') && CLOSE.test(field.value));
}

/** The error for a head that does not end within its limit of bytes. */
export function oversizeFault(text: string): VisitorErrorCode {
  const line = text.slice(0, text.indexOf('\r\n') === -1 ? text.length : text.indexOf('\r\n'));
  const target = line.split(' ', 2)[1] ?? '';
  return target.length > REQUEST_TARGET_MAX_BYTES ? 'uri-too-long' : 'head-too-large';
}

/* Hosts: which of them are the relay's own, and which name a tunnel (protocol.md section 4.1). */

/** The meaning of a Host header. */
export type HostTarget =
  /** the relay itself: its public host, an IP address, a loopback name or a name of one label */
  | { readonly kind: 'own' }
  /**
   * `account` is the account's subdomain, in the account form; without it, `slug` is any label below the tunnel domain
   */
  | { readonly kind: 'tunnel'; readonly slug: string; readonly account: string | undefined }
  /** below a tunnel domain, but no tunnel can have it */
  | { readonly kind: 'unknown' }
  /**
   * any other host: a verified domain of a user, or one that only gets the relay's API. `name` as {@link hostname}
   * returns it; empty if the request names no host
   */
  | { readonly kind: 'other'; readonly name: string };

const OWN: HostTarget = { kind: 'own' };
const UNKNOWN: HostTarget = { kind: 'unknown' };
// A registered name or an address, and perhaps a port (RFC 9110 section 7.2), without the characters of the generic
// syntax that no host on the web has.
const HOST = /^(?:[0-9A-Za-z._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** Whether the value of a Host field is well-formed. */
export function isHost(value: string): boolean {
  return HOST.test(value);
}

/**
 * Whether the authority of an absolute target matches a well-formed Host (RFC 9112 section 3.2.2), in upper or lower
 * case, with the default port of its scheme or without (RFC 9110 section 4.2.3).
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
 * Resolves values of `Host` fields. It remembers well-formed ones: each one used enters the recent generation, which
 * replaces the previous one when it is full, so that a flood of hosts does not evict a host that is in use.
 */
export class HostResolver {
  readonly domains: Domains;
  #recent = new Map<string, HostTarget>();
  #before = new Map<string, HostTarget>();

  constructor(domains: Domains) {
    this.domains = domains;
  }

  /** @returns `undefined` for a malformed value */
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

/** Resolves a well-formed host. */
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

/** The labels of a name before the domain; `undefined` if it is not below it. */
function labelsBelow(name: string, domain: string): string[] | undefined {
  return name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1).split('.') : undefined;
}

/* The parameter of a signed link (protocol.md section 11.2), which the relay does not pass on. */

export interface Taken {
  /** without the parameter; otherwise byte for byte */
  readonly target: string;
  /** its value, `''` if it is repeated; `undefined` if it is missing */
  readonly link: string | undefined;
}

/** @param target in origin form */
export function takeLink(target: string): Taken {
  const start = target.indexOf('?');
  if (start === -1) return { target, link: undefined };
  const values: string[] = [];
  const others: string[] = [];
  for (const parameter of target.slice(start + 1).split('&')) {
    const [name = '', ...value] = parameter.split('=');
    if (name === LINK_PARAMETER) values.push(value.join('='));
    else others.push(parameter);
  }
  const [link, ...more] = values;
  if (link === undefined) return { target, link };
  const path = target.slice(0, start);
  return {
    target: others.length === 0 ? path : `${path}?${others.join('&')}`,
    link: more.length === 0 ? link : '',
  };
}

/* A tunnel that this relay does not know, but that another one may have created: looked up when a request needs it. */

const STORE_TEXT =
  'The relay cannot check right now whether there is a tunnel at this address. Try again in a moment.';

/** Opens a stream to the upstream of a request. */
export interface UpstreamHandler extends DialHandler {
  /** The relay itself responds: nothing is sent to a stream. */
  intercepted(response: OwnResponse): void;
}

/** What visitors get instead of the tunnel's response. */
interface Outcome {
  /** the redirect if there is such a tunnel */
  readonly redirect?: OwnRoute | undefined;
  /** the error if there is none, by default `tunnel-unknown` */
  readonly missing?: DialFault;
  /** Looks whether the name is somebody's nevertheless. @throws StoreError */
  readonly findResting?: () => Promise<RestingName | undefined>;
}

/** The relay's responses instead of the tunnel's; neither rejects. */
interface Gate {
  /** to a visitor of the tunnel; `undefined` lets the request pass */
  readonly entering: (tunnel: LiveTunnel) => Promise<OwnResponse | undefined>;
  /** to a visitor of a name without a tunnel */
  readonly atRest: (name: RestingName) => OwnResponse;
}

export class TunnelLookup {
  /** The tunnel, once it is known. */
  found: LiveTunnel | undefined;
  readonly #find: () => Promise<LiveTunnel | undefined>;
  readonly #outcome: Outcome;

  /** @param find rejects if the tunnel cannot be looked up */
  constructor(find: () => Promise<LiveTunnel | undefined>, outcome: Outcome = {}) {
    this.#find = find;
    this.#outcome = outcome;
  }

  /** Finds the tunnel. */
  async find(): Promise<LiveTunnel | undefined> {
    return await this.#find();
  }

  /** Finds the tunnel and opens a stream to it. */
  dial(dialer: Dialer, handler: UpstreamHandler, gate: Gate): Dial {
    let cancelled = false;
    let dial: Dial | undefined;
    const proceed = async (): Promise<void> => {
      const { missing = 'tunnel-unknown', findResting, redirect } = this.#outcome;
      const found = await this.#find()
        .then(async (tunnel) => ({
          tunnel,
          resting: tunnel === undefined ? await findResting?.() : undefined,
        }))
        .catch(() => undefined);
      if (cancelled) return;
      if (found === undefined) return handler.failed('tunnel-offline', STORE_TEXT);
      const { tunnel, resting } = found;
      this.found = tunnel;
      if (resting !== undefined) return handler.intercepted(gate.atRest(resting));
      if (tunnel === undefined) return handler.failed(missing);
      if (tunnel.isRaw) return handler.failed('tunnel-unknown');
      if (redirect !== undefined) return handler.intercepted(routeResponse(redirect));
      const response = await gate.entering(tunnel);
      if (cancelled) return;
      if (response === undefined) dial = dialer.dial(tunnel, handler);
      else handler.intercepted(response);
    };
    void proceed();
    return {
      cancel() {
        cancelled = true;
        dial?.cancel();
      },
    };
  }
}
