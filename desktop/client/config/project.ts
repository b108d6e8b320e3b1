/** Finds and reads a `culvert.yml`. All problems are reported together, with their lines. */
import { closeSync, fstatSync, lstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Document, isMap, LineCounter, type Node, parseDocument } from 'yaml';
import * as yup from 'yup';
import { OPEN } from '../../../shared/access.ts';
import { DOMAIN_RULE } from '../../../shared/domains.ts';
import { HEADER_NAMES_RULE, HEADERS_RULE } from '../../../shared/header-changes.ts';
import { nearest } from '../../../shared/help-text.ts';
import { AWAY_RULE } from '../../../shared/names.ts';
import type { Protocol } from '../../../shared/tunnel.ts';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import {
  API_KEY_PREFIX,
  COMPRESS_RULE,
  type CompressMode,
  HOST_HEADER_RULE,
  LOCAL_HOST_RULE,
  NAME_RULE,
  PORT_RULE,
  TTL_RULE,
  type Upstream,
  UPSTREAM_RULE,
  type ValueRule,
} from '../../../shared/value-rules.ts';
import { isWildcardDomain } from '../../../shared/wildcard-hosts.ts';
import { toSentence } from '../failures.ts';
import {
  isLines,
  type Message,
  MessageError,
  messageOf,
  type MessageValue,
  textOf,
  toMessage,
} from '../messages.ts';
import { localPort, type RawProtocol } from '../local/local-service.ts';
import { parseRelayAddress, type RelayAddress, RelayAddressError } from '../relay/relay-address.ts';
import {
  ACCESS_FIELDS,
  type Environment,
  EnvironmentError,
  fillInPublic,
  readProjectAccess,
  VariableUnset,
} from './project-access.ts';
import { checkOwners, ProjectFileError, trustedOwners } from './project-trust.ts';
import {
  ANY_HOST,
  FLAG_RULE,
  FOLDER_RULE,
  type HostPorts,
  HOSTS_RULE,
  KEEP_BODIES_RULE,
  parseSize,
  PROTOCOL_RULE,
  SPEC_DEFAULTS,
  type TunnelSpec,
  type TunnelTarget,
  WAIT_RULE,
  CONFIG_TUNNELS_MAX,
  LABEL_MAX_LENGTH,
} from './tunnel-spec.ts';
import { CONFIG_FILE_MAX_BYTES } from './durable-file.ts';

export interface Project {
  /** the file that was read */
  readonly path: string;
  readonly relay: RelayAddress | undefined;
  /** in the order of the file; at least one, counting those withheld */
  readonly tunnels: readonly ProjectTunnel[];
  /** in the order of the file; empty unless requested */
  readonly withheld: readonly WithheldTunnel[];
}

export type ProjectTunnel = TunnelSpec & { readonly label: string };

/** A tunnel whose access policy has unset variables. Without `access` it cannot be opened unprotected by mistake. */
export type WithheldTunnel = Omit<ProjectTunnel, 'access' | 'madePassword'> & {
  /** the fields and variables */
  readonly why: readonly Message[];
};

interface ReadOptions {
  /** fills in `${NAME}` in the access policy; by default the environment of this process */
  readonly env?: Environment;
  /** whether an unset variable affects its tunnel alone, rather than the whole file */
  readonly withholds?: boolean;
}

const LABEL_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const KEY_FIELD = /^(?:api)?[_-]?(?:key|token|secret)$/i;
const PROJECT_FIELDS = ['relay', 'tunnels'];

/** What each field of a tunnel accepts. */
export const TUNNEL_FIELD_RULES = {
  port: PORT_RULE,
  share: FOLDER_RULE,
  name: NAME_RULE,
  keep: FLAG_RULE,
  away: AWAY_RULE,
  domain: DOMAIN_RULE,
  wildcard: FLAG_RULE,
  hosts: HOSTS_RULE,
  ttl: TTL_RULE,
  idle: FLAG_RULE,
  host_header: HOST_HEADER_RULE,
  local_host: LOCAL_HOST_RULE,
  local_https: FLAG_RULE,
  upstream: UPSTREAM_RULE,
  wait: WAIT_RULE,
  compress: COMPRESS_RULE,
  keep_bodies: KEEP_BODIES_RULE,
  request_header: HEADERS_RULE,
  remove_request_header: HEADER_NAMES_RULE,
  response_header: HEADERS_RULE,
  remove_response_header: HEADER_NAMES_RULE,
  protocol: PROTOCOL_RULE,
  remote_port: PORT_RULE,
  proxy_protocol: FLAG_RULE,
} as const;
const tunnelSchema = yup
  .object({
    port: field<number>(TUNNEL_FIELD_RULES.port),
    share: field<string>(TUNNEL_FIELD_RULES.share),
    name: field<string>(TUNNEL_FIELD_RULES.name),
    keep: field<boolean>(TUNNEL_FIELD_RULES.keep),
    away: field<string>(TUNNEL_FIELD_RULES.away),
    domain: field<string>(TUNNEL_FIELD_RULES.domain),
    wildcard: field<boolean>(TUNNEL_FIELD_RULES.wildcard),
    hosts: field<HostPorts>(TUNNEL_FIELD_RULES.hosts),
    ttl: field<string>(TUNNEL_FIELD_RULES.ttl),
    idle: field<boolean>(TUNNEL_FIELD_RULES.idle),
    host_header: field<string>(TUNNEL_FIELD_RULES.host_header),
    local_host: field<string>(TUNNEL_FIELD_RULES.local_host),
    local_https: field<boolean>(TUNNEL_FIELD_RULES.local_https),
    upstream: field<Upstream>(TUNNEL_FIELD_RULES.upstream),
    wait: field<number>(TUNNEL_FIELD_RULES.wait),
    compress: field<CompressMode>(TUNNEL_FIELD_RULES.compress),
    keep_bodies: field<string>(TUNNEL_FIELD_RULES.keep_bodies),
    request_header: field<OneOrMore>(TUNNEL_FIELD_RULES.request_header),
    remove_request_header: field<OneOrMore>(TUNNEL_FIELD_RULES.remove_request_header),
    response_header: field<OneOrMore>(TUNNEL_FIELD_RULES.response_header),
    remove_response_header: field<OneOrMore>(TUNNEL_FIELD_RULES.remove_response_header),
    protocol: field<Protocol>(TUNNEL_FIELD_RULES.protocol),
    remote_port: field<number>(TUNNEL_FIELD_RULES.remote_port),
    proxy_protocol: field<boolean>(TUNNEL_FIELD_RULES.proxy_protocol),
  })
  .strict();
const TUNNEL_FIELDS = [...Object.keys(TUNNEL_FIELD_RULES), ...ACCESS_FIELDS];

/** Fields whose variables are filled in, besides those of the access policy. */
const FILLED_FIELDS = ['name', 'domain'];

/** What other programs and guesses call our fields. */
const FIELD_ALIASES: ReadonlyMap<string, string> = new Map([
  ['addr', 'port'],
  ['local_port', 'port'],
  ['localPort', 'port'],
  ['hostname', 'domain'],
  ['url', 'domain'],
  ['customDomains', 'domain'],
  ['subdomain', 'name'],
  ['basic_auth', 'auth'],
  ['folder', 'share'],
]);

/** Fields at the top of the configurations of other programs. */
const FOREIGN_FIELDS: ReadonlyMap<string, string> = new Map([
  ['agent', 'ngrok'],
  ['authtoken', 'ngrok'],
  ['endpoints', 'ngrok'],
  ['version', 'ngrok'],
  ['ingress', 'cloudflared'],
  ['tunnel', 'cloudflared'],
  ['serverAddr', 'frp'],
  ['proxies', 'frp'],
]);

/** Fields for a port that make no sense for a folder. */
const PORT_FIELDS = [
  'port',
  'hosts',
  'host_header',
  'local_host',
  'local_https',
  'upstream',
  'wait',
  'protocol',
];
/** The only fields of a tunnel that carries bytes instead of HTTP. */
const RAW_FIELDS = [
  'protocol',
  'port',
  'name',
  'keep',
  'ttl',
  'idle',
  'local_host',
  'wait',
  'proxy_protocol',
  'allow',
];
/** Those of each protocol. */
const FIELDS_OF: Readonly<Record<RawProtocol, readonly string[]>> = {
  tls: [...RAW_FIELDS, 'domain'],
  tcp: [...RAW_FIELDS, 'remote_port'],
};

type OneOrMore = string | string[];

function listOf(value: OneOrMore = []): readonly string[] {
  return typeof value === 'string' ? [value] : value;
}

function field<T extends string | number | boolean | string[] | HostPorts>(rule: ValueRule) {
  return yup.mixed<T>().test((value: unknown) => value === undefined || rule.accepts(value));
}

/**
 * @param text the file's content
 * @param path for messages
 * @throws ProjectFileError
 */
export function parseProject(text: string, path: string, options: ReadOptions = {}): Project {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const report = new ProjectReport(path, document, lines);
  if (looksLikeToml(text)) report.add(1, toMessage('project.toml'));
  else
    for (const error of document.errors) {
      const isSecond = error.code === 'MULTIPLE_DOCS';
      report.add(lines.linePos(error.pos[0]).line, isSecond ? toMessage('project.documents') : error.message);
    }
  report.end();
  let value: unknown;
  try {
    value = document.toJS();
  } catch {
    // Aliases multiply the size of the document.
    throw new ProjectFileError(toMessage('project.repeats', { path }));
  }
  return new ProjectReader(path, options, report).read(value);
}

/** A table or a setting of TOML, such as frp's, on the first line that is not a comment. */
function looksLikeToml(text: string): boolean {
  const first = text.split('\n').find((line) => !/^\s*(?:#|$)/.test(line)) ?? '';
  return /^\s*(?:\[\[?[\w.-]+\]\]?\s*$|[\w.-]+\s*=)/.test(first);
}

class ProjectReader {
  readonly #path: string;
  readonly #env: Environment;
  readonly #withholds: boolean;
  readonly #withheld: WithheldTunnel[] = [];
  readonly #report: ProjectReport;

  constructor(path: string, { env = process.env, withholds = false }: ReadOptions, report: ProjectReport) {
    this.#path = path;
    this.#env = env;
    this.#withholds = withholds;
    this.#report = report;
  }

  read(value: unknown): Project {
    const report = this.#report;
    if (!isObject(value)) {
      report.field([], toMessage(Array.isArray(value) ? 'project.listAlone' : 'project.takesTunnels'));
      throw report.error();
    }
    const foreign = Object.keys(value).find((name) => FOREIGN_FIELDS.has(name));
    if (foreign !== undefined && !('relay' in value)) {
      const program = FOREIGN_FIELDS.get(foreign) ?? '';
      report.field([foreign], toMessage('project.foreign', { program }));
      throw report.error();
    }
    this.#checkNames(value, [], PROJECT_FIELDS);
    const relay = this.#readRelay(value['relay']);
    const tunnels = this.#readTunnels(value['tunnels']);
    report.end();
    return { path: this.#path, relay, tunnels, withheld: this.#withheld };
  }

  #readRelay(value: unknown): RelayAddress | undefined {
    if (value === undefined) return undefined;
    try {
      return parseRelayAddress(typeof value === 'string' ? value : textOf(shown(value)));
    } catch (error) {
      if (!(error instanceof RelayAddressError)) throw error;
      this.#report.field(['relay'], error.said);
      return undefined;
    }
  }

  #readTunnels(value: unknown): Project['tunnels'] {
    if (!isObject(value) || Object.keys(value).length === 0) {
      this.#report.field(['tunnels'], toMessage(Array.isArray(value) ? 'project.list' : 'project.noTunnel'));
      return [];
    }
    const entries = Object.entries(value);
    if (entries.length > CONFIG_TUNNELS_MAX)
      this.#report.field(
        ['tunnels'],
        toMessage('project.tooMany', { count: entries.length, max: CONFIG_TUNNELS_MAX }),
      );
    return entries.flatMap(([label, tunnel]) => this.#readTunnel(label, tunnel) ?? []);
  }

  #readTunnel(label: string, value: unknown): ProjectTunnel | undefined {
    const path = ['tunnels', label];
    if (!LABEL_PATTERN.test(label) || label.length > LABEL_MAX_LENGTH) {
      this.#report.field(path, toMessage('project.label', { max: LABEL_MAX_LENGTH }));
      return undefined;
    }
    if (!isObject(value)) {
      this.#report.field(
        path,
        toMessage('project.takesFields', { value: shown(value), fields: TUNNEL_FIELDS.join(', ') }),
      );
      return undefined;
    }
    this.#checkNames(value, path, TUNNEL_FIELDS);
    this.#checkTarget(value, path);
    this.#checkProtocol(value, path);
    this.#checkKeep(value, path);
    const unset: Message[] = [];
    const access = readProjectAccess(value, this.#env, (name, said, isUnset) => {
      if (isUnset && this.#withholds) unset.push(toMessage('access.unsetIn', { field: name, problem: said }));
      else this.#report.field([...path, name], said);
    });
    const filled = this.#fillIn(value, path, unset);
    try {
      const fields = tunnelSchema.validateSync(filled, { abortEarly: false });
      const spec = {
        label,
        target: targetOf(fields),
        name: fields.name,
        ...(asksToKeep(fields) && { keep: { away: fields.away?.trim() } }),
        domain: fields.domain,
        wildcard: fields.wildcard ?? (fields.hosts !== undefined || isWildcardDomain(fields.domain ?? '')),
        ttl: fields.ttl,
        idle: fields.idle ?? SPEC_DEFAULTS.idle,
        compress: fields.compress ?? SPEC_DEFAULTS.compress,
        keepBodies: parseSize(fields.keep_bodies ?? '') ?? SPEC_DEFAULTS.keepBodies,
        headers: {
          requestHeader: listOf(fields.request_header),
          removeRequestHeader: listOf(fields.remove_request_header),
          responseHeader: listOf(fields.response_header),
          removeResponseHeader: listOf(fields.remove_response_header),
        },
      };
      if (unset.length > 0) {
        this.#withheld.push({ ...spec, why: unset });
        return undefined;
      }
      return { ...spec, access: access?.access ?? OPEN, madePassword: access?.madePassword };
    } catch (error) {
      if (!(error instanceof yup.ValidationError)) throw error;
      const wrong = new Set(error.inner.map(({ path: name }) => name));
      for (const [name, rule] of Object.entries(TUNNEL_FIELD_RULES)) {
        if (!wrong.has(name)) continue;
        const values = { value: shown(filled[name]), accepted: rule };
        const isFilled = filled[name] !== value[name];
        this.#report.field(
          [...path, name],
          isFilled
            ? toMessage('project.takesFilled', { ...values, given: shown(value[name]) })
            : toMessage('project.takes', values),
        );
      }
      return undefined;
    }
  }

  /** @param unset gets the variables that withhold the tunnel. @returns the tunnel without fields that cannot be filled in */
  #fillIn(
    tunnel: Readonly<Record<string, unknown>>,
    path: readonly string[],
    unset: Message[],
  ): Readonly<Record<string, unknown>> {
    const filled = { ...tunnel };
    for (const name of FILLED_FIELDS) {
      const value = tunnel[name];
      if (typeof value !== 'string') continue;
      try {
        filled[name] = fillInPublic(value, this.#env);
      } catch (error) {
        if (!(error instanceof EnvironmentError)) throw error;
        delete filled[name];
        if (error instanceof VariableUnset && this.#withholds)
          unset.push(toMessage('access.unsetIn', { field: name, problem: error.said }));
        else this.#report.field([...path, name], error.said);
      }
    }
    return filled;
  }

  /** A tunnel forwards to either a port or a folder. */
  #checkTarget(tunnel: Readonly<Record<string, unknown>>, path: readonly string[]): void {
    if (tunnel['hosts'] !== undefined && tunnel['wildcard'] === false)
      this.#report.field([...path, 'wildcard'], toMessage('project.hostsNeedWildcard'));
    if (tunnel['upstream'] === 'h2c' && tunnel['local_https'] === true)
      this.#report.field([...path, 'upstream'], toMessage('project.h2cHttps'));
    if (tunnel['share'] === undefined) {
      if (tunnel['port'] !== undefined || hasAnyHost(tunnel['hosts'])) return;
      this.#report.field([...path, 'port'], toMessage('project.noTarget', { accepted: PORT_RULE }));
      return;
    }
    for (const name of PORT_FIELDS.filter((one) => tunnel[one] !== undefined))
      this.#report.field([...path, name], toMessage('project.aboutPort'));
  }

  /** A tunnel that carries bytes has few fields, and one of HTTP has none of its own. */
  #checkProtocol(tunnel: Readonly<Record<string, unknown>>, path: readonly string[]): void {
    const { protocol } = tunnel;
    const isRaw = protocol === 'tls' || protocol === 'tcp';
    const isKnown = (name: string): boolean =>
      isRaw ? FIELDS_OF[protocol].includes(name) : name !== 'remote_port' && name !== 'proxy_protocol';
    for (const name of Object.keys(tunnel).filter((one) => !isKnown(one) && TUNNEL_FIELDS.includes(one)))
      this.#report.field(
        [...path, name],
        isRaw
          ? toMessage('project.notForProtocol', { protocol })
          : toMessage(name === 'remote_port' ? 'project.onlyTcp' : 'project.onlyRaw'),
      );
  }

  /** Only a name can be kept, and only at a kept one is there a message. */
  #checkKeep(tunnel: Readonly<Record<string, unknown>>, path: readonly string[]): void {
    const { keep, away, name } = tunnel;
    if (away !== undefined && keep === false)
      this.#report.field([...path, 'keep'], toMessage('project.awayNeedsKeep'));
    if (name === undefined && asksToKeep(tunnel))
      this.#report.field(
        [...path, keep === true ? 'keep' : 'away'],
        toMessage('project.keepNeedsName', { accepted: NAME_RULE }),
      );
  }

  #checkNames(value: object, path: readonly string[], known: readonly string[]): void {
    for (const name of Object.keys(value)) {
      if (known.includes(name)) continue;
      const alias = FIELD_ALIASES.get(name);
      const meant = alias !== undefined && known.includes(alias) ? alias : nearest(name, known);
      const unknown =
        meant === undefined
          ? toMessage('project.unknownField', { fields: known.join(', ') })
          : toMessage('project.meantField', { field: meant });
      this.#report.field([...path, name], KEY_FIELD.test(name) ? toMessage('project.key') : unknown);
    }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asksToKeep({ keep, away }: { readonly keep?: unknown; readonly away?: unknown }): boolean {
  return keep === true || AWAY_RULE.accepts(away);
}

/** @throws Error without a port, which is reported before */
function targetOf({
  share,
  port,
  hosts,
  protocol = 'http',
  ...fields
}: yup.InferType<typeof tunnelSchema>): TunnelTarget {
  if (share !== undefined) return { folder: share };
  const main = port ?? hosts?.[ANY_HOST];
  if (main === undefined) throw new yup.ValidationError('');
  const usual = localPort(main);
  return {
    ...usual,
    host: fields.local_host ?? usual.host,
    https: fields.local_https ?? usual.https,
    waitMs: (fields.wait ?? 0) * 1000,
    upstream: fields.upstream ?? usual.upstream,
    hostHeader: fields.host_header ?? usual.hostHeader,
    ...(protocol === 'http'
      ? {}
      : { raw: { protocol, remotePort: fields.remote_port, proxyProtocol: fields.proxy_protocol ?? false } }),
    ...(hosts === undefined ? {} : { hosts }),
  };
}

/** Whether hosts that are not listed have a port. */
function hasAnyHost(hosts: unknown): boolean {
  return isObject(hosts) && ANY_HOST in hosts;
}

/** A value in a message: short, on one line, and never a key. */
function shown(value: unknown): MessageValue {
  if (value === null) return toMessage('project.empty');
  const text = JSON.stringify(value);
  if (text.includes(API_KEY_PREFIX)) return toMessage('project.keyValue');
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/* Reports problems of a `culvert.yml`. */

/** Collects problems with the lines they are on. */
class ProjectReport {
  readonly #path: string;
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #problems: { line: number; said: MessageValue }[] = [];

  constructor(path: string, document: Document, lines: LineCounter) {
    this.#path = path;
    this.#document = document;
    this.#lines = lines;
  }

  /** @param line from 1 */
  add(line: number, said: MessageValue): void {
    this.#problems.push({
      line,
      said: toMessage('project.problem', { path: this.#path, line, problem: sentence(said) }),
    });
  }

  /** @param path names of the field and of everything that contains it, outermost first */
  field(path: readonly string[], said: MessageValue): void {
    const line = this.#lineOf(path);
    if (path.length === 0) return this.add(line, said);
    const values = {
      path: this.#path,
      line,
      field: escapeUnprintable(path.join('.')),
      problem: sentence(said),
    };
    this.#problems.push({ line, said: toMessage('project.fieldProblem', values) });
  }

  error(): ProjectFileError {
    const problems = this.#problems.toSorted((a, b) => a.line - b.line);
    return new ProjectFileError(problems.map(({ said }) => said));
  }

  /** @throws ProjectFileError if there is a problem */
  end(): void {
    if (this.#problems.length > 0) throw this.error();
  }

  /** The line of the field's name; if the field is missing, of its container. */
  #lineOf(path: readonly string[]): number {
    let node: unknown = this.#document.contents;
    let offset = 0;
    for (const name of path) {
      if (!isMap(node)) break;
      const pair = node.items.find(({ key }) => String(key) === name);
      if (pair === undefined) break;
      offset = (pair.key as Node | null)?.range?.[0] ?? offset;
      node = pair.value;
    }
    return this.#lines.linePos(offset).line || 1;
  }
}

/** Ends the sentence, and removes what a terminal would take for a command. */
function sentence(said: MessageValue): MessageValue {
  return toSentence(printable(said));
}

function printable(said: MessageValue): MessageValue {
  if (typeof said === 'string') return escapeUnprintable(said);
  if (isLines(said)) return said.map(printable);
  if ('accepted' in said || 'refusal' in said) return said;
  const values = Object.entries(said.values).map(([name, value]) => {
    return [name, typeof value === 'number' ? value : printable(value)] as const;
  });
  return toMessage(said.code, Object.fromEntries(values));
}

/* Which file is read. */

export const PROJECT_FILE = 'culvert.yml';

/**
 * @param path the file to read; without it, the nearest `culvert.yml` in the folder or above it
 * @param folder the working directory
 * @param owners users whose file is accepted if no path is given; `undefined` accepts any
 * @throws ProjectFileError
 */
export function readProject(
  path: string | undefined,
  folder: string,
  options: ReadOptions = {},
  owners = trustedOwners(process.env, process.geteuid?.()),
): Project {
  return path === undefined
    ? readFile(findProjectFile(folder), owners, options)
    : readFile(resolve(folder, path), undefined, options);
}

/**
 * Reads the `culvert.yml` of exactly this folder.
 *
 * @param owners users whose file is accepted; `undefined` accepts any
 * @throws ProjectFileError
 */
export function readProjectIn(
  folder: string,
  options: ReadOptions,
  owners = trustedOwners(process.env, process.geteuid?.()),
): Project {
  return readFile(join(folder, PROJECT_FILE), owners, options);
}

function readFile(file: string, owners: ReadonlySet<number> | undefined, options?: ReadOptions): Project {
  try {
    return parseProject(readText(file, owners), file, options);
  } catch (error) {
    if (error instanceof ProjectFileError) throw error;
    throw new ProjectFileError(toMessage('project.unreadable', { path: file, why: messageOf(error) }));
  }
}

function readText(path: string, owners: ReadonlySet<number> | undefined): string {
  const link = lstatSync(path);
  const file = openSync(path, 'r');
  try {
    // Checked on the open file, because the path may have been replaced since.
    const { size, uid } = fstatSync(file);
    checkOwners(path, [link.uid, uid], owners);
    if (size > CONFIG_FILE_MAX_BYTES)
      throw new MessageError(toMessage('project.tooLarge', { max: CONFIG_FILE_MAX_BYTES }));
    return decode(readFileSync(file));
  } finally {
    closeSync(file);
  }
}

/** @throws MessageError for UTF-16, which editors and PowerShell of Windows write */
function decode(bytes: Buffer): string {
  const isUtf16 = /^(?:\xff\xfe|\xfe\xff|[^\0]\0|\0[^\0])/.test(bytes.toString('latin1', 0, 2));
  if (isUtf16) throw new MessageError(toMessage('project.utf16'));
  return bytes.toString('utf8');
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function findProjectFile(start: string): string {
  for (let folder = resolve(start); ; folder = dirname(folder)) {
    const file = join(folder, PROJECT_FILE);
    if (isFile(file)) return file;
    const other = join(folder, 'culvert.yaml');
    if (isFile(other))
      throw new ProjectFileError(toMessage('project.yaml', { path: other, name: PROJECT_FILE }));
    if (dirname(folder) === folder) break;
  }
  throw new ProjectFileError(
    `There is no ${PROJECT_FILE} in ${resolve(start)} or in any folder above it. Create one, or use --config FILE.`,
  );
}
