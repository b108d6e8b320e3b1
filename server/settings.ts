/**
 * The settings of `culvert-relay` (docs/reference/settings.md), one row each: name, reader, default and meaning. `--help`, the flags,
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
  host: setting('host', readers.host, '127.0.0.1', 'Address to listen on.'),
  port: setting('port', readers.port, '8080', 'Port to listen on; 0 picks a free port.'),
  /** `undefined` when not given: it then holds the bound port, see `publicUrlOf` */
  publicUrl: optional(
    'public-url',
    readers.publicUrl,
    'http://localhost:<port>',
    "The relay's public address, without a path.",
  ),
  tunnelDomain: setting(
    'tunnel-domain',
    readers.domain,
    'localhost',
    "Domain for tunnels. Each tunnel's address is {slug}.<tunnel domain>.",
  ),
  serviceDomain: optional(
    'service-domain',
    readers.domain,
    'the tunnel domain',
    'Domain for accounts with a subdomain. Their tunnels are also available at {slug}.{account}.<service domain>.',
  ),
  dataDir: setting('data-dir', readers.path, './.culvert', 'Folder for the database and other files.'),
  database: optional(
    'database-url',
    readers.databaseUrl,
    'sqlite:<data dir>/culvert.db',
    'Database: sqlite:FILE or postgres://USER:PASSWORD@HOST/NAME.',
  ),
  bootstrapKey: optional(
    'bootstrap-key',
    readers.apiKey,
    'created at the first start',
    'API key for the "default" account, which the relay creates when it starts.',
  ),
  /** `undefined` to serve without TLS, or with certificates of an authority */
  tls: together(['cert', 'key'], {
    cert: optional(
      'tls-cert',
      readers.file,
      'none',
      'Certificate file (PEM) for serving TLS. The relay reloads it when it changes.',
    ),
    key: optional('tls-key', readers.file, 'none', 'Private key file (PEM) for the certificate.'),
  }),
  http2: setting(
    'http2',
    readers.onOff,
    'on',
    'Whether visitors can use HTTP/2 when the relay serves TLS: on or off.',
  ),
  /** `undefined` where certificates, if there are any, come from elsewhere */
  acme: together(['email'], {
    email: optional(
      'acme-email',
      readers.mail,
      'none',
      "Your email address for the certificate authority. Setting it turns on automatic certificates and means that you accept the certificate authority's terms.",
    ),
    directory: setting(
      'acme-directory',
      readers.directory,
      'https://acme-v02.api.letsencrypt.org/directory',
      "URL of the certificate authority's ACME directory.",
    ),
    ca: optional(
      'acme-ca',
      readers.file,
      'none',
      'CA certificate file (PEM) used to verify the ACME server.',
    ),
    ordersPerHour: setting(
      'acme-orders-per-hour',
      readers.ordersPerHour,
      String(ORDERS_PER_HOUR),
      'Maximum number of certificates ordered per hour.',
    ),
    httpPort: setting(
      'http-port',
      readers.port,
      '80',
      'Port for plain HTTP when certificates are automatic. It serves certificate challenges and redirects to HTTPS. 0 picks a free port.',
    ),
    dnsPort: optional(
      'dns-port',
      readers.port,
      'none',
      'Port for DNS (UDP and TCP). If _acme-challenge.<tunnel domain> is delegated to the relay, all tunnels share one wildcard certificate.',
    ),
  }),
  /** seconds */
  maxTtl: setting('max-ttl', readers.ttl, '168h', 'Maximum time to live for a tunnel.'),
  /** seconds */
  nameHold: setting(
    'name-hold',
    readers.nameHold,
    '0s',
    "How long a tunnel's name stays reserved for its account after the tunnel has ended.",
  ),
  /** seconds */
  defaultTtl: setting(
    'default-ttl',
    readers.ttl,
    '1h',
    'Default time to live for a tunnel if its client does not request one.',
  ),
  trustedProxies: setting(
    'trust-proxy',
    readers.networks,
    'none',
    'Addresses and networks of proxies in front of the relay. Their forwarded headers are trusted.',
    new BlockList(),
  ),
  proxyProtocol: setting(
    'proxy-protocol',
    readers.onOff,
    'off',
    'Whether connections from trusted proxies begin with a PROXY protocol header (version 1 or 2), as TCP load balancers send it: on or off.',
  ),
  /** settings that are given and no longer have an effect, as the operator wrote them */
  ignored: setting(
    'warm-sockets',
    readers.ignored,
    'none',
    'This setting has no effect. It will still be accepted until version 1.0, because earlier versions had it.',
    [],
  ),
  trunks: setting(
    'trunks',
    readers.trunks,
    String(TRUNKS_MAX),
    'Maximum number of trunks per tunnel. A trunk is a client connection that several visitors share. 0 turns trunks off.',
  ),
  metrics: together(['port'], {
    port: optional(
      'metrics-port',
      readers.port,
      'none',
      'Port of the separate listener for /metrics; 0 picks a free port. If this is not set, metrics are not served.',
    ),
    host: setting('metrics-host', readers.host, '127.0.0.1', 'Address that the metrics listener binds to.'),
  }),
  log: {
    /** depends on whether stderr is a terminal unless it is given */
    format: optional(
      'log-format',
      readers.logFormat,
      'pretty in a terminal, otherwise json',
      'Format of the log on stderr: pretty or json.',
    ),
    level: setting(
      'log-level',
      readers.logLevel,
      'info',
      'Minimum level of events to log: debug, info, warn or error.',
    ),
  },
  accessLog: setting(
    'access-log',
    readers.accessLog,
    'off',
    'Where to write an access log, with one line of JSON per request: off, stderr or a file path.',
  ),
  maxConnections: setting(
    'max-connections',
    readers.connections,
    String(CONNECTIONS_MAX),
    'Maximum number of simultaneous visitor connections.',
  ),
  address: {
    connections: setting(
      'address-connections',
      readers.addressConnections,
      String(ADDRESS_CONNECTIONS_MAX),
      'Maximum number of simultaneous connections from one visitor address; 0 means no limit.',
    ),
    requests: setting(
      'address-requests',
      readers.addressRequests,
      '0',
      'Maximum number of requests per second from one visitor address, with bursts of up to ten times as many; 0 means no limit.',
    ),
  },
  notice: setting(
    'notice',
    readers.notice,
    'off',
    'Whether browsers show a warning page before the first visit to a tunnel on the free plan: free or off.',
  ),
  /** the address of a link */
  abuseContact: optional(
    'abuse-contact',
    readers.contact,
    'none',
    "Email address or web page for abuse reports, shown on the relay's pages.",
  ),
  downloadPage: optional(
    'download-page',
    readers.webPage,
    'none',
    'Web page where invited people can download Culvert.',
  ),
  /** whether search engines may show tunnels */
  indexed: setting(
    'robots',
    readers.robots,
    'noindex',
    'Whether search engines may index tunnels. With noindex, responses have an X-Robots-Tag header that forbids it; with allow, they do not.',
  ),
  pathForm: setting(
    'path-form',
    readers.onOff,
    'on',
    'Whether tunnels are also available at <public URL>/t/{slug}, where browsers treat all tunnels as a single origin: on or off.',
  ),
  resolver: optional(
    'resolver',
    readers.resolver,
    "the system's",
    "DNS server that the relay uses to check users' domains, as ADDRESS:PORT.",
  ),
  /** the other relays, if several form a cluster */
  cluster: together(['redisUrl', 'secret'], {
    redisUrl: optional(
      'redis-url',
      readers.redisUrl,
      'none',
      'Redis address (redis:// or rediss://). Relays that share a PostgreSQL database and a Redis server work as one cluster.',
    ),
    secret: optional(
      'cluster-secret',
      readers.clusterSecret,
      'none',
      'Secret of at least 32 characters that all relays in the cluster share.',
    ),
    host: setting(
      'cluster-host',
      readers.clusterHost,
      '127.0.0.1',
      'Address that other relays use to reach this one over a private network.',
    ),
    port: setting(
      'cluster-port',
      readers.port,
      '0',
      'Port on which other relays in the cluster connect to this one; 0 picks a free port.',
    ),
  }),
  reusePort: setting(
    'reuse-port',
    readers.truth,
    'false',
    'Whether several relays in a cluster can listen on the same port on this machine.',
  ),
  reservedNames: setting(
    'reserved-names',
    readers.names,
    'www, api, admin, …',
    'Names that tunnels and accounts cannot use.',
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

/** The settings by the headings of the help and of docs/reference/settings.md; a test checks that none is missing. */
export const SETTING_GROUPS: Readonly<Record<string, readonly string[]>> = {
  Addresses: ['host', 'port', 'public-url', 'tunnel-domain', 'service-domain', 'path-form', 'resolver'],
  'Data and keys': ['data-dir', 'database-url', 'bootstrap-key'],
  Certificates: [
    'acme-email',
    'acme-directory',
    'acme-ca',
    'acme-orders-per-hour',
    'http-port',
    'dns-port',
    'tls-cert',
    'tls-key',
    'http2',
  ],
  Tunnels: ['default-ttl', 'max-ttl', 'name-hold', 'reserved-names', 'trunks'],
  Visitors: [
    'trust-proxy',
    'proxy-protocol',
    'max-connections',
    'address-connections',
    'address-requests',
    'notice',
    'robots',
    'abuse-contact',
    'download-page',
  ],
  Monitoring: ['log-format', 'log-level', 'access-log', 'metrics-port', 'metrics-host'],
  'Several relays': ['redis-url', 'cluster-secret', 'cluster-host', 'cluster-port', 'reuse-port'],
  Obsolete: ['warm-sockets'],
};
