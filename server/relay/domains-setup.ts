/** Sets up users' own domains: they are loaded, checked, and released. */
import type { Holder } from '../certificates/challenge-solver.ts';
import { systemClock as clock } from '../clock.ts';
import type { Peering } from '../cluster/peering.ts';
import { type Config, publicUrlOf } from '../config.ts';
import { Dns, type DnsLookup } from '../domains/domain-check.ts';
import { DomainWatch, HeldDomains } from '../domains/domain-watch.ts';
import { type OwnNames, VerifiedDomains } from '../domains/verified-domains.ts';
import { type HostTarget, resolveHost } from '../edge/route.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { Coordination } from '../tunnels/coordination.ts';
import type { TunnelRegistry } from '../tunnels/registry.ts';
import type { Tunnels } from './tunnels-setup.ts';

export interface Domains {
  readonly own: OwnNames;
  readonly lookup: DnsLookup;
  readonly verified: VerifiedDomains;
  readonly held: HeldDomains;
  /** decides which hosts this relay serves */
  readonly names: Names;
  /**
   * Checks none again, and cancels DNS lookups, until {@link resume}. Everything pending has been stored when this
   * returns.
   */
  pause(): Promise<void>;
  /** Undoes {@link pause}. */
  resume(): void;
  stop(): Promise<void>;
}

interface DomainsDeps {
  readonly store: Store;
  readonly tunnels: Tunnels;
  readonly peering: Peering;
  readonly log: Log;
}

/** @throws StoreError */
export async function openDomains(
  config: Config,
  { store, tunnels, peering, log }: DomainsDeps,
): Promise<Domains> {
  const { tunnelDomain, serviceDomain, nameHold } = config;
  // The port is irrelevant.
  const host = publicUrlOf(config, 0).hostname.replaceAll(/[[\]]/g, '');
  const own = { host, tunnelDomain, serviceDomain };
  const dns = new Dns(config.resolver);
  const { lookup } = dns;
  const verified = new VerifiedDomains(store, clock);
  await verified.start();
  const { registry, service } = tunnels;
  const { coordination } = service;
  const held = new HeldDomains({ store, clock, verified, coordination, peers: peering.peers, nameHold });
  const watch = new DomainWatch({ store, clock, log, lookup, host, held });
  watch.start();
  function pause(): Promise<void> {
    dns.pause();
    return watch.stop();
  }

  return {
    own,
    lookup,
    verified,
    held,
    names: new Names({ own, registry, coordination, verified }),
    pause,
    resume() {
      dns.resume();
      watch.start();
    },
    async stop() {
      await pause();
      verified.stop();
    },
  };
}

interface NamesDeps {
  readonly own: OwnNames;
  readonly registry: Pick<TunnelRegistry, 'bySlug'>;
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
    const { own, registry, coordination, verified } = this.#deps;
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
      const tunnel = coordination.byLabel(slug) ?? (await coordination.findByLabel?.(slug));
      if (tunnel === undefined) return undefined;
      return {
        account: tunnel.account.id,
        subject: tunnel.slug === slug ? subject : `*.${own.tunnelDomain}`,
      };
    }
    const tunnel = registry.bySlug(slug) ?? (await coordination.find?.(slug));
    return tunnel?.account.subdomain === label ? { account: tunnel.account.id, subject } : undefined;
  }

  #resolve(host: string): HostTarget {
    const { host: own, tunnelDomain: tunnel, serviceDomain: service } = this.#deps.own;
    return resolveHost(host, { own, tunnel, service });
  }
}
