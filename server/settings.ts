/** The settings of `culvert-relay` (README.md): names, defaults and what each means, as `--help` shows them. */

export interface Setting {
  /** the flag without its dashes; the variable is this in capitals behind `CULVERT_` */
  readonly name: string;
  /** the default, as people read it */
  readonly fallback: string;
  readonly meaning: string;
}

export const SETTINGS = [
  { name: 'host', fallback: '127.0.0.1', meaning: 'address to listen on' },
  { name: 'port', fallback: '8080', meaning: 'port to listen on; 0 picks a free one' },
  { name: 'public-url', fallback: 'http://localhost:<port>', meaning: "the relay's own address" },
  { name: 'tunnel-domain', fallback: 'localhost', meaning: 'tunnels are {slug}.<tunnel domain>' },
  {
    name: 'service-domain',
    fallback: 'the tunnel domain',
    meaning: 'account addresses are {slug}.{account}.<service domain>',
  },
  { name: 'data-dir', fallback: './.culvert', meaning: 'where the database is kept' },
  {
    name: 'database-url',
    fallback: 'sqlite:<data dir>/culvert.db',
    meaning: 'the database, or postgres://USER:PASSWORD@HOST/NAME',
  },
  {
    name: 'bootstrap-key',
    fallback: 'made at the first start',
    meaning: 'an API key to create at start, for the account "default"',
  },
  {
    name: 'tls-cert',
    fallback: 'none',
    meaning: 'certificate file (PEM): serve TLS; read again when it changes',
  },
  { name: 'tls-key', fallback: 'none', meaning: 'key file (PEM) of the certificate' },
  { name: 'max-ttl', fallback: '168h', meaning: 'the longest life of a tunnel' },
  {
    name: 'name-hold',
    fallback: '0s',
    meaning: 'how long the name of an ended tunnel stays with its account',
  },
  { name: 'default-ttl', fallback: '1h', meaning: 'the life of a tunnel that asks for none' },
  {
    name: 'trust-proxy',
    fallback: 'none',
    meaning: 'addresses and networks whose forwarded headers are believed',
  },
  {
    name: 'warm-sockets',
    fallback: '8',
    meaning: 'data sockets a client may offer ahead for each tunnel; 0 for none',
  },
  {
    name: 'metrics-port',
    fallback: 'none: no metrics',
    meaning: 'port of /metrics, on a listener of its own; 0 picks a free one',
  },
  { name: 'metrics-host', fallback: '127.0.0.1', meaning: 'address of that listener' },
  {
    name: 'log-format',
    fallback: 'pretty on a terminal, else json',
    meaning: 'how the log is written to stderr',
  },
  {
    name: 'log-level',
    fallback: 'info',
    meaning: 'debug, info, warn or error: the lowest level that is logged',
  },
  {
    name: 'access-log',
    fallback: 'off',
    meaning: 'stderr or the path of a file: a line of JSON for each request',
  },
  { name: 'max-connections', fallback: '10000', meaning: "visitors' connections at a time" },
  {
    name: 'address-connections',
    fallback: '256',
    meaning: 'connections of one address at a time; 0 for no limit',
  },
  {
    name: 'address-requests',
    fallback: '0',
    meaning: 'requests of one address per second, with bursts of ten times as many; 0 for no limit',
  },
  {
    name: 'notice',
    fallback: 'off',
    meaning: 'free: people see a warning page before they first visit a tunnel on the plan free',
  },
  {
    name: 'abuse-contact',
    fallback: 'none',
    meaning: 'mail address or web page for complaints about tunnels, shown on the pages of the relay',
  },
  {
    name: 'robots',
    fallback: 'noindex',
    meaning: 'noindex keeps tunnels out of search engines (X-Robots-Tag); allow does not',
  },
  {
    name: 'path-form',
    fallback: 'on',
    meaning:
      'on, or off: whether tunnels are also at <public URL>/t/{slug}, where they share an origin in browsers',
  },
  {
    name: 'redis-url',
    fallback: 'none',
    meaning: 'redis://… or rediss://…: relays on one PostgreSQL database and this Redis serve as one',
  },
  {
    name: 'cluster-secret',
    fallback: 'none',
    meaning: 'a secret of 32 characters or more that all relays have, and nobody else',
  },
  {
    name: 'cluster-host',
    fallback: '127.0.0.1',
    meaning: 'address on which other relays reach this one, in a private network',
  },
  { name: 'cluster-port', fallback: '0', meaning: 'port for other relays; 0 picks a free one' },
  {
    name: 'reuse-port',
    fallback: 'false',
    meaning: 'true: several relays of a cluster listen on the same port of this machine',
  },
  {
    name: 'reserved-names',
    fallback: 'www, api, admin, …',
    meaning: 'names that no tunnel and no account can have',
  },
] as const satisfies readonly Setting[];

export type SettingName = (typeof SETTINGS)[number]['name'];

/** Names no tunnel gets unless the operator says otherwise: what visitors or mail and proxy discovery take for the operator's. */
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
  SETTINGS.map(({ name }) => [name, { type: 'string' }]),
);

/** Texts of settings as given: the flag where there is one, else the variable. An empty text counts as not given. */
export class GivenSettings {
  /** One line for each wrong setting, naming it and what it takes. */
  readonly problems: string[] = [];
  readonly #env: NodeJS.ProcessEnv;
  readonly #flags: Readonly<Record<string, unknown>>;

  constructor(env: NodeJS.ProcessEnv, flags: Readonly<Record<string, unknown>>) {
    this.#env = env;
    this.#flags = flags;
  }

  /**
   * Reads one setting; a text the reader does not take is added to the problems.
   *
   * @returns `undefined` when the setting is not given or wrong
   */
  read<T>(name: SettingName, reader: SettingReader<T>): T | undefined {
    const text = this.#text(name);
    if (text === undefined) return undefined;
    const value = reader.read(text);
    if (value === undefined) this.problems.push(`${this.nameAsGiven(name)} takes ${reader.takes}`);
    return value;
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

/** Reads the text of a setting. */
export interface SettingReader<T> {
  /** what the setting takes, as the end of a sentence */
  readonly takes: string;
  /** @returns `undefined` for a text it does not take */
  read(text: string): T | undefined;
}
