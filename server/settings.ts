/**
 * The settings of `culvert-relay` (docs/reference/settings.md), one row each: area, name, reader, default and meaning.
 * `--help`, the flags, the variables and the type of the configuration follow from this table.
 */
import { BlockList } from 'node:net';
import * as readers from './setting-readers.ts';

/**
 * Maximum number of concurrent visitor connections; the default of a setting. Each may cost about 170 KiB in the
 * worst case.
 * @limit operator: Visitor connections, by default | 503 `relay-busy`; `CULVERT_MAX_CONNECTIONS` changes it
 */
const CONNECTIONS_MAX = 10_000;
/**
 * Maximum number of concurrent connections from one visitor address; the default of a setting. A browser opens
 * six to a host, so about forty people can share an address.
 * @limit visitor: Simultaneous connections from one IP address | 429 `too-many`; the operator can change it
 */
const ADDRESS_CONNECTIONS_MAX = 256;
/**
 * Maximum number of trunks that a client may open per tunnel (protocol.md section 10); the default of a setting.
 */
const TRUNKS_MAX = 2;
/**
 * Maximum number of ACME orders per hour, unless the operator sets a different number.
 * @limit operator: Certificates ordered per hour, by default | later orders wait; `CULVERT_ACME_ORDERS_PER_HOUR` changes it
 */
const ORDERS_PER_HOUR = 20;

/** The headings of the help and of docs/reference/settings.md, in their order. */
const AREAS = [
  'Addresses',
  'Data and keys',
  'Certificates',
  'Tunnels',
  'Visitors',
  'Sign-in',
  'Monitoring',
  'Several relays',
] as const;

type Area = (typeof AREAS)[number];

export interface Setting<T> {
  /** the heading it appears under */
  readonly area: Area;
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
  area: Area,
  name: string,
  reader: readers.SettingReader<T>,
  fallback: string,
  meaning: string,
  standard = reader.read(fallback, name),
): Setting<T> {
  if (standard === undefined) throw new Error(`the default ${fallback} is not ${reader.takes}`);
  return { ...optional(area, name, reader, fallback, meaning), standard };
}

/** A setting that has no default, or one that depends on other settings. */
function optional<T extends {}>(
  area: Area,
  name: string,
  reader: readers.SettingReader<T>,
  fallback: string,
  meaning: string,
): Setting<T | undefined> {
  const variable = `CULVERT_${name.toUpperCase().replaceAll('-', '_')}`;
  return { area, name, variable, reader, fallback, standard: undefined, meaning };
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
  host: setting('Addresses', 'host', readers.host, '127.0.0.1', 'Address to listen on.'),
  port: setting('Addresses', 'port', readers.port, '8080', 'Port to listen on; 0 picks a free port.'),
  /** `undefined` when not given: it then holds the bound port, see `publicUrlOf` */
  publicUrl: optional(
    'Addresses',
    'public-url',
    readers.publicUrl,
    'http://localhost:<port>',
    "The relay's public address, without a path.",
  ),
  tunnelDomain: setting(
    'Addresses',
    'tunnel-domain',
    readers.domain,
    'localhost',
    "Domain for tunnels. Each tunnel's address is {slug}.<tunnel domain>.",
  ),
  serviceDomain: optional(
    'Addresses',
    'service-domain',
    readers.domain,
    'the tunnel domain',
    'Domain for accounts with a subdomain. Their tunnels are also available at {slug}.{account}.<service domain>.',
  ),
  dataDir: setting(
    'Data and keys',
    'data-dir',
    readers.path,
    './.culvert',
    'Folder for the database and other files.',
  ),
  database: optional(
    'Data and keys',
    'database-url',
    readers.databaseUrl,
    'sqlite:<data dir>/culvert.db',
    'Database: sqlite:FILE or postgres://USER:PASSWORD@HOST/NAME.',
  ),
  bootstrapKey: optional(
    'Data and keys',
    'bootstrap-key',
    readers.apiKey,
    'created at the first start',
    'API key for the "default" account, which the relay creates when it starts.',
  ),
  /** `undefined` to serve without TLS, or with certificates of an authority */
  tls: together(['cert', 'key'], {
    cert: optional(
      'Certificates',
      'tls-cert',
      readers.file,
      'none',
      'Certificate file (PEM) for serving TLS. The relay reloads it when it changes.',
    ),
    key: optional(
      'Certificates',
      'tls-key',
      readers.file,
      'none',
      'Private key file (PEM) for the certificate.',
    ),
  }),
  http2: setting(
    'Certificates',
    'http2',
    readers.onOff,
    'on',
    'Whether visitors can use HTTP/2 when the relay serves TLS: on or off.',
  ),
  /** `undefined` where certificates, if there are any, come from elsewhere */
  acme: together(['email'], {
    email: optional(
      'Certificates',
      'acme-email',
      readers.mail,
      'none',
      "Your email address for the certificate authority. Setting it turns on automatic certificates and means that you accept the certificate authority's terms.",
    ),
    directory: setting(
      'Certificates',
      'acme-directory',
      readers.directory,
      'https://acme-v02.api.letsencrypt.org/directory',
      "URL of the certificate authority's ACME directory.",
    ),
    ca: optional(
      'Certificates',
      'acme-ca',
      readers.file,
      'none',
      'CA certificate file (PEM) used to verify the ACME server.',
    ),
    ordersPerHour: setting(
      'Certificates',
      'acme-orders-per-hour',
      readers.ordersPerHour,
      String(ORDERS_PER_HOUR),
      'Maximum number of certificates ordered per hour.',
    ),
    httpPort: setting(
      'Certificates',
      'http-port',
      readers.port,
      '80',
      'Port for plain HTTP when certificates are automatic. It serves certificate challenges and redirects to HTTPS. 0 picks a free port.',
    ),
    dnsPort: optional(
      'Certificates',
      'dns-port',
      readers.port,
      'none',
      'Port for DNS (UDP and TCP). If _acme-challenge.<tunnel domain> is delegated to the relay, all tunnels share one wildcard certificate.',
    ),
  }),
  /** seconds */
  maxTtl: setting('Tunnels', 'max-ttl', readers.ttl, '168h', 'Maximum time to live for a tunnel.'),
  /** seconds */
  nameHold: setting(
    'Tunnels',
    'name-hold',
    readers.nameHold,
    '24h',
    "How long a tunnel's name stays reserved for its account after the tunnel has ended. With 0s, it is released immediately.",
  ),
  /** seconds */
  defaultTtl: setting(
    'Tunnels',
    'default-ttl',
    readers.ttl,
    '1h',
    'Default time to live for a tunnel if its client does not request one.',
  ),
  trustedProxies: setting(
    'Visitors',
    'trust-proxy',
    readers.networks,
    'none',
    'Addresses and networks of proxies in front of the relay. Their forwarded headers are trusted.',
    new BlockList(),
  ),
  proxyProtocol: setting(
    'Visitors',
    'proxy-protocol',
    readers.onOff,
    'off',
    'Whether connections from trusted proxies begin with a PROXY protocol header (version 1 or 2), as TCP load balancers send it: on or off.',
  ),
  trunks: setting(
    'Tunnels',
    'trunks',
    readers.trunks,
    String(TRUNKS_MAX),
    'Maximum number of trunks per tunnel. A trunk is a client connection that several visitors share. 0 turns trunks off.',
  ),
  /** `undefined`: no TCP tunnels */
  tcpPorts: optional(
    'Tunnels',
    'tcp-ports',
    readers.portRange,
    'none: no TCP tunnels',
    'Ports for TCP tunnels, as FIRST-LAST. Each tunnel gets one of them. Open them in the firewall.',
  ),
  metrics: together(['port'], {
    port: optional(
      'Monitoring',
      'metrics-port',
      readers.port,
      'none',
      'Port of the separate listener for /metrics; 0 picks a free port. If this is not set, metrics are not served.',
    ),
    host: setting(
      'Monitoring',
      'metrics-host',
      readers.host,
      '127.0.0.1',
      'Address that the metrics listener binds to.',
    ),
  }),
  log: {
    /** depends on whether stderr is a terminal unless it is given */
    format: optional(
      'Monitoring',
      'log-format',
      readers.logFormat,
      'pretty in a terminal, otherwise json',
      'Format of the log on stderr: pretty or json.',
    ),
    level: setting(
      'Monitoring',
      'log-level',
      readers.logLevel,
      'info',
      'Minimum level of events to log: debug, info, warn or error.',
    ),
  },
  accessLog: setting(
    'Monitoring',
    'access-log',
    readers.accessLog,
    'off',
    'Where to write an access log, with one line of JSON per request: off, stderr or a file path.',
  ),
  maxConnections: setting(
    'Visitors',
    'max-connections',
    readers.connections,
    String(CONNECTIONS_MAX),
    'Maximum number of simultaneous visitor connections.',
  ),
  address: {
    connections: setting(
      'Visitors',
      'address-connections',
      readers.addressConnections,
      String(ADDRESS_CONNECTIONS_MAX),
      'Maximum number of simultaneous connections from one visitor address; 0 means no limit.',
    ),
    requests: setting(
      'Visitors',
      'address-requests',
      readers.addressRequests,
      '0',
      'Maximum number of requests per second from one visitor address, with bursts of up to ten times as many; 0 means no limit.',
    ),
  },
  notice: setting(
    'Visitors',
    'notice',
    readers.notice,
    'off',
    'Whether browsers show a warning page before the first visit to a tunnel on the free plan: free or off.',
  ),
  /** the address of a link */
  abuseContact: optional(
    'Visitors',
    'abuse-contact',
    readers.contact,
    'none',
    "Email address or web page for abuse reports, shown on the relay's pages.",
  ),
  downloadPage: optional(
    'Visitors',
    'download-page',
    readers.webPage,
    'none',
    'Web page where invited people can download Culvert.',
  ),
  downloads: optional(
    'Visitors',
    'downloads',
    readers.downloads,
    'the folder downloads beside the program',
    'Folder with the programs that people can install from this relay: its page /install, and the pages of invitations, show how. Or off.',
  ),
  /** where visitors of tunnels can sign in; `undefined` if nowhere */
  oidc: together(['issuer', 'clientId'], {
    issuer: optional(
      'Sign-in',
      'oidc-issuer',
      readers.issuer,
      'none',
      'Address of your identity provider (OpenID Connect), exactly as it names itself. Owners of tunnels can then admit people who sign in there.',
    ),
    clientId: optional(
      'Sign-in',
      'oidc-client-id',
      readers.clientText,
      'none',
      'Client ID of the relay at the identity provider. Register <public URL>/auth/callback there as the redirect URI.',
    ),
    clientSecret: optional(
      'Sign-in',
      'oidc-client-secret',
      readers.clientText,
      'none: a public client',
      'Client secret of the relay at the identity provider.',
    ),
    clientSecretFile: optional(
      'Sign-in',
      'oidc-client-secret-file',
      readers.file,
      'none',
      'File that contains the client secret, instead of the secret itself.',
    ),
    name: optional(
      'Sign-in',
      'oidc-name',
      readers.providerName,
      "the issuer's host",
      'Name of the identity provider on the button "Sign in with …".',
    ),
    scopes: setting(
      'Sign-in',
      'oidc-scopes',
      readers.scopes,
      'openid email profile',
      'What the relay asks the identity provider for. Some providers need the scope groups to name the groups of a person.',
    ),
    groupsClaim: setting(
      'Sign-in',
      'oidc-groups-claim',
      readers.claim,
      'groups',
      "Claim of the ID token that lists the person's groups.",
    ),
    accounts: optional(
      'Sign-in',
      'oidc-accounts',
      readers.accountRules,
      'none',
      'Who gets an API key by signing in with culvert login, and of which account. The first rule that fits decides.',
    ),
    /** seconds */
    ttl: setting(
      'Sign-in',
      'sign-in-ttl',
      readers.signInTtl,
      '12h',
      'How long a person has access to a tunnel after signing in.',
    ),
  }),
  /** whether search engines may show tunnels */
  indexed: setting(
    'Visitors',
    'robots',
    readers.robots,
    'noindex',
    'Whether search engines may index tunnels. With noindex, responses have an X-Robots-Tag header that forbids it; with allow, they do not.',
  ),
  pathForm: setting(
    'Addresses',
    'path-form',
    readers.onOff,
    'on',
    'Whether tunnels are also available at <public URL>/t/{slug}, where browsers treat all tunnels as a single origin: on or off.',
  ),
  resolver: optional(
    'Addresses',
    'resolver',
    readers.resolver,
    "the system's",
    "DNS server that the relay uses to check users' domains, as ADDRESS:PORT.",
  ),
  /** the other relays, if several form a cluster */
  cluster: together(['redisUrl', 'secret'], {
    redisUrl: optional(
      'Several relays',
      'redis-url',
      readers.redisUrl,
      'none',
      'Redis address (redis:// or rediss://). Relays that share a PostgreSQL database and a Redis server work as one cluster.',
    ),
    secret: optional(
      'Several relays',
      'cluster-secret',
      readers.clusterSecret,
      'none',
      'Secret of at least 32 characters that all relays in the cluster share.',
    ),
    host: setting(
      'Several relays',
      'cluster-host',
      readers.clusterHost,
      '127.0.0.1',
      'Address that other relays use to reach this one over a private network.',
    ),
    port: setting(
      'Several relays',
      'cluster-port',
      readers.port,
      '0',
      'Port on which other relays in the cluster connect to this one; 0 picks a free port.',
    ),
  }),
  workers: setting(
    'Several relays',
    'workers',
    readers.workers,
    '1',
    'Number of processes that serve visitors and clients, or auto for one per CPU core. On Windows and macOS, a relay has one process.',
  ),
  reusePort: setting(
    'Several relays',
    'reuse-port',
    readers.truth,
    'false',
    'Whether several relays in a cluster can listen on the same port on this machine.',
  ),
  reservedNames: setting(
    'Tunnels',
    'reserved-names',
    readers.names,
    'www, api, admin, …',
    'Names that tunnels and accounts cannot use.',
    new Set(DEFAULT_RESERVED_NAMES),
  ),
};

export const ALL_SETTINGS: readonly Setting<unknown>[] = rowsOf(SETTINGS);

/** Headings, and the settings that `--help` lists under each of them. */
export const SETTINGS_BY_AREA = AREAS.map(
  (area) => [area, ALL_SETTINGS.filter((row) => row.area === area)] as const,
);

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
