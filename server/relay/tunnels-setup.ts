/** Sets up the tunnels of this relay and their clients, and users' own domains, which are loaded, checked and released. */
import { CloseCode, KEY_ENDS, type KnockMessage } from '../../shared/control.ts';
import { ApprovalWaits } from '../access/approval-requests.ts';
import type { Holder } from '../certificates/challenge-solver.ts';
import { Hub, type SocketEnd } from '../clients/hub.ts';
import { systemClock as clock } from '../clock.ts';
import type { Peering } from '../cluster/peering.ts';
import { type Config, publicUrlOf, schemeOf } from '../config.ts';
import { Dns } from '../domains/domain-check.ts';
import { DomainWatch, HeldDomains } from '../domains/domain-watch.ts';
import { type OwnNames, VerifiedDomains } from '../domains/verified-domains.ts';
import { type HostTarget, resolveHost } from '../edge/route.ts';
import type { Log } from '../log.ts';
import type { StoredKnock } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Coordination } from '../tunnels/coordination.ts';
import type { EndReason } from '../tunnels/lifecycle.ts';
import { type LiveTunnel, tunnelFields } from '../tunnels/live-tunnel.ts';
import { TunnelRegistry } from '../tunnels/registry.ts';
import { ApprovalExpiry } from '../tunnels/links-and-approvals.ts';
import { TcpPorts } from '../tunnels/tcp-ports.ts';
import { TunnelService } from '../tunnels/tunnel-service.ts';

export interface Tunnels {
  readonly registry: TunnelRegistry;
  readonly service: TunnelService;
  readonly hub: Hub;
  /** the ports of TCP tunnels, if there are such tunnels */
  readonly ports: TcpPorts | undefined;
  /** responses to visitors who wait for approval */
  readonly waits: ApprovalWaits;
}

/** Close codes for the control socket of an ended tunnel (protocol.md section 7). */
const ENDS: Readonly<Record<EndReason, SocketEnd>> = {
  closed: { code: CloseCode.tunnelClosed },
  expired: { code: CloseCode.tunnelExpired },
  // The keys were removed with the account, so its client has to sign in again.
  removed: { code: CloseCode.keyRevoked, reason: KEY_ENDS.removed },
  displaced: { code: CloseCode.domainGone },
};

interface TunnelsDeps {
  readonly store: Store;
  readonly peering: Peering;
  readonly log: Log;
  /** called when a tunnel's access policy, links or approval requests have changed */
  readonly onAccess: (tunnel: LiveTunnel) => void;
  /** called when a tunnel has ended */
  readonly onEnd: (tunnel: LiveTunnel, reason: EndReason) => void;
  /** ms since the clients of tunnels have left, if known; otherwise all are expected to return */
  readonly missed: ReadonlyMap<string, number> | undefined;
}

/** @throws StoreError */
export async function startTunnels(
  config: Config,
  { store, peering, log, onAccess, onEnd, missed }: TunnelsDeps,
): Promise<Tunnels> {
  const registry = new TunnelRegistry(config.reservedNames);
  const { nameHold, trunks } = config;
  const { tellPeers, ownership, forwarder } = peering;
  const { tcpPorts: range, host } = config;
  const isShared = config.reusePort || config.workers > 1;
  const ports = range && new TcpPorts({ range, host, isShared, clock, log });
  const waits = new ApprovalWaits(clock);
  const ends = new ApprovalExpiry(clock, onAccess);
  const hub = new Hub({
    clock,
    maxTrunks: trunks,
    ownership,
    forwarder,
    counts: peering.counts,
    onOnline: (tunnel) => {
      log('client online', tunnelFields(tunnel));
      tellKnocks(tunnel);
    },
    onMoved: (tunnel) => log('tunnel moved', tunnelFields(tunnel)),
    onOffline: (tunnel, code) => log('client offline', { ...tunnelFields(tunnel), code }),
  });
  const tellKnocks = (tunnel: LiveTunnel): void =>
    hub.get(tunnel.id)?.control?.tellKnocks(tunnel.knocks.waiting(clock.now()).map(viewKnock));
  const service = new TunnelService({
    store,
    registry,
    clock,
    log,
    ttl: config,
    nameHold,
    offersTls: schemeOf(config) === 'https',
    ports,
    tellPeers,
    knowsAll: config.workers > 1,
    onAccess: (tunnel) => {
      if (tunnel.account.suspended !== null) hub.get(tunnel.id)?.suspend(tunnel.account.suspended);
      tellKnocks(tunnel);
      ends.watch(tunnel);
      waits.wake(tunnel.id, 'changed');
      onAccess(tunnel);
    },
    onTakenFromAgent: (tunnel) => hub.get(tunnel.id)?.takeFromAgents(),
    onEnd: (tunnel, reason) => {
      ends.forget(tunnel);
      waits.wake(tunnel.id, 'over');
      hub.end(tunnel, ENDS[reason]);
      onEnd(tunnel, reason);
    },
  });
  await service.start();
  // Otherwise, it is known elsewhere when each client has left.
  for (const tunnel of ownership.hasOthers ? [] : registry.all()) {
    const awayMs = missed === undefined ? 0 : missed.get(tunnel.id);
    if (awayMs !== undefined) hub.expect(tunnel, awayMs);
  }
  hub.start();
  return { registry, service, hub, ports, waits };
}

/** As shown to the owner's client. */
function viewKnock({ id, address, agent, at, client }: StoredKnock): Omit<KnockMessage, 'type'> {
  return { id, address, agent, at: new Date(at).toISOString(), client };
}

export type Domains = Awaited<ReturnType<typeof openDomains>>;

interface DomainsDeps {
  readonly store: Store;
  readonly tunnels: Tunnels;
  readonly peering: Peering;
  readonly log: Log;
}

/** @throws StoreError */
export async function openDomains(config: Config, { store, tunnels, peering, log }: DomainsDeps) {
  const { tunnelDomain, serviceDomain, nameHold } = config;
  // The port is irrelevant.
  const host = publicUrlOf(config, 0).hostname.replaceAll(/[[\]]/g, '');
  const own: OwnNames = { host, tunnelDomain, serviceDomain };
  const dns = new Dns(config.resolver);
  const { lookup } = dns;
  const verified = new VerifiedDomains(store, clock);
  await verified.start();
  const { coordination } = tunnels.service;
  const { tellPeers } = peering;
  const held = new HeldDomains({ store, clock, verified, coordination, tellPeers, nameHold });
  const watch = new DomainWatch({ store, clock, log, lookup, host, held });
  watch.start();

  /**
   * Checks none again, and cancels DNS lookups, until `resume`. Everything pending has been stored when this returns.
   */
  function pause(): Promise<void> {
    dns.pause();
    return watch.stop();
  }

  return {
    own,
    lookup,
    verified,
    held,
    /** decides which hosts this relay serves */
    names: new Names({ own, coordination, verified }),
    pause,
    /** Undoes `pause`. */
    resume(): void {
      dns.resume();
      watch.start();
    },
    async stop(): Promise<void> {
      await pause();
      verified.stop();
    },
  };
}

interface NamesDeps {
  readonly own: OwnNames;
  readonly coordination: Pick<Coordination, 'find' | 'byLabel' | 'findByLabel'>;
  readonly verified: Pick<VerifiedDomains, 'ownerOf' | 'domainsOf'>;
}

export class Names {
  readonly #deps: NamesDeps;

  constructor(deps: NamesDeps) {
    this.#deps = deps;
  }

  /**
   * Whether a certificate of this name may be presented and stored: it is the relay's, below one of its domains
   * (whether or not there is a tunnel), or a verified domain's.
   *
   * @param name a host, or `*.` and a domain, in any case
   */
  isServed(name: string): boolean {
    const target = this.#resolve(name);
    if (target.kind !== 'other') return true;
    const { verified } = this.#deps;
    return verified.ownerOf(target.name) !== undefined || verified.domainsOf(target.name).length > 0;
  }

  /** Whether {@link holderOf} finds an owner. @throws StoreError */
  async mayHave(host: string): Promise<boolean> {
    return (await this.holderOf(host)) !== undefined;
  }

  /**
   * The same, but not for hosts of wildcard tunnels and domains: visitors could invent any number of them.
   *
   * @throws StoreError
   */
  async isNamed(host: string): Promise<boolean> {
    return (await this.holderOf(host))?.subject === host.toLowerCase();
  }

  /**
   * The owner of a host that is the relay's own, that of a live tunnel, or that of a verified domain, and the name of its
   * certificate.
   *
   * @param host a name, in any case, from a handshake or a query
   * @returns `undefined` for all others
   * @throws StoreError if another relay may have the tunnel, and the store fails
   */
  async holderOf(host: string): Promise<Holder | undefined> {
    const { own, coordination, verified } = this.#deps;
    const subject = host.toLowerCase();
    const target = this.#resolve(host);
    if (target.kind === 'own') return subject === own.host ? { account: 'relay', subject } : undefined;
    if (target.kind === 'unknown') return undefined;
    if (target.kind === 'other') {
      const [domain] = verified.domainsOf(target.name);
      const account = domain === undefined ? undefined : verified.ownerOf(domain);
      return account === undefined || domain === undefined ? undefined : { account, subject: domain };
    }
    const { slug, account: label } = target;
    if (label === undefined) {
      const tunnel = coordination.byLabel(slug) ?? (await coordination.findByLabel(slug));
      // The service of a TLS tunnel has a certificate of its own.
      if (tunnel === undefined || tunnel.isRaw) return undefined;
      return {
        account: tunnel.account.id,
        subject: tunnel.slug === slug ? subject : `*.${own.tunnelDomain}`,
      };
    }
    const tunnel = await coordination.find(slug);
    return tunnel?.account.subdomain === label ? { account: tunnel.account.id, subject } : undefined;
  }

  #resolve(host: string): HostTarget {
    const { host: own, tunnelDomain: tunnel, serviceDomain: service } = this.#deps.own;
    return resolveHost(host, { own, tunnel, service });
  }
}
