/** A request to a tunnel, as its client receives it, from a visitor with access. */
import { fieldValue } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { shownVisitor } from '../access/access-check.ts';
import { type RequestCounts, requests } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { Dial, Dialer } from '../tunnels/stream.ts';
import type { OwnResponse } from './builtin-responses.ts';
import type { ExchangeRequest } from './exchange.ts';
import { type Peer, tunnelRequestHead } from './request-head.ts';
import { directsNoCache, endingWith, type FieldMap, type ResponseEnding } from './response.ts';
import { type Destination, type UpstreamHandler, type ParsedRequest, TunnelLookup } from './route.ts';
import { type AllowedVisitor, type Entry, isAllowedVisitor } from './visitor-access.ts';

/** Methods whose requests may be sent again without repeating their effect (RFC 9110 section 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** Schemes that authenticate the connection instead of the request (RFC 4559 section 5). */
const OF_CONNECTION = /^[ \t]*(?:ntlm|negotiate)(?=[ \t,]|$)/i;

/** A cache in front would serve one visitor's response to others; of several directives it follows the strictest. */
const PRIVATE = 'Cache-Control: private\r\n';

/** How the responses of an upstream reach the visitor. */
export type ResponseRules = Pick<ExchangeRequest, 'ending' | 'mapField'>;

/** A request as its upstream receives it, and the upstream. */
export interface UpstreamRequest extends ExchangeRequest {
  /** The upstream; the same object for the same tunnel. */
  readonly target: object;
  /**
   * Whether it needs its own stream: it could not be sent again, or must wait in a queue that a kept stream would
   * bypass.
   */
  readonly fresh: boolean;
  /** Whether its stream may serve the next request of the visitor's connection. */
  readonly keepsStream: boolean;
  /** A kept stream serves requests with the same host only: the client may forward hosts to different services. */
  readonly host: string;
  /** The requested tunnel, once it is known; `undefined` for other upstreams. */
  readonly tunnel: LiveTunnel | undefined;
  /** The visitor who got access, if the tunnel has an access policy. */
  readonly entrant: AllowedVisitor | undefined;
  /** Counts how the request ends. */
  readonly outcomes: RequestCounts;
}

export interface TunnelRequestOptions {
  readonly plan: ParsedRequest;
  readonly route: Extract<Destination, { kind: 'tunnel' }>;
  readonly peer: Peer;
  readonly rules: ResponseRules;
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
}

/** Its getters are valid once the request is sent to a stream: before that, the visitor may have to wait for access. */
export class TunnelRequest implements UpstreamRequest {
  readonly plan: ParsedRequest;
  readonly route: Extract<Destination, { kind: 'tunnel' }>;
  readonly peer: Peer;
  readonly entry: AllowedVisitor | Promise<Entry | undefined> | undefined;
  readonly target: LiveTunnel | TunnelLookup;
  readonly repeatable: boolean;
  readonly fresh: boolean;
  readonly keepsStream: boolean;
  readonly outcomes = requests.tunnel;
  entrant: AllowedVisitor | undefined;
  readonly #rules: ResponseRules;
  readonly #dialer: Dialer;
  readonly #authorize: TunnelRequestOptions['authorize'];

  constructor({ plan, route, peer, rules, dialer, entry, authorize }: TunnelRequestOptions) {
    const { head, framing } = plan;
    const waits = entry instanceof Promise;
    this.plan = plan;
    this.route = route;
    this.peer = peer;
    this.entry = entry;
    this.target = route.tunnel;
    this.repeatable = framing.kind === 'none' && IDEMPOTENT.has(head.method);
    // An idle connection may end at the moment it is reused, which a request that cannot be repeated must not
    // encounter.
    this.fresh = !this.repeatable || waits;
    this.keepsStream = !peer.trusted || !authenticatesConnection(head);
    this.entrant = waits ? undefined : entry;
    this.#rules = rules;
    this.#dialer = dialer;
    this.#authorize = authorize;
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
    return lookup.dial(this.#dialer, handler, (found) => this.#enter(found));
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

/**
 * Whether a service may attribute all later requests on the same connection to the same person. A proxy's connection
 * carries other visitors' requests next.
 */
function authenticatesConnection({ fields }: RequestHead): boolean {
  return fields.some((field) => field.is('authorization') && OF_CONNECTION.test(field.value));
}
