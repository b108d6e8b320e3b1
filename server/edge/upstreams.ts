/** Upstreams: what a tunnel or the relay's own API is sent, and how a stream to it is opened. */
import { problemDetail, type RelayProblem } from '../../shared/control.ts';
import type { ApiError } from '../../shared/errors.ts';
import type { Framing } from '../../shared/http1/body.ts';
import { type Field, fieldValue } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { hostname } from '../../shared/networks.ts';
import { shownVisitor } from '../access/access-check.ts';
import { networkOf } from '../address-network.ts';
import type { UpgradeRequest, Upgrades } from '../clients/upgrades.ts';
import { requests } from '../observe/counters.ts';
import type { AccessLog } from '../observe/logger.ts';
import type { RestingName } from '../store/queries/name-queries.ts';
import type { Away } from '../store/records.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { Dial, Dialer } from '../tunnels/stream.ts';
import { dialForm, mayBeAccessPage, sendAgain } from './access-pages.ts';
import type { InProcessApi } from '../api/scheduler.ts';
import { awayResponse } from './away-page.ts';
import { errorResponse, type Notice, type OwnResponse, requestFacts } from './builtin-responses.ts';
import { limitedAddress, visitorAddress } from './connection-limiter.ts';
import type { UpstreamRequest } from './exchange.ts';
import { belowPrefix, isBarePrefix, ownCookies, PATH_FORM_FIELDS, withoutPrefix } from './path-form.ts';
import { type Peer, relayRequestHead, tunnelRequestHead } from './request-head.ts';
import { authenticatesConnection } from './response.ts';
import {
  directsNoCache,
  endingWith,
  type FieldMap,
  NOINDEX_ENDING,
  PLAIN_ENDING,
  type ResponseEnding,
} from './response-head.ts';
import {
  type Destination,
  type EdgeContext,
  type ParsedRequest,
  TunnelLookup,
  type UpstreamHandler,
} from './route.ts';
import {
  type AllowedVisitor,
  type Arriving,
  type Entry,
  type FormEntry,
  isAllowedVisitor,
  isFormEntry,
  type Standing,
  type VisitorAccess,
} from './visitor-access.ts';

/** Bytes of a submitted form of the access page. */
const FORM_MAX_BYTES = 2048;
const NOTHING = Buffer.alloc(0);
/**
 * The result of {@link Upstreams.enter} for a request that is not refused; `undefined`: the tunnel has no access
 * policy, or is not known yet.
 */
export type AllowedRequest = AllowedVisitor | FormEntry | Promise<Entry | undefined> | undefined;

/** Of a request that the relay itself serves. */
const WITHOUT_TUNNEL = {
  repeatable: false,
  // A kept stream would bypass the scheduler of the API's requests.
  fresh: true,
  keepsStream: 'none',
  host: '',
  tunnel: undefined,
  entrant: undefined,
  mapField: undefined,
  onHanded() {},
} as const;

interface UpstreamsOptions {
  readonly context: EdgeContext;
  readonly dialer: Dialer;
  readonly api: Pick<InProcessApi, 'dial'>;
  /** the relay's own WebSocket endpoints */
  readonly endpoints: Pick<Upgrades, 'handles' | 'upgrade'>;
  /** Whether search engines may show tunnels. */
  readonly indexed: boolean;
  /** Whether browsers are told to use https only for the relay's own host. */
  readonly secureOnly: boolean;
  /** Decides who has access to tunnels with an access policy. */
  readonly visitorAccess: Pick<VisitorAccess, 'enter' | 'submit' | 'standing'>;
  /** The warning before a visitor sees a tunnel, if there is one. */
  readonly notice: Notice | undefined;
  /** Monotonic ms, as coarse as the deadlines permit. */
  readonly now: () => number;
  /** Wall time in ms. */
  readonly wallTime: () => number;
  /** Reports an unexpected error, and returns the error to respond with. */
  readonly unexpected: (error: unknown) => ApiError;
  /** Tells the owner of a tunnel about a problem of its local service. */
  readonly tellOwner: (tunnel: LiveTunnel, problem: RelayProblem) => void;
  /** Called for each request that has ended, if there is an access log. */
  readonly accessLog: AccessLog | undefined;
}

/** For a year (RFC 6797 section 6.1), and for this name only: subdomains may have tenants of their own. */
const SECURE_ONLY_FIELD = 'Strict-Transport-Security: max-age=31536000\r\n';

export class Upstreams {
  readonly context: EdgeContext;
  readonly now: () => number;
  readonly wallTime: () => number;
  readonly unexpected: (error: unknown) => ApiError;
  readonly accessLog: AccessLog | undefined;
  readonly tellOwner: UpstreamsOptions['tellOwner'];
  readonly dialer: Dialer;
  readonly #api: Pick<InProcessApi, 'dial'>;
  readonly #endpoints: UpstreamsOptions['endpoints'];
  /** for tunnels with their own host */
  readonly #ownHost: TunnelRules;
  readonly #pathEnding: ResponseEnding;
  readonly #relayEnding: ResponseEnding;
  readonly #visitorAccess: UpstreamsOptions['visitorAccess'];
  readonly #notice: Notice | undefined;

  constructor({
    context,
    dialer,
    api,
    endpoints,
    indexed,
    secureOnly,
    visitorAccess,
    notice,
    now,
    wallTime,
    unexpected,
    tellOwner,
    accessLog,
  }: UpstreamsOptions) {
    this.context = context;
    this.now = now;
    this.wallTime = wallTime;
    this.unexpected = unexpected;
    this.tellOwner = tellOwner;
    this.accessLog = accessLog;
    this.dialer = dialer;
    this.#api = api;
    this.#endpoints = endpoints;
    this.#visitorAccess = visitorAccess;
    this.#notice = notice;
    const ending = indexed ? PLAIN_ENDING : NOINDEX_ENDING;
    this.#ownHost = { ending, mapField: ownCookies };
    this.#relayEnding = secureOnly ? endingWith(SECURE_ONLY_FIELD, PLAIN_ENDING) : PLAIN_ENDING;
    this.#pathEnding = endingWith(PATH_FORM_FIELDS, ending);
  }

  /**
   * Prepares a request for its upstream.
   *
   * @param entry the result of {@link enter}, which must not be a response
   */
  request(plan: ParsedRequest, route: Destination, peer: Peer, entry: AllowedRequest): UpstreamRequest {
    if (route.kind === 'relay') return this.#toRelay(plan, route.target, peer);
    if (entry !== undefined && !(entry instanceof Promise) && isFormEntry(entry))
      return this.#toForm(plan, entry, peer);
    return this.#toTunnel(plan, route, peer, entry);
  }

  /** Whether a visitor has access, if the tunnel is already known; otherwise the lookup decides. */
  enter(
    { head, framing, route, upgrade }: ParsedRequest,
    peer: Peer,
  ): Entry | Promise<Entry | undefined> | undefined {
    if (route.kind !== 'tunnel') return undefined;
    const { tunnel, prefix, target, link } = route;
    if (tunnel instanceof TunnelLookup) return undefined;
    if (tunnel.isSuspended) return this.suspended(head);
    const away = this.#away(head, tunnel, peer);
    // Whoever waits for that is asked for access later.
    if (away !== undefined) return away;
    const hasBody = framing.kind !== 'none';
    const host = wildcardHost(head, tunnel);
    const entry = this.#enter(head, { tunnel, prefix, target, host, link, upgrade, hasBody }, peer);
    const isForm = entry !== undefined && !(entry instanceof Promise) && isFormEntry(entry);
    return isForm && !isShort(framing)
      ? errorResponse('bad-request', requestFacts({ head }), this.context.abuseContact)
      : entry;
  }

  /** The text of an owner who is away, to visitors who are inside `allow`. */
  #away(
    head: RequestHead,
    tunnel: LiveTunnel,
    peer: Peer,
  ): OwnResponse | Promise<OwnResponse | undefined> | undefined {
    const { away, access } = tunnel;
    if (away === undefined) return undefined;
    if (access?.allows(visitorAddress(head.fields, peer, this.context.trustedProxies)) === false)
      return undefined;
    const isAway = this.dialer.isAway(tunnel);
    if (isAway instanceof Promise)
      return isAway.then((found) => (found ? this.#awayResponse(head, away) : undefined));
    return isAway ? this.#awayResponse(head, away) : undefined;
  }

  #awayResponse(head: RequestHead, away: Away): OwnResponse {
    const { abuseContact: contact, hosts } = this.context;
    return awayResponse(away, { head, relay: hosts.domains.own, contact, now: this.wallTime() });
  }

  #enter(head: RequestHead, visit: Arriving, peer: Peer): Entry | Promise<Entry | undefined> | undefined {
    const { tunnel, link, target } = visit;
    if (tunnel.access === undefined && link === undefined && !mayBeAccessPage(target)) return undefined;
    const address = visitorAddress(head.fields, peer, this.context.trustedProxies);
    return this.#visitorAccess.enter(head, visit, {
      address,
      network: networkOf(address),
      trusted: peer.trusted,
    });
  }

  /** Whether the visitor of a request still has access. */
  standing({ head }: ParsedRequest, peer: Peer, { tunnel, entrant }: UpstreamRequest): Standing {
    if (tunnel?.isSuspended === true) return 'revoked';
    if (tunnel?.access === undefined) return 'allowed';
    const address = visitorAddress(head.fields, peer, this.context.trustedProxies);
    return this.#visitorAccess.standing(tunnel, address, entrant);
  }

  /** The address whose limits apply, if any. */
  #limitedAddress(head: RequestHead, peer: Peer): string | undefined {
    return limitedAddress(peer, head, this.context.trustedProxies);
  }

  /**
   * @returns the notice instead of the tunnel's response, if the tunnel is already known; otherwise the lookup decides
   */
  noticeFor({ head, route }: ParsedRequest): OwnResponse | undefined {
    if (this.#notice === undefined || route.kind !== 'tunnel') return undefined;
    const { tunnel, prefix, target } = route;
    return tunnel instanceof TunnelLookup
      ? undefined
      : this.#notice.responseTo(head, { tunnel, prefix, target });
  }

  /** Whether the target is one of the relay's own WebSocket endpoints. */
  handlesUpgrade(target: string): boolean {
    return this.#endpoints.handles(target.split('?', 1)[0] ?? '');
  }

  /**
   * Asks one of the relay's own WebSocket endpoints to take over a connection.
   *
   * @throws ApiError with the connection untouched
   */
  upgrade(
    { head }: ParsedRequest,
    target: string,
    peer: Peer,
    takeOver: UpgradeRequest['takeOver'],
  ): Promise<void> {
    return this.#endpoints.upgrade({
      target,
      address: this.#limitedAddress(head, peer),
      header: (name) => fieldValue(head.fields, name),
      takeOver,
    });
  }

  #toRelay(plan: ParsedRequest, target: string, peer: Peer): UpstreamRequest {
    const visitor = visitorAddress(plan.head.fields, peer, this.context.trustedProxies);
    const group = networkOf(visitor);
    return {
      target: this.#api,
      head: relayRequestHead(plan.head, target, visitor, this.#limitedAddress(plan.head, peer)),
      ...WITHOUT_TUNNEL,
      ending: this.#relayEnding,
      open: (handler) => this.#api.dial(handler, group),
      outcomes: requests.relay,
    };
  }

  #toForm({ head, framing, expectsContinue }: ParsedRequest, entry: FormEntry, peer: Peer): UpstreamRequest {
    const address = visitorAddress(head.fields, peer, this.context.trustedProxies);
    const from = { address, network: networkOf(address), trusted: peer.trusted };
    const { tunnel } = entry.form;
    const respond = async (body: string): Promise<OwnResponse> =>
      tunnel.isSuspended ? this.suspended(head) : await this.#visitorAccess.submit(head, entry, from, body);
    const length = framing.kind === 'length' ? framing.length : 0;
    return {
      target: entry,
      head: NOTHING,
      ...WITHOUT_TUNNEL,
      ending: PLAIN_ENDING,
      open: (handler) => dialForm(handler, { length, expectsContinue, respond }),
      outcomes: requests.tunnel,
    };
  }

  #toTunnel(
    plan: ParsedRequest,
    route: Extract<Destination, { kind: 'tunnel' }>,
    peer: Peer,
    entry: AllowedVisitor | Promise<Entry | undefined> | undefined,
  ): UpstreamRequest {
    const rules = route.prefix === '' ? this.#ownHost : this.#belowPrefix(plan.head, route);
    return new TunnelRequest({
      plan,
      route,
      peer,
      rules,
      dialer: this.dialer,
      entry,
      authorize: this.#authorize,
      atRest: this.#atRest,
    });
  }

  /** For visitors who had to wait until the tunnel was known, or their password was checked. */
  readonly #authorize: TunnelRequestOptions['authorize'] = async ({ plan, route, peer, entry }, tunnel) => {
    const { head, upgrade, framing } = plan;
    const { prefix, target, link } = route;
    if (tunnel.isSuspended) return this.suspended(head);
    const hasBody = framing.kind !== 'none';
    const visit = { tunnel, prefix, target, host: wildcardHost(head, tunnel), link, upgrade, hasBody };
    const away = entry === undefined ? await this.#away(head, tunnel, peer) : undefined;
    if (away !== undefined) return away;
    const decided = (await entry) ?? (await this.#enter(head, visit, peer));
    // The tunnel was not known when the form could still be read: the visitor sends it again.
    if (decided !== undefined && isFormEntry(decided)) return sendAgain(decided.form);
    if (decided !== undefined && !isAllowedVisitor(decided)) return decided;
    // The tunnel may have been suspended while the password was checked.
    if (tunnel.isSuspended) return this.suspended(head);
    return this.#notice?.responseTo(head, { tunnel, prefix, target }) ?? decided;
  };

  /** To visitors of a name that is somebody's, but has no tunnel. */
  readonly #atRest = (head: RequestHead, { away }: RestingName): OwnResponse =>
    away === undefined
      ? errorResponse('tunnel-offline', requestFacts({ head }), this.context.abuseContact)
      : this.#awayResponse(head, away);

  /** The response of the relay for a suspended tunnel. */
  suspended(head: RequestHead): OwnResponse {
    return errorResponse('suspended', requestFacts({ head }), this.context.abuseContact);
  }

  #belowPrefix(
    { target: sent, fields }: RequestHead,
    { prefix, target, tunnel: routed }: Extract<Destination, { kind: 'tunnel' }>,
  ): TunnelRules {
    const host = fieldValue(fields, 'host');
    const own = this.context.hosts.domains.own;
    const ownHosts = host === undefined ? [own] : [own, hostname(host)];
    const isBare = isBarePrefix(sent, prefix);
    const onCookieLeftOut = (name: string): void => {
      const tunnel = routed instanceof TunnelLookup ? routed.found : routed;
      if (tunnel === undefined) return;
      this.tellOwner(tunnel, { code: 'path-cookie', detail: problemDetail(Buffer.from(name, 'latin1')) });
    };
    const mapField = belowPrefix({ prefix, target, isBare, ownHosts, onCookieLeftOut });
    const mapRequestField = (field: Field): string | undefined => withoutPrefix(field, { prefix, ownHosts });
    return { ending: this.#pathEnding, mapField, mapRequestField };
  }
}

/** The host of a request to a tunnel that has many, in lower case; `undefined` for other tunnels. */
function wildcardHost({ fields }: RequestHead, { terms }: LiveTunnel): string | undefined {
  return terms.wildcard ? hostname(fieldValue(fields, 'host') ?? '') : undefined;
}

function isShort(framing: Framing): boolean {
  return framing.kind === 'none' || (framing.kind === 'length' && framing.length <= FORM_MAX_BYTES);
}

/* A request to a tunnel, as its client receives it, from a visitor with access. */

/** Methods whose requests may be sent again without repeating their effect (RFC 9110 section 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** A cache in front would serve one visitor's response to others; of several directives it follows the strictest. */
const PRIVATE = 'Cache-Control: private\r\n';

/** How the responses of a tunnel reach the visitor, and its requests the client. */
interface TunnelRules extends Pick<UpstreamRequest, 'ending' | 'mapField'> {
  readonly mapRequestField?: (field: Field) => string | undefined;
}

interface TunnelRequestOptions {
  readonly plan: ParsedRequest;
  readonly route: Extract<Destination, { kind: 'tunnel' }>;
  readonly peer: Peer;
  readonly rules: TunnelRules;
  readonly dialer: Dialer;
  /**
   * the visitor who got access, or may get it later; `undefined`: no access policy, or not known before the tunnel is
   */
  readonly entry: AllowedVisitor | Promise<Entry | undefined> | undefined;
  /** Gives access to a visitor who had to wait for it, or returns the response instead; never rejects. */
  readonly authorize: (
    request: TunnelRequest,
    found: LiveTunnel,
  ) => Promise<AllowedVisitor | OwnResponse | undefined>;
  readonly atRest: (head: RequestHead, name: RestingName) => OwnResponse;
}

/** Its getters are valid once the request is sent to a stream: before that, the visitor may have to wait for access. */
class TunnelRequest implements UpstreamRequest {
  readonly plan: ParsedRequest;
  readonly route: Extract<Destination, { kind: 'tunnel' }>;
  readonly peer: Peer;
  readonly entry: AllowedVisitor | Promise<Entry | undefined> | undefined;
  readonly target: LiveTunnel | TunnelLookup;
  readonly repeatable: boolean;
  readonly fresh: boolean;
  readonly keepsStream: 'any' | 'own';
  readonly outcomes = requests.tunnel;
  entrant: AllowedVisitor | undefined;
  readonly #rules: TunnelRules;
  readonly #dialer: Dialer;
  readonly #authorize: TunnelRequestOptions['authorize'];
  readonly #atRest: TunnelRequestOptions['atRest'];

  constructor({ plan, route, peer, rules, dialer, entry, authorize, atRest }: TunnelRequestOptions) {
    const { head, framing } = plan;
    const waits = entry instanceof Promise;
    this.plan = plan;
    this.route = route;
    this.peer = peer;
    this.entry = entry;
    this.target = route.tunnel;
    this.repeatable = framing.kind === 'none' && IDEMPOTENT.has(head.method);
    this.fresh = waits;
    this.keepsStream = authenticatesConnection(head.fields) ? 'own' : 'any';
    this.entrant = waits ? undefined : entry;
    this.#rules = rules;
    this.#dialer = dialer;
    this.#authorize = authorize;
    this.#atRest = atRest;
  }

  get tunnel(): LiveTunnel | undefined {
    return this.target instanceof TunnelLookup ? this.target.found : this.target;
  }

  /** As sent, if it distinguishes services; otherwise empty. */
  get host(): string {
    if (this.tunnel?.terms.wildcard !== true) return '';
    return fieldValue(this.plan.head.fields, 'host') ?? '';
  }

  get head(): Buffer {
    const { plan, route, entrant } = this;
    return tunnelRequestHead(plan.head, this.peer, {
      target: route.target,
      prefix: route.prefix,
      mapField: this.#rules.mapRequestField,
      upgrade: plan.upgrade,
      hidesAuthorization: entrant?.kept.authorization === true,
      visitor: entrant?.visitor && shownVisitor(entrant.visitor),
    });
  }

  get ending(): ResponseEnding {
    const { entrant } = this;
    const { ending } = this.#rules;
    if (entrant === undefined) return ending;
    const { cookie } = entrant;
    return endingWith(cookie === undefined ? PRIVATE : `${PRIVATE}Set-Cookie: ${cookie}\r\n`, ending);
  }

  get mapField(): FieldMap | undefined {
    const { mapField } = this.#rules;
    return this.entrant === undefined ? mapField : directsNoCache(mapField);
  }

  get isPreflight(): boolean {
    return this.entrant?.isPreflight === true;
  }

  open(handler: UpstreamHandler): Dial {
    const { target } = this;
    if (!(target instanceof TunnelLookup) && !(this.entry instanceof Promise))
      return this.#dialer.dial(target, handler);
    const lookup = target instanceof TunnelLookup ? target : new TunnelLookup(() => Promise.resolve(target));
    return lookup.dial(this.#dialer, handler, {
      entering: (found) => this.#enter(found),
      atRest: (name) => this.#atRest(this.plan.head, name),
    });
  }

  onHanded(): void {
    this.tunnel?.countRequest();
  }

  async #enter(found: LiveTunnel): Promise<OwnResponse | undefined> {
    const decided = await this.#authorize(this, found);
    if (decided !== undefined && !isAllowedVisitor(decided)) return decided;
    this.entrant = decided;
    return undefined;
  }
}
