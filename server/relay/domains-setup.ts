/** Sets up users' own domains: they are loaded, checked, and released. */
import { systemClock as clock } from '../clock.ts';
import type { Peering } from '../cluster/peering.ts';
import { type Config, publicUrlOf } from '../config.ts';
import { Dns, type DnsLookup } from '../domains/domain-check.ts';
import { DomainWatch, HeldDomains } from '../domains/domain-watch.ts';
import { type OwnNames, VerifiedDomains } from '../domains/verified-domains.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import { Names } from './relay-names.ts';
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
