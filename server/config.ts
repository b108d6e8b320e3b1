/** The relay's configuration, from flags and environment (README.md). */
import { BlockList } from 'node:net';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { formatDuration } from '../shared/duration.ts';
import { certifiable } from './certificates/known-certificates.ts';
import type { ClusterSettings } from './cluster/cluster.ts';
import type { AddressSettings } from './edge/connection-limiter.ts';
import type { TlsFile, TlsFiles } from './edge/listener.ts';
import type { LogFormat, LogLevel } from './log.ts';
import type { MetricsAddress } from './observe/metrics-server.ts';
import {
  DEFAULT_RESERVED_NAMES,
  GivenSettings,
  SETTING_FLAGS,
  type SettingName,
  SETTINGS,
  variableOf,
} from './settings.ts';
import type { DatabaseAddress } from './store/database-address.ts';

export interface Config {
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
  /** whether other relays on this machine may listen on the same port */
  readonly reusePort: boolean;
  /** `undefined` when not given: it then holds the bound port, see {@link publicUrlOf} */
  readonly publicUrl: URL | undefined;
  readonly tunnelDomain: string;
  readonly serviceDomain: string;
  /** absolute path */
  readonly dataDir: string;
  readonly database: DatabaseAddress;
  readonly bootstrapKey: string | undefined;
  /** seconds */
  readonly maxTtl: number;
  /** seconds, at most `maxTtl` */
  readonly defaultTtl: number;
  /** seconds for which the name of an ended tunnel stays with its account */
  readonly nameHold: number;
  /** `undefined` to serve without TLS */
  readonly tls: TlsFiles | undefined;
  /** `undefined` where certificates, if there are any, come from elsewhere */
  readonly acme: AcmeConfig | undefined;
  /** peers whose forwarded headers are trusted */
  readonly trustedProxies: BlockList;
  readonly reservedNames: ReadonlySet<string>;
  /** settings that are given and no longer have an effect, as the operator wrote them */
  readonly ignored: readonly string[];
  /** trunks a client may have for each tunnel */
  readonly trunks: number;
  /** where `/metrics` listens, if anywhere */
  readonly metrics: MetricsAddress | undefined;
  /** `format` is `undefined` when not given: it then depends on whether stderr is a terminal */
  readonly log: { readonly format: LogFormat | undefined; readonly level: LogLevel };
  /** the other relays, if several serve as one */
  readonly cluster: ClusterSettings | undefined;
  /** where the access log is written, if anywhere; an absolute path */
  readonly accessLog: 'stderr' | { readonly file: string } | undefined;
  /** whether people see a warning before they first visit a tunnel on the plan free */
  readonly notice: boolean;
  /** address of a link for complaints about tunnels */
  readonly abuseContact: string | undefined;
  /** address of the page from which people get Culvert */
  readonly downloadPage: string | undefined;
  /** whether search engines may show tunnels */
  readonly indexed: boolean;
  /** whether tunnels have an address below the relay's own, too */
  readonly pathForm: boolean;
  /** the DNS server that is asked about domains, as `ADDRESS:PORT`; `undefined` for those of the system */
  readonly resolver: string | undefined;
  /** visitors' connections at a time */
  readonly maxConnections: number;
  /** limits for one visitor's address */
  readonly address: AddressSettings;
}

/** A configuration and all flags as given, or one line for each wrong setting. */
export type ConfigResult =
  | { readonly config: Config; readonly flags: Flags; readonly operands: readonly string[] }
  | { readonly problems: readonly string[] };

type Flags = Readonly<Record<string, string | boolean | undefined>>;
/** Flags by name, for `parseArgs`. */
export type FlagTypes = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

/**
 * Reads the configuration of a `culvert-relay` command.
 *
 * @param env the environment
 * @param argv arguments after the command; flags win over the environment
 * @param own flags of the command that are not settings
 * @param maxOperands arguments the command takes besides flags
 */
export function loadConfig(
  env: NodeJS.ProcessEnv,
  argv: readonly string[],
  own: FlagTypes = {},
  maxOperands = 0,
): ConfigResult {
  try {
    const options = { ...SETTING_FLAGS, ...own };
    const { values, positionals } = parseArgs({
      args: [...argv],
      options,
      strict: true,
      allowPositionals: true,
    });
    const surplus = positionals[maxOperands];
    if (surplus !== undefined) return { problems: [`unexpected argument "${surplus}"`] };
    const result = readConfig(env, values);
    return 'problems' in result ? result : { ...result, operands: positionals };
  } catch (error) {
    return { problems: [flagProblem(error)] };
  }
}

function flagProblem(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const flag = /^Option '(?:-\w, )?(--[\w-]+)/.exec(message)?.[1];
  if (flag !== undefined && /argument (?:missing|is ambiguous)/.test(message)) return `${flag} takes a value`;
  // The first sentence of the message of `parseArgs`; the rest is advice on escaping.
  return message.split(/\n|\. /, 1).join('');
}

function readConfig(
  env: NodeJS.ProcessEnv,
  flags: Flags,
): { readonly config: Config; readonly flags: Flags } | { readonly problems: readonly string[] } {
  const given = new GivenSettings(env, flags);
  given.refuseUnknown();
  const tunnelDomain = given.read('tunnel-domain');
  const dataDir = resolve(given.read('data-dir'));
  const publicUrl = given.read('public-url');
  const database = given.read('database-url') ?? {
    kind: 'sqlite',
    path: join(dataDir, 'culvert.db'),
  };
  const cluster = readCluster(given, database);
  const config: Config = {
    ...readListener(given, cluster),
    publicUrl,
    tunnelDomain,
    serviceDomain: given.read('service-domain') ?? tunnelDomain,
    dataDir,
    database,
    bootstrapKey: given.read('bootstrap-key'),
    ...readTtls(given),
    nameHold: given.read('name-hold'),
    tls: readTls(given),
    acme: readAcme(given, publicUrl),
    trustedProxies: given.read('trust-proxy') ?? new BlockList(),
    trunks: given.read('trunks'),
    metrics: readMetrics(given),
    cluster,
    log: {
      format: given.read('log-format'),
      level: given.read('log-level'),
    },
    accessLog: readAccessLog(given),
    notice: given.read('notice') === 'free',
    abuseContact: given.read('abuse-contact'),
    downloadPage: given.read('download-page'),
    indexed: given.read('robots') === 'allow',
    pathForm: given.read('path-form') !== 'off',
    resolver: given.read('resolver'),
    maxConnections: given.read('max-connections'),
    address: {
      connections: given.read('address-connections'),
      requests: given.read('address-requests'),
    },
    ignored: given.readGiven('warm-sockets') === undefined ? [] : [given.nameAsGiven('warm-sockets')],
    reservedNames: new Set([
      ...(given.read('reserved-names') ?? DEFAULT_RESERVED_NAMES),
      ...ownLabels(publicUrl, tunnelDomain),
    ]),
  };
  return given.problems.length === 0 ? { config, flags } : { problems: given.problems };
}

/**
 * The relay's own address.
 *
 * @param boundPort the port that was bound, used if no address is configured
 */
export function publicUrlOf(config: Config, boundPort: number): URL {
  return config.publicUrl ?? new URL(`${schemeOf(config)}://localhost:${boundPort}`);
}

/** The scheme of the listener. */
export function schemeOf({ tls, acme }: Pick<Config, 'tls' | 'acme'>): 'http' | 'https' {
  return tls === undefined && acme === undefined ? 'http' : 'https';
}

function readTls(given: GivenSettings): TlsFiles | undefined {
  const cert = given.read('tls-cert');
  const key = given.read('tls-key');
  if (cert !== undefined && key !== undefined) {
    return {
      cert: { path: resolve(cert), setting: given.nameAsGiven('tls-cert') },
      key: { path: resolve(key), setting: given.nameAsGiven('tls-key') },
    };
  }
  if (cert !== undefined) {
    given.problems.push(`${given.nameAsGiven('tls-cert')} takes effect only with ${variableOf('tls-key')}`);
  }
  if (key !== undefined) {
    given.problems.push(`${given.nameAsGiven('tls-key')} takes effect only with ${variableOf('tls-cert')}`);
  }
  return undefined;
}

function readTtls(given: GivenSettings): { maxTtl: number; defaultTtl: number } {
  const maxTtl = given.read('max-ttl');
  // A maximum below the usual default of an hour needs no second setting.
  const defaultTtl = given.readGiven('default-ttl') ?? Math.min(SETTINGS['default-ttl'].standard, maxTtl);
  if (defaultTtl > maxTtl) {
    given.problems.push(
      `${given.nameAsGiven('default-ttl')} takes at most ${formatDuration(maxTtl)}, the maximum ttl`,
    );
  }
  return { maxTtl, defaultTtl };
}

function readAccessLog(given: GivenSettings): Config['accessLog'] {
  const place = given.read('access-log');
  if (place === 'off') return undefined;
  return place === 'stderr' ? place : { file: resolve(place) };
}

/** A host alone would be a setting without effect, so it is refused. */
function readMetrics(given: GivenSettings): MetricsAddress | undefined {
  const host = given.readGiven('metrics-host');
  const port = given.readGiven('metrics-port');
  if (port !== undefined) return { host: host ?? SETTINGS['metrics-host'].standard, port };
  if (host !== undefined) {
    given.problems.push(
      `${given.nameAsGiven('metrics-host')} takes effect only with ${variableOf('metrics-port')}`,
    );
  }
  return undefined;
}

function readCluster(given: GivenSettings, database: DatabaseAddress): ClusterSettings | undefined {
  const redisUrl = given.read('redis-url');
  const secret = given.readGiven('cluster-secret');
  const host = given.readGiven('cluster-host');
  const port = given.readGiven('cluster-port');
  if (redisUrl === undefined) {
    for (const [name, value] of [
      ['cluster-secret', secret],
      ['cluster-host', host],
      ['cluster-port', port],
    ] as const) {
      if (value !== undefined)
        given.problems.push(`${given.nameAsGiven(name)} takes effect only with ${variableOf('redis-url')}`);
    }
    return undefined;
  }
  if (database.kind !== 'postgres')
    given.problems.push(
      `${given.nameAsGiven('redis-url')} takes effect only with ${variableOf('database-url')}=postgres://…`,
    );
  if (secret === undefined) {
    given.problems.push(
      `${given.nameAsGiven('redis-url')} takes effect only with ${variableOf('cluster-secret')}`,
    );
    return undefined;
  }
  return {
    redisUrl,
    secret,
    host: host ?? SETTINGS['cluster-host'].standard,
    port: port ?? SETTINGS['cluster-port'].standard,
  };
}

/**
 * Relays that do not know of each other must not share a port: each would get only a part of the visitors and the tunnels.
 */
function readListener(
  given: GivenSettings,
  cluster: ClusterSettings | undefined,
): Pick<Config, 'host' | 'port' | 'reusePort'> {
  const host = given.read('host');
  const port = given.read('port');
  const reusePort = given.read('reuse-port');
  const name = given.nameAsGiven('reuse-port');
  if (reusePort && cluster === undefined)
    given.problems.push(`${name} takes effect only with ${variableOf('redis-url')}`);
  if (reusePort && port === 0)
    given.problems.push(`${name} takes effect only with a ${variableOf('port')} that is not 0`);
  return { host, port, reusePort };
}

/** The address of a tunnel with this name would be the relay's own host name. */
function ownLabels(publicUrl: URL | undefined, tunnelDomain: string): string[] {
  const host = publicUrl?.hostname ?? '';
  const suffix = `.${tunnelDomain}`;
  const label = host.endsWith(suffix) ? host.slice(0, -suffix.length) : '';
  return label === '' || label.includes('.') ? [] : [label];
}

/* Settings of a relay that gets its own certificates. */

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
