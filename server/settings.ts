/**
 * The settings of `culvert-relay` (README.md), one row each: name, reader, default and meaning. `--help`, the flags,
 * the variables and the type of the configuration follow from this table.
 */
import { BlockList } from 'node:net';
import { ADDRESS_CONNECTIONS_MAX, CONNECTIONS_MAX, ORDERS_PER_HOUR, TRUNKS_MAX } from './limits.ts';
import * as readers from './setting-readers.ts';

export interface Setting<T> {
  /** the flag without its dashes */
  readonly name: string;
  /** the environment variable */
  readonly variable: string;
  readonly reader: readers.SettingReader<NonNullable<T>>;
  /** the default, as people read it */
  readonly fallback: string;
  /** the same as a value; `undefined` if it has none, or depends on other settings */
  readonly standard: T;
  readonly meaning: string;
}

/** Settings that take effect only together: without those that it `needs` the group is `undefined`. */
export interface Group<R extends Rows, N extends keyof R> {
  /** the setting that turns it on first, then others that must be given with it */
  readonly needs: readonly N[];
  readonly rows: R;
}

export type Rows = Readonly<Record<string, Setting<unknown>>>;

export interface Table {
  readonly [name: string]: Setting<unknown> | Group<Rows, string> | Rows;
}

/** What a table of settings is read to. */
export type ConfigOf<R> = { readonly [N in keyof R]: ValueOf<R[N]> };

type ValueOf<R> =
  R extends Setting<infer T>
    ? T
    : R extends Group<infer G, infer N>
      ? { readonly [K in keyof G]: K extends N ? NonNullable<ValueOf<G[K]>> : ValueOf<G[K]> } | undefined
      : ConfigOf<R>;

/** A setting with a default; `standard` is for a default that is not a text the setting itself accepts. */
function setting<T extends {}>(
  name: string,
  reader: readers.SettingReader<T>,
  fallback: string,
  meaning: string,
  standard = reader.read(fallback, name),
): Setting<T> {
  if (standard === undefined) throw new Error(`the default ${fallback} is not ${reader.takes}`);
  return { ...optional(name, reader, fallback, meaning), standard };
}

/** A setting that has no default, or one that depends on other settings. */
function optional<T extends {}>(
  name: string,
  reader: readers.SettingReader<T>,
  fallback: string,
  meaning: string,
): Setting<T | undefined> {
  const variable = `CULVERT_${name.toUpperCase().replaceAll('-', '_')}`;
  return { name, variable, reader, fallback, standard: undefined, meaning };
}

function together<const R extends Rows, N extends keyof R>(needs: readonly N[], rows: R): Group<R, N> {
  return { needs, rows };
}

/** Visitors, or mail and proxy discovery, would take a tunnel with one of these names for a service of the operator. */
const DEFAULT_RESERVED_NAMES: readonly string[] = [
  'www api admin app account accounts auth login sso dashboard console status help support docs blog about billing',
  'security abuse legal static assets cdn ws relay tunnel culvert internal metrics localhost mail smtp imap pop pop3',
  'mx ns ns1 ns2 dns ftp vpn webmaster hostmaster postmaster root autoconfig autodiscover wpad isatap',
].flatMap((line) => line.split(' '));

export const SETTINGS = {
  host: setting('host', readers.host, '127.0.0.1', 'address to listen on'),
  port: setting('port', readers.port, '8080', 'port to listen on; 0 picks a free one'),
  /** `undefined` when not given: it then holds the bound port, see `publicUrlOf` */
  publicUrl: optional('public-url', readers.publicUrl, 'http://localhost:<port>', "the relay's own address"),
  tunnelDomain: setting('tunnel-domain', readers.domain, 'localhost', 'tunnels are {slug}.<tunnel domain>'),
  serviceDomain: optional(
    'service-domain',
    readers.domain,
    'the tunnel domain',
    'account addresses are {slug}.{account}.<service domain>',
  ),
  dataDir: setting('data-dir', readers.path, './.culvert', 'where the database is kept'),
  database: optional(
    'database-url',
    readers.databaseUrl,
    'sqlite:<data dir>/culvert.db',
    'the database, or postgres://USER:PASSWORD@HOST/NAME',
  ),
  bootstrapKey: optional(
    'bootstrap-key',
    readers.apiKey,
    'made at the first start',
    'an API key to create at start, for the account "default"',
  ),
  /** `undefined` to serve without TLS, or with certificates of an authority */
  tls: together(['cert', 'key'], {
    cert: optional(
      'tls-cert',
      readers.file,
      'none',
      'certificate file (PEM): serve TLS; read again when it changes',
    ),
    key: optional('tls-key', readers.file, 'none', 'key file (PEM) of the certificate'),
  }),
  /** `undefined` where certificates, if there are any, come from elsewhere */
  acme: together(['email'], {
    email: optional(
      'acme-email',
      readers.mail,
      'none',
      'mail address: get certificates from an authority, whose terms you so agree to, and serve TLS with them',
    ),
    directory: setting(
      'acme-directory',
      readers.directory,
      'https://acme-v02.api.letsencrypt.org/directory',
      'the authority, an ACME directory',
    ),
    ca: optional(
      'acme-ca',
      readers.file,
      'none',
      'certificate file (PEM) with which the authority itself is checked',
    ),
    ordersPerHour: setting(
      'acme-orders-per-hour',
      readers.ordersPerHour,
      String(ORDERS_PER_HOUR),
      'certificates ordered in an hour, at most',
    ),
    httpPort: setting(
      'http-port',
      readers.port,
      '80',
      'port for plain HTTP, with certificates: proofs for the authority, and redirects to https; 0 picks a free one',
    ),
    dnsPort: optional(
      'dns-port',
      readers.port,
      'none',
      'port for DNS, UDP and TCP, where _acme-challenge.<tunnel domain> is delegated to the relay: one certificate for all tunnels',
    ),
  }),
  /** seconds */
  maxTtl: setting('max-ttl', readers.ttl, '168h', 'the longest life of a tunnel'),
  /** seconds */
  nameHold: setting(
    'name-hold',
    readers.nameHold,
    '0s',
    'how long the name of an ended tunnel stays with its account',
  ),
  /** seconds */
  defaultTtl: setting('default-ttl', readers.ttl, '1h', 'the life of a tunnel that asks for none'),
  trustedProxies: setting(
    'trust-proxy',
    readers.networks,
    'none',
    'addresses and networks whose forwarded headers are believed',
    new BlockList(),
  ),
  /** settings that are given and no longer have an effect, as the operator wrote them */
  ignored: setting(
    'warm-sockets',
    readers.ignored,
    'none',
    'ignored; accepted until 1.0, because earlier versions had it',
    [],
  ),
  trunks: setting(
    'trunks',
    readers.trunks,
    String(TRUNKS_MAX),
    'connections of a client that the visitors of a tunnel share; 0 for none',
  ),
  metrics: together(['port'], {
    port: optional(
      'metrics-port',
      readers.port,
      'none',
      'port of /metrics, on a listener of its own; 0 picks a free one, without it there is none',
    ),
    host: setting('metrics-host', readers.host, '127.0.0.1', 'address of that listener'),
  }),
  log: {
    /** depends on whether stderr is a terminal unless it is given */
    format: optional(
      'log-format',
      readers.logFormat,
      'pretty on a terminal, else json',
      'how the log is written to stderr',
    ),
    level: setting(
      'log-level',
      readers.logLevel,
      'info',
      'debug, info, warn or error: the lowest level that is logged',
    ),
  },
  accessLog: setting(
    'access-log',
    readers.accessLog,
    'off',
    'stderr or the path of a file: a line of JSON for each request',
  ),
  maxConnections: setting(
    'max-connections',
    readers.connections,
    String(CONNECTIONS_MAX),
    "visitors' connections at a time",
  ),
  address: {
    connections: setting(
      'address-connections',
      readers.addressConnections,
      String(ADDRESS_CONNECTIONS_MAX),
      'connections of one address at a time; 0 for no limit',
    ),
    requests: setting(
      'address-requests',
      readers.addressRequests,
      '0',
      'requests of one address per second, with bursts of ten times as many; 0 for no limit',
    ),
  },
  notice: setting(
    'notice',
    readers.notice,
    'off',
    'free: people see a warning page before they first visit a tunnel on the plan free',
  ),
  /** the address of a link */
  abuseContact: optional(
    'abuse-contact',
    readers.contact,
    'none',
    'mail address or web page for complaints about tunnels, shown on the pages of the relay',
  ),
  downloadPage: optional(
    'download-page',
    readers.webPage,
    'none',
    'web page from which people get Culvert, linked by invitations',
  ),
  /** whether search engines may show tunnels */
  indexed: setting(
    'robots',
    readers.robots,
    'noindex',
    'noindex keeps tunnels out of search engines (X-Robots-Tag); allow does not',
  ),
  pathForm: setting(
    'path-form',
    readers.onOff,
    'on',
    'on, or off: whether tunnels are also at <public URL>/t/{slug}, where they share an origin in browsers',
  ),
  resolver: optional(
    'resolver',
    readers.resolver,
    "the system's",
    'DNS server that is asked about domains, as ADDRESS:PORT',
  ),
  /** the other relays, if several serve as one */
  cluster: together(['redisUrl', 'secret'], {
    redisUrl: optional(
      'redis-url',
      readers.redisUrl,
      'none',
      'redis://… or rediss://…: relays on one PostgreSQL database and this Redis serve as one',
    ),
    secret: optional(
      'cluster-secret',
      readers.clusterSecret,
      'none',
      'a secret of 32 characters or more that all relays have, and nobody else',
    ),
    host: setting(
      'cluster-host',
      readers.clusterHost,
      '127.0.0.1',
      'address on which other relays reach this one, in a private network',
    ),
    port: setting('cluster-port', readers.port, '0', 'port for other relays; 0 picks a free one'),
  }),
  reusePort: setting(
    'reuse-port',
    readers.truth,
    'false',
    'true: several relays of a cluster listen on the same port of this machine',
  ),
  reservedNames: setting(
    'reserved-names',
    readers.names,
    'www, api, admin, …',
    'names that no tunnel and no account can have',
    new Set(DEFAULT_RESERVED_NAMES),
  ),
};

/** Every setting, in the order of `--help`. */
export const ALL_SETTINGS: readonly Setting<unknown>[] = rowsOf(SETTINGS);

export function isSetting(entry: Table[string]): entry is Setting<unknown> {
  return 'reader' in entry;
}

export function isGroup(entry: Table[string]): entry is Group<Rows, string> {
  return 'needs' in entry;
}

function rowsOf(table: Table): Setting<unknown>[] {
  return Object.values(table).flatMap((entry) =>
    isSetting(entry) ? entry : rowsOf(isGroup(entry) ? entry.rows : entry),
  );
}
