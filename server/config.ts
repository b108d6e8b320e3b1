/** The relay's configuration, from flags and environment (docs/reference/settings.md). */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { optionProblem, type OptionTypes } from '../shared/command-options.ts';
import { typedDuration } from '../shared/duration.ts';
import { nearest } from '../shared/help-text.ts';
import { CLIENT_VARIABLES } from '../shared/version.ts';
import { certifiable } from './certificates/known-certificates.ts';
import {
  ALL_SETTINGS,
  type ConfigOf,
  type Group,
  isGroup,
  isSetting,
  type Rows,
  type Setting,
  SETTINGS,
  type Table,
} from './settings.ts';
import type { DatabaseAddress } from './store/database-address.ts';

/** What depends on several settings. */
interface Completed {
  readonly serviceDomain: string;
  readonly database: DatabaseAddress;
  readonly acme:
    (NonNullable<Settings['acme']> & { /** the relay's own name */ readonly host: string }) | undefined;
  readonly accessLog: Exclude<Settings['accessLog'], 'off'> | undefined;
  /** variables of other programs that are named like settings */
  readonly foreignVariables: readonly string[];
}

type Settings = ConfigOf<typeof SETTINGS>;

export interface Config extends Omit<Settings, keyof Completed>, Completed {}

/** A configuration and all flags as given, or one line for each wrong setting. */
export type ConfigResult =
  | { readonly config: Config; readonly flags: Flags; readonly operands: readonly string[] }
  | { readonly problems: readonly string[] };

type Flags = Readonly<Record<string, string | boolean | undefined>>;
/**
 * Reads the configuration of a `culvert-relay` command.
 *
 * @param env the environment
 * @param argv arguments after the command; flags win over the environment
 * @param own flags of the command that are not settings
 * @param maxOperands number of positional arguments the command accepts
 */
export function loadConfig(
  env: NodeJS.ProcessEnv,
  argv: readonly string[],
  own: OptionTypes = {},
  maxOperands = 0,
): ConfigResult {
  const settings = ALL_SETTINGS.map(({ name }) => [name, { type: 'string' }] as const);
  const options: OptionTypes = { ...Object.fromEntries(settings), ...own };
  const line = { args: [...argv], options, allowPositionals: true };
  const { tokens } = parseArgs({ ...line, strict: false, tokens: true });
  const wrong = optionProblem(tokens, options);
  if (wrong !== undefined) return { problems: [[wrong.text, wrong.hint].filter(Boolean).join('. ')] };
  const { values, positionals } = parseArgs(line);
  const surplus = positionals[maxOperands];
  if (surplus !== undefined) return { problems: [`unexpected argument "${surplus}"`] };
  const result = readConfig(env, values);
  return 'problems' in result ? result : { ...result, operands: positionals };
}

function readConfig(
  env: NodeJS.ProcessEnv,
  flags: Flags,
): { readonly config: Config; readonly flags: Flags } | { readonly problems: readonly string[] } {
  const given = new GivenSettings(env, flags);
  given.refuseUnknown();
  const settings = given.readAll(SETTINGS);
  const { publicUrl, tunnelDomain, dataDir, accessLog, reservedNames } = settings;
  const database = settings.database ?? { kind: 'sqlite', path: join(dataDir, 'culvert.db') };
  checkCluster(given, database);
  checkReusePort(given, settings);
  checkWorkers(given, settings);
  checkProxyProtocol(given, settings);
  checkClientSecret(given);
  const config: Config = {
    ...settings,
    serviceDomain: settings.serviceDomain ?? tunnelDomain,
    database,
    defaultTtl: defaultTtl(given, settings),
    acme: completeAcme(given, settings),
    accessLog: accessLog === 'off' ? undefined : accessLog,
    reservedNames: new Set([...reservedNames, ...ownLabels(publicUrl, tunnelDomain)]),
    foreignVariables: given.foreignVariables,
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

/** A maximum below the usual default of an hour needs no second setting. */
function defaultTtl(given: GivenSettings, { maxTtl, defaultTtl: wanted }: Settings): number {
  if (!given.has(SETTINGS.defaultTtl)) return Math.min(wanted, maxTtl);
  if (wanted > maxTtl) {
    const name = given.nameAsGiven(SETTINGS.defaultTtl);
    given.problems.push(`${name} must be at most ${typedDuration(maxTtl)}, the maximum ttl`);
  }
  return wanted;
}

function checkCluster(given: GivenSettings, { kind }: DatabaseAddress): void {
  const { redisUrl } = SETTINGS.cluster.rows;
  if (given.has(redisUrl) && kind !== 'postgres')
    given.refuse(redisUrl, `with ${SETTINGS.database.variable}=postgres://…`);
}

/**
 * Relays that do not know of each other must not share a port: each would get only a part of the visitors and the
 * tunnels.
 */
function checkReusePort(given: GivenSettings, { cluster, port, reusePort }: Settings): void {
  if (reusePort && cluster === undefined)
    given.refuse(SETTINGS.reusePort, `with ${SETTINGS.cluster.rows.redisUrl.variable}`);
  if (reusePort && port === 0)
    given.refuse(SETTINGS.reusePort, `with a ${SETTINGS.port.variable} that is not 0`);
}

/** Relays of a cluster find each other by Redis, the processes of one relay by its first process. */
function checkWorkers(given: GivenSettings, { cluster, workers }: Settings): void {
  if (workers > 1 && cluster !== undefined)
    given.refuse(SETTINGS.workers, `without ${SETTINGS.cluster.rows.redisUrl.variable}`);
}

/** A header from any other peer would let visitors choose their address. */
function checkProxyProtocol(given: GivenSettings, { proxyProtocol, trustedProxies }: Settings): void {
  if (proxyProtocol && trustedProxies.rules.length === 0)
    given.refuse(SETTINGS.proxyProtocol, `with ${SETTINGS.trustedProxies.variable}`);
}

/** Nobody would know which of the two counts. */
function checkClientSecret(given: GivenSettings): void {
  const { clientSecret, clientSecretFile } = SETTINGS.oidc.rows;
  if (given.has(clientSecret) && given.has(clientSecretFile))
    given.refuse(clientSecretFile, `without ${clientSecret.variable}`);
}

/** A relay that gets its own certificates needs a name that the authority can look up, and has no others. */
function completeAcme(given: GivenSettings, { acme, publicUrl, proxyProtocol }: Settings): Config['acme'] {
  if (acme === undefined) return undefined;
  const { email } = SETTINGS.acme.rows;
  for (const other of [SETTINGS.tls.rows.cert, SETTINGS.tls.rows.key])
    if (given.has(other)) given.refuse(email, `without ${other.variable}`);
  // Other proxies serve TLS themselves; a TCP load balancer leaves that to the relay.
  if (given.has(SETTINGS.trustedProxies) && !proxyProtocol)
    given.refuse(
      email,
      `without ${SETTINGS.trustedProxies.variable}, or with ${SETTINGS.proxyProtocol.variable}=on`,
    );
  const host = publicUrl?.protocol === 'https:' ? certifiable(publicUrl.hostname) : undefined;
  if (host !== undefined) return { ...acme, host };
  const { variable } = SETTINGS.publicUrl;
  given.refuse(
    email,
    `with ${variable}=https://… and a host name that the certificate authority can look up`,
  );
  return undefined;
}

/** The address of a tunnel with this name would be the relay's own host name. */
function ownLabels(publicUrl: URL | undefined, tunnelDomain: string): string[] {
  const host = publicUrl?.hostname ?? '';
  const suffix = `.${tunnelDomain}`;
  const label = host.endsWith(suffix) ? host.slice(0, -suffix.length) : '';
  return label === '' || label.includes('.') ? [] : [label];
}

/* Settings as the operator has given them: the flag if there is one, else the variable. */

/** What the names of all variables of Culvert begin with. */
const PREFIX = 'CULVERT_';

/**
 * Kubernetes describes each service of a namespace to each pod in variables that begin with the service's name: those of
 * a service "culvert" or "culvert-metrics" look like settings, such as CULVERT_PORT=tcp://10.96.0.7:80.
 */
function isServiceLink(name: string, value = ''): boolean {
  if (/_SERVICE_(?:HOST$|PORT(?:$|_))|_PORT_\d{1,5}_(?:TCP|UDP|SCTP)(?:$|_(?:PROTO|PORT|ADDR)$)/.test(name))
    return true;
  return name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value);
}

/** `culvert run` gives its command the address and the host of the tunnel; that may be a relay. */
const TUNNEL_URL = 'CULVERT_URL';
const TUNNEL_HOST = 'CULVERT_HOST';

function isOfTunnel(name: string, env: NodeJS.ProcessEnv): boolean {
  const url = env[TUNNEL_URL] ?? '';
  if (name === TUNNEL_URL) return true;
  return name === TUNNEL_HOST && URL.canParse(url) && new URL(url).hostname === env[TUNNEL_HOST];
}

/** An empty text counts as not given. */
class GivenSettings {
  /** One line for each wrong setting, with its name and the accepted values. */
  readonly problems: string[] = [];
  /** Variables that are passed over. */
  readonly foreignVariables: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #flags: Flags;

  constructor(env: NodeJS.ProcessEnv, flags: Flags) {
    const given = Object.keys(env).filter((name) => name.startsWith(PREFIX));
    this.foreignVariables = given
      .filter((name) => isServiceLink(name, env[name]) || isOfTunnel(name, env))
      .toSorted();
    const foreign = new Set(this.foreignVariables);
    this.#env = Object.fromEntries(
      given.filter((name) => !foreign.has(name)).map((name) => [name, env[name]]),
    );
    this.#flags = flags;
  }

  /** Reads a table; each text that its setting does not take is added to the problems. */
  readAll<R extends Table>(table: R): ConfigOf<R> {
    const values = Object.entries(table).map(([name, entry]) => [name, this.#readEntry(entry)]);
    return Object.fromEntries(values) as ConfigOf<R>;
  }

  #readEntry(entry: Table[string]): unknown {
    if (isSetting(entry)) return this.#read(entry);
    return isGroup(entry) ? this.#readGroup(entry) : this.readAll(entry);
  }

  /** A setting without those that its group needs would have no effect, so it is refused. */
  #readGroup({ needs, rows }: Group<Rows, string>): ConfigOf<Rows> | undefined {
    const values = this.readAll(rows);
    const [lead, missing] = [needs[0], needs.find((name) => values[name] === undefined)].map(
      (name) => rows[name ?? ''],
    );
    if (lead === undefined || missing === undefined) return values;
    const ineffective = missing === lead ? Object.values(rows).filter((row) => this.has(row)) : [lead];
    for (const row of ineffective) this.refuse(row, `with ${missing.variable}`);
    return undefined;
  }

  /** @returns its value, or its default when it is not given or wrong */
  #read(setting: Setting<unknown>): unknown {
    const text = this.#text(setting);
    if (text === undefined) return setting.standard;
    const value = setting.reader.read(text, this.nameAsGiven(setting));
    if (value === undefined)
      this.problems.push(`${this.nameAsGiven(setting)} must be ${setting.reader.takes}`);
    return value ?? setting.standard;
  }

  /** Whether a setting is given, and its value is right. */
  has(setting: Setting<unknown>): boolean {
    const text = this.#text(setting);
    return text !== undefined && setting.reader.read(text, setting.name) !== undefined;
  }

  /** Adds to the problems that a setting is without effect. */
  refuse(setting: Setting<unknown>, unless: string): void {
    this.problems.push(`${this.nameAsGiven(setting)} takes effect only ${unless}`);
  }

  /**
   * Reports each variable that looks like a setting but is unknown. The intended setting would silently keep its
   * default, and nobody would notice a relay with the wrong database or without its lock.
   */
  refuseUnknown(): void {
    const known = ALL_SETTINGS.map(({ variable }) => variable);
    const others = new Set<string>([...known, ...CLIENT_VARIABLES]);
    for (const name of Object.keys(this.#env).toSorted()) {
      if (others.has(name)) continue;
      this.problems.push(`unknown setting ${name}; did you mean ${nearest(name, known, Infinity)}?`);
    }
  }

  /** @returns what the operator wrote: the flag, or else the variable */
  nameAsGiven({ name, variable }: Setting<unknown>): string {
    return this.#flags[name] === undefined ? variable : `--${name}`;
  }

  #text({ name, variable }: Setting<unknown>): string | undefined {
    const flag = this.#flags[name];
    const text = typeof flag === 'string' ? flag : this.#env[variable];
    return text === undefined || text.trim() === '' ? undefined : text.trim();
  }
}
