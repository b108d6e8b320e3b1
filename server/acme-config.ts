/** Settings of a relay that gets its own certificates. */
import { resolve } from 'node:path';
import { certifiable } from './certificates/names.ts';
import type { TlsFile } from './edge/listener/tls-files.ts';
import type { GivenSettings } from './given-settings.ts';
import { type SettingName, variableOf } from './settings.ts';

export interface AcmeConfig {
  readonly email: string;
  /** address of the authority's directory */
  readonly directory: string;
  /** with what the authority itself is checked; `undefined`: as the system does it */
  readonly ca: TlsFile | undefined;
  readonly ordersPerHour: number;
  /** port for plain HTTP; 0 for a free one */
  readonly httpPort: number;
  /** port for DNS; 0 for a free one; `undefined` for none */
  readonly dnsPort: number | undefined;
  /** the relay's own name */
  readonly host: string;
}

const DEPENDENT = ['acme-directory', 'acme-ca', 'acme-orders-per-hour', 'http-port', 'dns-port'] as const;
/** Who has certificates of his own, or a proxy in front that needs them in its place. */
const OTHERWISE = ['tls-cert', 'tls-key', 'trust-proxy'] as const;

/** @returns `undefined` if there is none, or something is wrong with it, which is then among the problems */
export function readAcme(given: GivenSettings, publicUrl: URL | undefined): AcmeConfig | undefined {
  const email = given.readGiven('acme-email');
  if (email === undefined) {
    for (const name of DEPENDENT)
      if (given.readGiven(name) !== undefined) refuse(given, name, `with ${variableOf('acme-email')}`);
    return undefined;
  }
  for (const name of OTHERWISE)
    if (given.readGiven(name) !== undefined) refuse(given, 'acme-email', `without ${variableOf(name)}`);
  const host = publicUrl?.protocol === 'https:' ? certifiable(publicUrl.hostname) : undefined;
  if (host === undefined) {
    refuse(
      given,
      'acme-email',
      `with ${variableOf('public-url')}=https://…, a name that the authority can look up`,
    );
    return undefined;
  }
  const ca = given.read('acme-ca');
  return {
    email,
    directory: given.read('acme-directory'),
    ca: ca === undefined ? undefined : { path: resolve(ca), setting: given.nameAsGiven('acme-ca') },
    ordersPerHour: given.read('acme-orders-per-hour'),
    httpPort: given.read('http-port'),
    dnsPort: given.read('dns-port'),
    host,
  };
}

function refuse(given: GivenSettings, name: SettingName, unless: string): void {
  given.problems.push(`${given.nameAsGiven(name)} takes effect only ${unless}`);
}
