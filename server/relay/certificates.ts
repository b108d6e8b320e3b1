/** The certificates of a relay that gets its own. */
import { Certificates } from '../certificates/certificates.ts';
import { PresentedChallenges } from '../certificates/presented.ts';
import { eachForItself } from '../certificates/solver.ts';
import { systemClock as clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { boundPort } from '../edge/listener/listen.ts';
import { readAuthorities } from '../edge/listener/tls-files.ts';
import type { VerifiedDomains } from '../domains/verified-domains.ts';
import { uriHost } from '../../shared/host.ts';
import type { Listeners } from '../listeners.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import { openDns } from './dns.ts';
import type { Names } from './names.ts';

export interface CertificatesParts {
  readonly store: Store;
  readonly log: Log;
  readonly names: Pick<Names, 'mayHave' | 'holderOf' | 'isServed'>;
  readonly verified: Pick<VerifiedDomains, 'onGone'>;
  readonly listeners: Listeners;
  /** whether no other relay on the database orders certificates; one that is being replaced may */
  readonly alone: boolean;
}

/**
 * Opens the port for plain HTTP.
 *
 * @returns not started; `undefined` if certificates, if there are any, come from elsewhere
 * @throws TlsFileError, StoreError, or the system's error when the address is taken or not ours
 */
export async function openCertificates(
  config: Config,
  { store, log, names, verified, listeners, alone }: CertificatesParts,
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
      : await openDns(config, { nameServer: own, port: dnsPort, listeners, store, log, challenges, direct });
  const planning = dns?.planning ?? eachForItself(direct);
  const mayHaveAny = (name: string): boolean | Promise<boolean> =>
    name.startsWith('*.') ? isNeeded(name.slice(2), config, store) : names.mayHave(name);
  const certificates = new Certificates(
    { email, directory, ca, ordersPerHour },
    {
      store,
      clock,
      log,
      own,
      alone,
      challenges,
      planning,
      mayHave: mayHaveAny,
      holderOf: (name) => names.holderOf(name),
      isServed: (name) => names.isServed(name),
      dns: dns?.server,
      publicPort,
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
