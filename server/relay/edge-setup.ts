/** Sets up the public entrance: the listener, and behind it visitors, the API and the WebSockets of clients. */
import type { RequestListener } from 'node:http';
import type { Server } from 'node:net';
import { ADMISSION_MAX_SECONDS, KNOCK_SECONDS } from '../../shared/knocks.ts';
import { LINK_MAX_TTL_SECONDS } from '../../shared/links.ts';
import { uriHost } from '../../shared/networks.ts';
import { AccessCheck, approvalIdOf, linkIdOf } from '../access/access-check.ts';
import type { ApprovalWaits } from '../access/approval-requests.ts';
import type { IdentityProvider } from '../access/identity-provider.ts';
import { KeyRing, LinkTokens, PASS_SECONDS, Passes, type PassKind } from '../access/passes.ts';
import type { PasswordHashes } from '../access/password-hashes.ts';
import { Seals } from '../access/seals.ts';
import {
  ADDRESS_EXCHANGES_MAX,
  ARRIVAL_RATE,
  EXCHANGES_MAX,
  EXCHANGES_WAITING_MAX,
  SIGN_IN_SECONDS,
  SignIn,
  STATE_RATE,
} from '../access/sign-in.ts';
import type { Authenticator } from '../accounts/authenticator.ts';
import { LOGIN_PLACE, LOGIN_SECONDS, Logins } from '../accounts/logins.ts';
import { Invitations } from '../accounts/team.ts';
import {
  ACCOUNT_WRITES_MAX,
  API_WRITES_MAX,
  CREATE_BURST,
  CREATES_PER_MINUTE,
  DOMAIN_CALLS_BURST,
  DOMAIN_CALLS_PER_MINUTE,
  InProcessApi,
  RequestScheduler,
} from '../api/scheduler.ts';
import type { MayHave } from '../certificates/challenge-solver.ts';
import type { Upgrades } from '../clients/upgrades.ts';
import { systemClock as clock } from '../clock.ts';
import { Downloads, OWN_DOWNLOADS } from '../downloads/downloads.ts';
import type { Peering } from '../cluster/peering.ts';
import { type Config, publicUrlOf, schemeOf } from '../config.ts';
import { Approvals } from '../edge/approvals.ts';
import { Notice } from '../edge/builtin-responses.ts';
import type { HandshakeGuide } from '../edge/client-hello.ts';
import { ADDRESS_STREAM_SHARE, AddressLimits, NEWCOMERS_MAX } from '../edge/connection-limiter.ts';
import { Edge } from '../edge/edge.ts';
import {
  boundPort,
  type CertificateWatch,
  listen,
  type Listening,
  type Pair,
  TicketKeys,
} from '../edge/listener.ts';
import { isTrusted, passCookieName } from '../edge/request-head.ts';
import { HostResolver, tunnelAtHost } from '../edge/route.ts';
import { Upstreams } from '../edge/upstreams.ts';
import {
  ACCESS_ATTEMPTS_PER_MINUTE,
  TUNNEL_ATTEMPTS_PER_MINUTE,
  VisitorAccess,
} from '../edge/visitor-access.ts';
import { isAuthorizePage } from '../oauth/authorization.ts';
import type { OAuthDeps } from '../oauth/oauth-routes.ts';
import { traffic } from '../observe/counters.ts';
import type { Operator, Unexpected } from '../observe/logger.ts';
import { type CreateLimiter, type Limit, type Rate, RateLimiter } from '../rate-limiter.ts';
import type { Store } from '../store/store.ts';
import { KeptNames } from '../tunnels/kept-names.ts';
import type { TunnelRegistry } from '../tunnels/registry.ts';
import { TunnelAgents } from '../tunnels/tunnel-agents.ts';
import { isTunnelAt } from '../tunnels/live-tunnel.ts';
import { TunnelApprovals, TunnelLinks } from '../tunnels/links-and-approvals.ts';
import { OnceLinks } from '../tunnels/once-links.ts';
import { Turnstile } from '../turnstile.ts';
import { setUpOAuth } from './oauth-setup.ts';
import type { Domains, Tunnels } from './tunnels-setup.ts';

/** The parts that the listener's connections need. */
interface EdgeSetupOptions {
  readonly store: Store;
  readonly tunnels: Tunnels;
  readonly domains: Domains;
  readonly authenticator: Authenticator;
  readonly hashes: PasswordHashes;
  /** where people sign in; `undefined` without one */
  readonly provider: IdentityProvider | undefined;
  readonly upgrades: Upgrades;
  readonly peering: Peering;
  readonly unexpected: Unexpected;
  /** provides the relay's own certificates, if it obtains any */
  readonly guide: HandshakeGuide | undefined;
  /** its certificate, if there is already one */
  readonly ownPair: Pair | undefined;
  /** whether a host is one that this relay serves by its name */
  readonly isNamed: MayHave;
}

interface EdgeSetup {
  readonly url: string;
  /** that is bound */
  readonly port: number;
  readonly edge: Edge;
  /** keeps the certificate up to date; `undefined` without TLS */
  readonly certificate: CertificateWatch | undefined;
  /** the key of session tickets; `undefined` without TLS */
  readonly tickets: TicketKeys | undefined;
  /** Sets the certificate for handshakes without a known host. */
  readonly useOwn: Listening['useOwn'];
  /** keys of visitors' passes, and of signed links */
  readonly accessKeys: readonly KeyRing[];
  /** agents of tunnels, whose uses are stored from time to time */
  readonly agents: TunnelAgents;
  /** Loads the API in advance, so that the first request does not have to wait for it. */
  readonly loadApi: () => Promise<void>;
  /** From now on the relay reports that it accepts no new work (protocol.md section 3.1). */
  readonly beginToDrain: () => void;
}

/**
 * @param open binds the listener, when everything else is ready
 * @throws Error with a text for the operator if the address cannot be bound
 */
export async function setUpEdge(
  config: Config,
  dependencies: EdgeSetupOptions,
  { log, accessLog }: Operator,
  open: (server: Server) => Promise<void>,
): Promise<EdgeSetup> {
  const { store, tunnels, domains, authenticator, hashes, provider } = dependencies;
  const { upgrades, peering, unexpected, guide, ownPair, isNamed } = dependencies;
  const { registry, service, hub, waits } = tunnels;
  const knocks = new TunnelApprovals({ tunnels: service, store, clock, log, heard: () => peering.heard() });
  const agents = new TunnelAgents({ tunnels: service, registry, store, clock, log });
  const notice = config.notice ? await openNotice(config, store) : undefined;
  const secure = isSecure(config);
  const logins = new Logins({
    accounts: config.oidc?.accounts ?? [],
    seals: () => doorway.seals,
    store,
    clock,
    once: once(peering, { perMinute: 60 / LOGIN_SECONDS, burst: 1 }),
  });
  const doorway = await setUpAccess({
    store,
    hashes,
    registry,
    knocks,
    waits,
    secure,
    contact: config.abuseContact,
    oauth: { agents, peering, knocks, publicUrl: () => publicUrl, log },
    signIn: (seals) =>
      new SignIn({
        provider,
        name: config.oidc?.name ?? config.oidc?.issuer.host ?? '',
        groupsClaim: config.oidc?.groupsClaim ?? '',
        seconds: config.oidc?.ttl ?? 0,
        seals,
        publicUrl: () => publicUrl,
        async findTunnel(id) {
          if (id === LOGIN_PLACE) return logins.place;
          await service.coordination.followTunnel(id);
          const tunnel = registry.byId(id);
          return (
            tunnel && {
              access: tunnel.access,
              isAt: (place) =>
                isTunnelAt(tunnel, place, addresses) ||
                (isAuthorizePage(place) && tunnel.access?.takesAgents === true),
            }
          );
        },
        states: once(peering, STATE_RATE),
        arrivals: once(peering, ARRIVAL_RATE),
        exchanges: new Turnstile({
          // Each process has its share.
          atOnce: {
            all: Math.ceil(EXCHANGES_MAX / config.workers),
            group: Math.ceil(ADDRESS_EXCHANGES_MAX / config.workers),
          },
          waiting: { all: EXCHANGES_WAITING_MAX },
        }),
        log,
      }),
    limit: peering.limit,
    signInSeconds: Math.max(config.oidc?.ttl ?? 0, SIGN_IN_SECONDS, LOGIN_SECONDS),
  });
  const tickets = schemeOf(config) === 'https' ? await TicketKeys.start({ store, clock }) : undefined;
  const { server, tls, certificate, useOwn } = await listen(
    config,
    { tickets, guide, pair: ownPair },
    log,
    open,
  );
  // No `await` between this and the edge, or the first connections would have no handler.
  const port = boundPort(server);
  const publicUrl = publicUrlOf(config, port);
  const { tunnelDomain, serviceDomain, pathForm, trustedProxies } = config;
  const addresses = { publicUrl, tunnelDomain, serviceDomain, pathForm };
  const rate = { perMinute: CREATES_PER_MINUTE, burst: CREATE_BURST };
  const ownCreates = new RateLimiter(clock, rate);
  let draining = false;
  const turns = new RequestScheduler({
    clock,
    visitorsWork: () => traffic.bytesIn + traffic.bytesOut,
    nextTurn: (first, second) => {
      setImmediate(first);
      setImmediate(second);
    },
  });
  const writes = new Turnstile({ atOnce: { all: API_WRITES_MAX, group: ACCOUNT_WRITES_MAX } });
  const context = {
    hosts: new HostResolver({ own: publicUrl.hostname, tunnel: tunnelDomain, service: serviceDomain }),
    registry,
    coordination: service.coordination,
    verified: domains.verified,
    pathForm,
    trustedProxies,
    abuseContact: config.abuseContact,
  };
  const resources = {
    authenticator,
    tunnels: service,
    knocks,
    agents,
    links: new TunnelLinks({ tunnels: service, store, clock, log, tokens: doorway.links }),
    names: new KeptNames({ store, tunnels: service, registry, clock, log, nameHold: config.nameHold }),
    store,
    turns,
    hashes,
    writes,
    clients: hub,
    creates: peering.limit(ownCreates, rate),
    ttl: config,
    addresses,
    signIn: doorway.signIn,
    oauth: doorway.endpoints((host) => tunnelAtHost(host, context)),
    logins,
    clock,
    invitations: new Invitations({ store, clock, log, limit: peering.limit }),
    contact: config.abuseContact,
    downloadPage: config.downloadPage,
    downloads:
      config.downloads === 'off' ? undefined : new Downloads(config.downloads?.folder ?? OWN_DOWNLOADS),
    admin: { store, nameHold: config.nameHold, own: config },
    isDraining: () => draining,
    heard: () => peering.heard(),
    isNamed,
  };
  const domainRate = { perMinute: DOMAIN_CALLS_PER_MINUTE, burst: DOMAIN_CALLS_BURST };
  const domainCalls = peering.limit(new RateLimiter(clock, domainRate), domainRate);
  const api = new LateListener(async () => {
    const [{ createApi }, { DomainService }] = await Promise.all([
      import('../api/app.ts'),
      import('../domains/domain-service.ts'),
    ]);
    const { own, lookup, held } = domains;
    const domainService = new DomainService({
      store,
      clock,
      log,
      lookup,
      own,
      answersDns: config.acme?.dnsPort !== undefined,
      held,
      calls: domainCalls,
      writes,
    });
    return createApi({ ...resources, domains: domainService }, log);
  });
  const upstreams = new Upstreams({
    context,
    dialer: hub,
    api: new InProcessApi(api.handle, turns),
    endpoints: upgrades,
    indexed: config.indexed,
    // The operator's own certificates may only be trusted in the operator's tests.
    secureOnly: guide !== undefined,
    visitorAccess: doorway.visitorAccess,
    notice,
    now: () => clock.monotonic(),
    wallTime: () => clock.now(),
    unexpected,
    tellOwner: (tunnel, problem) => hub.get(tunnel.id)?.tellProblem(problem),
    accessLog,
  });
  return {
    url: `${schemeOf(config)}://${uriHost(config.host)}:${port}`,
    port,
    edge: new Edge(
      server,
      upstreams,
      { visitors: config.maxConnections, newcomers: NEWCOMERS_MAX, counts: peering.counts },
      new AddressLimits(
        { ...config.address, streams: ADDRESS_STREAM_SHARE * config.maxConnections },
        trustedProxies,
        clock,
        peering.counts,
      ),
      {
        proxies: config.proxyProtocol
          ? { isExpected: (address) => isTrusted(address, trustedProxies), clock }
          : undefined,
        tls,
      },
      tunnels.ports,
      (tunnelId) => registry.byId(tunnelId),
    ),
    certificate,
    tickets,
    useOwn,
    accessKeys: doorway.keys,
    agents,
    loadApi: () => api.load(),
    beginToDrain: () => {
      draining = true;
      waits.release();
    },
  };
}

async function openNotice(config: Config, store: Store): Promise<Notice> {
  return new Notice({
    secret: await store.relaySecret('notice', clock.now()),
    secure: isSecure(config),
    contact: config.abuseContact,
    now,
  });
}

/** Whether tunnels are visited with https. */
function isSecure(config: Config): boolean {
  return (config.publicUrl?.protocol ?? `${schemeOf(config)}:`) === 'https:';
}

/*
 * A listener whose code is loaded after the relay has started to listen, or with an earlier first request: visitors of
 * tunnels do not wait for code that only the API needs.
 */

export class LateListener {
  readonly #load: () => Promise<RequestListener>;
  #loading: Promise<void> | undefined;
  #listener: RequestListener | undefined;

  constructor(load: () => Promise<RequestListener>) {
    this.#load = load;
  }

  /** Loads it now. */
  load(): Promise<void> {
    return (this.#loading ??= this.#take());
  }

  /** Handles a request, which waits while the listener is being loaded. */
  readonly handle: RequestListener = (request, response) => {
    if (this.#listener !== undefined) return this.#listener(request, response);
    // If it cannot be loaded the relay exits, since the program is incomplete.
    void this.load().then(() => this.#listener?.(request, response));
  };

  async #take(): Promise<void> {
    this.#listener = await this.#load();
  }
}

/** Longest validity in seconds of a signed link, or of the cookie of a visitor who asks for approval. */
const LASTING_SECONDS = Math.max(LINK_MAX_TTL_SECONDS, KNOCK_SECONDS + ADMISSION_MAX_SECONDS);

interface AccessSetupOptions {
  readonly store: Store;
  readonly hashes: PasswordHashes;
  readonly registry: Pick<TunnelRegistry, 'byId'>;
  readonly knocks: Pick<TunnelApprovals, 'knock'>;
  readonly waits: Pick<ApprovalWaits, 'wait'>;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  readonly oauth: Pick<
    Parameters<typeof setUpOAuth>[0],
    'agents' | 'peering' | 'knocks' | 'publicUrl' | 'log'
  >;
  readonly signIn: (seals: Seals) => SignIn;
  /** longest validity in seconds of anything about a sign-in */
  readonly signInSeconds: number;
  /** counts tries at all relays */
  readonly limit: Limit;
}

interface AccessSetup {
  readonly visitorAccess: VisitorAccess;
  readonly signIn: SignIn;
  /** The OAuth endpoints. @param tunnelAt finds the live tunnel at a host */
  readonly endpoints: (tunnelAt: OAuthDeps['tunnelAt']) => OAuthDeps;
  readonly seals: Seals;
  /** of passes, and of signed links */
  readonly keys: readonly KeyRing[];
  /** of signed links */
  readonly links: LinkTokens;
}

/** @throws StoreError */
async function setUpAccess({
  store,
  hashes,
  registry,
  knocks,
  waits,
  secure,
  contact,
  oauth: agentParts,
  signIn: makeSignIn,
  signInSeconds,
  limit,
}: AccessSetupOptions): Promise<AccessSetup> {
  const { keys: passKeys, passes } = passesOf(store, 'visit', 'pass', PASS_SECONDS);
  // Links and approvals may be valid longer than other passes.
  const { keys: linkKeys, passes: lastingPasses } = passesOf(store, 'lasting', 'links', LASTING_SECONDS);
  const links = new LinkTokens((since) => linkKeys.keysSince(since));
  const { keys: signInKeys, passes: personPasses } = passesOf(store, 'person', 'sign-in', signInSeconds);
  const seals = new Seals(() => signInKeys.keys, now);
  const signIn = makeSignIn(seals);
  const keys = [passKeys, linkKeys, signInKeys];
  for (const ring of keys) await ring.start();
  const isGood = (tunnelId: string, visitor: string): boolean => {
    const link = linkIdOf(visitor);
    if (link !== undefined) return registry.byId(tunnelId)?.revokedLinks.has(link) !== true;
    const knock = approvalIdOf(visitor);
    return knock === undefined || registry.byId(tunnelId)?.knocks.isApproved(knock, clock.now()) === true;
  };
  const onceLinks = new OnceLinks({ store, clock, log: agentParts.log });
  const oauth = await setUpOAuth({
    ...agentParts,
    store,
    keys: linkKeys,
    links,
    onceLinks,
    isGood,
    signIn,
    contact,
  });
  const gate = new AccessCheck({
    passes,
    lastingPasses,
    personPasses,
    links,
    cookieName: (form) => passCookieName(form, secure),
    isGood,
  });
  const knocking = new Approvals({ knocks, waits, passes: lastingPasses, secure, contact, now });
  const attempts = attemptsOf(limit, ACCESS_ATTEMPTS_PER_MINUTE, 'tries');
  const tunnelAttempts = attemptsOf(limit, TUNNEL_ATTEMPTS_PER_MINUTE, 'tunnel-tries');
  const visitorAccess = new VisitorAccess({
    gate,
    passes,
    lastingPasses,
    personPasses,
    signIn,
    agents: oauth.entrance,
    hashes,
    knocking,
    onceLinks,
    attempts,
    tunnelAttempts,
    secure,
    contact,
    now,
  });
  return {
    visitorAccess,
    signIn,
    endpoints: (tunnelAt) => oauth.endpoints(visitorAccess, tunnelAt),
    seals,
    keys,
    links,
  };
}

/** Passes of one kind, with keys of their own. */
function passesOf(store: Store, kind: PassKind, name: string, seconds: number) {
  const lifetime = seconds * 1000;
  const keys: KeyRing = new KeyRing({ store, name, lifetime, clock, changed: () => passes.forget() });
  const passes = new Passes(kind, () => keys.keys);
  return { keys, passes };
}

/** Counts what is good once, at all relays of a cluster. */
function once(peering: Peering, rate: Rate): ReturnType<Peering['limit']> {
  return peering.limit(new RateLimiter(clock, rate), rate);
}

function now(): number {
  return clock.now();
}

function attemptsOf(limit: Limit, perMinute: number, kind: string): CreateLimiter {
  const rate = { perMinute, burst: perMinute };
  return limit(new RateLimiter(clock, rate), rate, kind);
}
