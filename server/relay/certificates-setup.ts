/** Sets up a relay that obtains its own certificates. */
import { createHash } from 'node:crypto';
import { uriHost } from '../../shared/networks.ts';
import { Certificates } from '../certificates/certificates.ts';
import { type ChallengeSolver, eachForItself, type Planning } from '../certificates/challenge-solver.ts';
import { Authority, dnsSolver, textOf, Zones } from '../certificates/dns/authority.ts';
import { delegationLookup, Delegations, Wildcards } from '../certificates/dns/delegation.ts';
import { DnsServer } from '../certificates/dns/dns-server.ts';
import { PresentedChallenges } from '../certificates/known-certificates.ts';
import { systemClock as clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { VerifiedDomains } from '../domains/verified-domains.ts';
import { boundPort, readAuthorities } from '../edge/listener.ts';
import type { Listeners } from '../listeners.ts';
import type { Log } from '../log.ts';
import type { Counts } from '../shared-counts.ts';
import type { Store } from '../store/store.ts';
import type { Names } from './tunnels-setup.ts';

interface CertificatesParts {
  readonly store: Store;
  readonly log: Log;
  readonly names: Pick<Names, 'mayHave' | 'holderOf' | 'isServed'>;
  readonly verified: Pick<VerifiedDomains, 'onGone' | 'has'>;
  readonly listeners: Listeners;
  /** those of the other processes of this relay */
  readonly counts: Counts;
  /** whether no other relay on the database orders certificates; one that is being replaced may */
  readonly alone: boolean;
  /** whether no other process of this relay renews certificates */
  readonly renews: boolean;
}

/**
 * Opens the port for plain HTTP.
 *
 * @returns not started; `undefined` if the relay does not obtain its own certificates
 * @throws TlsFileError, StoreError, or the system's error if the address is in use or not local
 */
export async function openCertificates(
  config: Config,
  { store, log, names, verified, listeners, alone, renews, counts }: CertificatesParts,
): Promise<Certificates | undefined> {
  const { acme, publicUrl, host, reusePort } = config;
  if (acme === undefined) return undefined;
  const ca = acme.ca && (await readAuthorities(acme.ca));
  const publicPort = publicUrl?.port === '' ? undefined : Number(publicUrl?.port);
  const { email, directory, ordersPerHour, httpPort, dnsPort, host: own } = acme;
  const challenges = new PresentedChallenges(store, clock, alone);
  const direct = [challenges.solver('tls-alpn-01'), challenges.solver('http-01')];
  const dns =
    dnsPort === undefined
      ? undefined
      : await openDns(config, {
          nameServer: own,
          port: dnsPort,
          listeners,
          store,
          log,
          challenges,
          direct,
          verified,
          counts,
        });
  const planning = dns?.planning ?? eachForItself(direct);
  const mayHaveAny = (name: string): boolean | Promise<boolean> =>
    name.startsWith('*.')
      ? verified.has(name) || isNeeded(name.slice(2), config, store)
      : names.mayHave(name);
  const certificates = new Certificates(
    { email, directory, ca, ordersPerHour },
    {
      store,
      clock,
      log,
      own,
      alone,
      renews,
      challenges,
      planning,
      mayHave: mayHaveAny,
      holderOf: (name) => names.holderOf(name),
      isServed: (name) => names.isServed(name),
      dns: dns?.server,
      publicPort,
      counts,
    },
  );
  verified.onGone = (domain) => void certificates.release(domain);
  await certificates.prepare();
  await listeners.open('http', certificates.http, { host, port: httpPort, reusePort });
  log('http listening', { url: `http://${uriHost(host)}:${boundPort(certificates.http)}` });
  return certificates;
}

/** Whether tunnels have addresses below a domain: the tunnel domain, or that of an account. */
async function isNeeded(
  domain: string,
  { tunnelDomain, serviceDomain }: Config,
  store: Pick<Store, 'listAccounts'>,
): Promise<boolean> {
  if (domain === tunnelDomain) return true;
  const accounts = await store.listAccounts();
  return accounts.some(({ subdomain }) => subdomain !== null && domain === `${subdomain}.${serviceDomain}`);
}

/* Certificates by DNS: the relay answers for the challenges of its domains, if they are delegated to it. */

interface DnsParts {
  /** of the relay */
  readonly nameServer: string;
  /** 0 for a free one */
  readonly port: number;
  readonly listeners: Listeners;
  readonly store: Pick<Store, 'relaySecret'>;
  readonly log: Log;
  readonly challenges: PresentedChallenges;
  /** solvers for a single host */
  readonly direct: readonly ChallengeSolver[];
  readonly verified: Pick<VerifiedDomains, 'has'>;
  readonly counts: Counts;
}

export interface Dns {
  readonly planning: Planning;
  readonly server: DnsServer;
}

/** @throws the system's error if the port is in use or not local, or StoreError */
async function openDns(config: Config, parts: DnsParts): Promise<Dns> {
  const { host, tunnelDomain, serviceDomain, resolver } = config;
  const { nameServer, port, listeners, store, log, challenges, direct, verified, counts } = parts;
  const mark = await zoneMark(store);
  const isUsers = (domain: string): boolean => verified.has(`*.${domain}`);
  const zones = new Zones([tunnelDomain], [serviceDomain], isUsers);
  const authority = new Authority({ zones, nameServer, mark });
  const load = async () => (await challenges.all('dns-01')).map(textOf);
  const server = await DnsServer.start({ host, port, listeners, authority, load, clock, log, counts });
  const lookUp = delegationLookup(mark, resolver);
  const planning = new Wildcards({
    delegations: new Delegations({ lookUp, nameServer, clock, log }),
    dns: dnsSolver(challenges.solver('dns-01'), clock),
    direct,
    tunnelDomain,
    serviceDomain,
    isUsers,
  });
  return { planning, server };
}

/** The same for all relays on a database, and different for others. */
async function zoneMark(store: Pick<Store, 'relaySecret'>): Promise<string> {
  const secret = await store.relaySecret('dns zones', clock.now());
  return `culvert-${createHash('sha256').update(secret).digest('hex').slice(0, 16)}`;
}
