/** The settings of `culvert-relay` (README.md): what each takes, its default and what it means, as `--help` shows them. */
import { nearest } from '../shared/nearest.ts';
import { CLIENT_VARIABLES } from '../shared/version.ts';
import { ADDRESS_CONNECTIONS_MAX, CONNECTIONS_MAX, ORDERS_PER_HOUR, TRUNKS_MAX } from './limits.ts';
import * as readers from './setting-readers.ts';
import type { SettingReader } from './setting-readers.ts';

export interface Setting<T> {
  readonly reader: readers.SettingReader<NonNullable<T>>;
  /** the default, as people read it */
  readonly fallback: string;
  /** the same as a value; `undefined` if it has none, or depends on other things */
  readonly standard: T;
  readonly meaning: string;
}

/** A setting whose default is a text that it takes itself. */
function setting<T extends {}>(
  reader: readers.SettingReader<T>,
  fallback: string,
  meaning: string,
): Setting<T> {
  const standard = reader.read(fallback);
  if (standard === undefined) throw new Error(`the default ${fallback} is not ${reader.takes}`);
  return { reader, fallback, standard, meaning };
}

/** A setting that has no default, or one that depends on other things. */
function optional<T extends {}>(
  reader: readers.SettingReader<T>,
  fallback: string,
  meaning: string,
): Setting<T | undefined> {
  return { reader, fallback, standard: undefined, meaning };
}

/** By the flag without its dashes; the variable is the same in capitals after `CULVERT_`. */
export const SETTINGS = {
  host: setting(readers.host, '127.0.0.1', 'address to listen on'),
  port: setting(readers.port, '8080', 'port to listen on; 0 picks a free one'),
  'public-url': optional(readers.publicUrl, 'http://localhost:<port>', "the relay's own address"),
  'tunnel-domain': setting(readers.domain, 'localhost', 'tunnels are {slug}.<tunnel domain>'),
  'service-domain': optional(
    readers.domain,
    'the tunnel domain',
    'account addresses are {slug}.{account}.<service domain>',
  ),
  'data-dir': setting(readers.text, './.culvert', 'where the database is kept'),
  'database-url': optional(
    readers.databaseUrl,
    'sqlite:<data dir>/culvert.db',
    'the database, or postgres://USER:PASSWORD@HOST/NAME',
  ),
  'bootstrap-key': optional(
    readers.apiKey,
    'made at the first start',
    'an API key to create at start, for the account "default"',
  ),
  'tls-cert': optional(readers.text, 'none', 'certificate file (PEM): serve TLS; read again when it changes'),
  'tls-key': optional(readers.text, 'none', 'key file (PEM) of the certificate'),
  'acme-email': optional(
    readers.mail,
    'none',
    'mail address: get certificates from an authority, whose terms you so agree to, and serve TLS with them',
  ),
  'acme-directory': setting(
    readers.directory,
    'https://acme-v02.api.letsencrypt.org/directory',
    'the authority, an ACME directory',
  ),
  'acme-ca': optional(
    readers.text,
    'none',
    'certificate file (PEM) with which the authority itself is checked',
  ),
  'acme-orders-per-hour': setting(
    readers.ordersPerHour,
    String(ORDERS_PER_HOUR),
    'certificates ordered in an hour, at most',
  ),
  'http-port': setting(
    readers.port,
    '80',
    'port for plain HTTP, with certificates: proofs for the authority, and redirects to https; 0 picks a free one',
  ),
  'dns-port': optional(
    readers.port,
    'none',
    'port for DNS, UDP and TCP, where _acme-challenge.<tunnel domain> is delegated to the relay: one certificate for all tunnels',
  ),
  'max-ttl': setting(readers.ttl, '168h', 'the longest life of a tunnel'),
  'name-hold': setting(readers.nameHold, '0s', 'how long the name of an ended tunnel stays with its account'),
  'default-ttl': setting(readers.ttl, '1h', 'the life of a tunnel that asks for none'),
  'trust-proxy': optional(
    readers.networks,
    'none',
    'addresses and networks whose forwarded headers are believed',
  ),
  'warm-sockets': optional(
    readers.text,
    'none',
    'ignored; accepted until 1.0, because earlier versions had it',
  ),
  trunks: setting(
    readers.trunks,
    String(TRUNKS_MAX),
    'connections of a client that the visitors of a tunnel share; 0 for none',
  ),
  'metrics-port': optional(
    readers.port,
    'none',
    'port of /metrics, on a listener of its own; 0 picks a free one, without it there is none',
  ),
  'metrics-host': setting(readers.host, '127.0.0.1', 'address of that listener'),
  'log-format': optional(
    readers.logFormat,
    'pretty on a terminal, else json',
    'how the log is written to stderr',
  ),
  'log-level': setting(
    readers.logLevel,
    'info',
    'debug, info, warn or error: the lowest level that is logged',
  ),
  'access-log': setting(
    readers.accessLog,
    'off',
    'stderr or the path of a file: a line of JSON for each request',
  ),
  'max-connections': setting(readers.connections, String(CONNECTIONS_MAX), "visitors' connections at a time"),
  'address-connections': setting(
    readers.addressConnections,
    String(ADDRESS_CONNECTIONS_MAX),
    'connections of one address at a time; 0 for no limit',
  ),
  'address-requests': setting(
    readers.addressRequests,
    '0',
    'requests of one address per second, with bursts of ten times as many; 0 for no limit',
  ),
  notice: setting(
    readers.notice,
    'off',
    'free: people see a warning page before they first visit a tunnel on the plan free',
  ),
  'abuse-contact': optional(
    readers.contact,
    'none',
    'mail address or web page for complaints about tunnels, shown on the pages of the relay',
  ),
  'download-page': optional(
    readers.webPage,
    'none',
    'web page from which people get Culvert, linked by invitations',
  ),
  robots: setting(
    readers.robots,
    'noindex',
    'noindex keeps tunnels out of search engines (X-Robots-Tag); allow does not',
  ),
  'path-form': setting(
    readers.onOff,
    'on',
    'on, or off: whether tunnels are also at <public URL>/t/{slug}, where they share an origin in browsers',
  ),
  resolver: optional(
    readers.resolver,
    "the system's",
    'DNS server that is asked about domains, as ADDRESS:PORT',
  ),
  'redis-url': optional(
    readers.redisUrl,
    'none',
    'redis://… or rediss://…: relays on one PostgreSQL database and this Redis serve as one',
  ),
  'cluster-secret': optional(
    readers.clusterSecret,
    'none',
    'a secret of 32 characters or more that all relays have, and nobody else',
  ),
  'cluster-host': setting(
    readers.clusterHost,
    '127.0.0.1',
    'address on which other relays reach this one, in a private network',
  ),
  'cluster-port': setting(readers.port, '0', 'port for other relays; 0 picks a free one'),
  'reuse-port': setting(
    readers.truth,
    'false',
    'true: several relays of a cluster listen on the same port of this machine',
  ),
  'reserved-names': optional(
    readers.names,
    'www, api, admin, …',
    'names that no tunnel and no account can have',
  ),
} satisfies Readonly<Record<string, Setting<unknown>>>;

export type SettingName = keyof typeof SETTINGS;

/** The value of a setting that is not given. */
export type Standard<N extends SettingName> = (typeof SETTINGS)[N]['standard'];

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/**
 * Names no tunnel gets unless the operator says otherwise: visitors, or mail and proxy discovery, take them for the
 * operator's.
 */
export const DEFAULT_RESERVED_NAMES: readonly string[] = [
  'www api admin app account accounts auth login sso dashboard console status help support docs blog about billing',
  'security abuse legal static assets cdn ws relay tunnel culvert internal metrics localhost mail smtp imap pop pop3',
  'mx ns ns1 ns2 dns ftp vpn webmaster hostmaster postmaster root autoconfig autodiscover wpad isatap',
].flatMap((line) => line.split(' '));

/** The environment variable of a setting. */
export function variableOf(name: SettingName): string {
  return `CULVERT_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** The flags of all settings, for `parseArgs`. */
export const SETTING_FLAGS: Readonly<Record<string, { type: 'string' }>> = Object.fromEntries(
  SETTING_NAMES.map((name) => [name, { type: 'string' }]),
);

/* Settings as the operator has given them: the flag if there is one, else the variable. */

/** What the names of all variables of Culvert begin with. */
const PREFIX = 'CULVERT_';

/** An empty text counts as not given. */
export class GivenSettings {
  /** One line for each wrong setting, naming it and what it takes. */
  readonly problems: string[] = [];
  readonly #env: NodeJS.ProcessEnv;
  readonly #flags: Readonly<Record<string, unknown>>;

  constructor(env: NodeJS.ProcessEnv, flags: Readonly<Record<string, unknown>>) {
    this.#env = env;
    this.#flags = flags;
  }

  /** Reads one setting, or returns its default; a text that it does not take is added to the problems. */
  read<N extends SettingName>(name: N): Standard<N> {
    return this.readGiven(name) ?? SETTINGS[name].standard;
  }

  /**
   * Reads one setting; a text that it does not take is added to the problems.
   *
   * @returns `undefined` when the setting is not given or wrong
   */
  readGiven<N extends SettingName>(name: N): Standard<N> | undefined {
    const text = this.#text(name);
    if (text === undefined) return undefined;
    const reader: SettingReader<unknown> = SETTINGS[name].reader;
    const value = reader.read(text);
    if (value === undefined) this.problems.push(`${this.nameAsGiven(name)} takes ${reader.takes}`);
    return value as Standard<N> | undefined;
  }

  /**
   * Adds each variable to the problems that looks like a setting and is none: the setting that was meant would be at its
   * default, and with another database or without its lock nobody would notice.
   */
  refuseUnknown(): void {
    const known = SETTING_NAMES.map(variableOf);
    const others = new Set<string>([...known, ...CLIENT_VARIABLES]);
    for (const name of Object.keys(this.#env).toSorted()) {
      if (!name.startsWith(PREFIX) || others.has(name)) continue;
      this.problems.push(`there is no setting ${name}; the nearest is ${nearest(name, known, Infinity)}`);
    }
  }

  /** What the operator wrote: the flag, or else the variable. */
  nameAsGiven(name: SettingName): string {
    return this.#flags[name] === undefined ? variableOf(name) : `--${name}`;
  }

  #text(name: SettingName): string | undefined {
    const flag = this.#flags[name];
    const text = typeof flag === 'string' ? flag : this.#env[variableOf(name)];
    return text === undefined || text.trim() === '' ? undefined : text.trim();
  }
}
