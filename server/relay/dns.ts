/** Certificates by DNS: the relay answers for the challenges of its domains, where they are delegated to it. */
import { createHash } from 'node:crypto';
import { Authority } from '../certificates/dns/authority.ts';
import { delegationLookup } from '../certificates/dns/delegation.ts';
import { Delegations } from '../certificates/dns/delegations.ts';
import { DnsServer } from '../certificates/dns/dns-server.ts';
import { dnsSolver, textOf } from '../certificates/dns/dns-solver.ts';
import { Zones } from '../certificates/dns/zones.ts';
import type { PresentedChallenges } from '../certificates/presented.ts';
import type { ChallengeSolver, Planning } from '../certificates/solver.ts';
import { Wildcards } from '../certificates/wildcards.ts';
import { systemClock as clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Listeners } from '../listeners.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';

export interface DnsParts {
  /** of the relay */
  readonly nameServer: string;
  /** 0 for a free one */
  readonly port: number;
  readonly listeners: Listeners;
  readonly store: Pick<Store, 'relaySecret'>;
  readonly log: Log;
  readonly challenges: PresentedChallenges;
  /** ways to prove a host alone */
  readonly direct: readonly ChallengeSolver[];
}

export interface Dns {
  readonly planning: Planning;
  readonly server: DnsServer;
}

/** @throws the system's error when the port is taken or not ours, or StoreError */
export async function openDns(config: Config, parts: DnsParts): Promise<Dns> {
  const { host, tunnelDomain, serviceDomain, resolver } = config;
  const { nameServer, port, listeners, store, log, challenges, direct } = parts;
  const mark = await zoneMark(store);
  const authority = new Authority({ zones: new Zones([tunnelDomain], [serviceDomain]), nameServer, mark });
  const load = async () => (await challenges.all('dns-01')).map(textOf);
  const server = await DnsServer.start({ host, port, listeners, authority, load, clock, log });
  const lookUp = delegationLookup(mark, resolver);
  const planning = new Wildcards({
    delegations: new Delegations({ lookUp, nameServer, clock, log }),
    dns: dnsSolver(challenges.solver('dns-01'), clock),
    direct,
    tunnelDomain,
    serviceDomain,
  });
  return { planning, server };
}

/** The same for all relays on a database, and for no others. */
async function zoneMark(store: Pick<Store, 'relaySecret'>): Promise<string> {
  const secret = await store.relaySecret('dns zones', clock.now());
  return `culvert-${createHash('sha256').update(secret).digest('hex').slice(0, 16)}`;
}
