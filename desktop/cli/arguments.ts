/** Reads the command line of `culvert`, and says what is wrong with it before a relay is asked. */
import { DOMAIN_RULE, readDomain } from '../../shared/domains.ts';
import { LINK_NOTE_RULE, LINK_PATH_RULE } from '../../shared/links.ts';
import { nearest } from '../../shared/nearest.ts';
import {
  HOST_HEADER_RULE,
  LOCAL_HOST_RULE,
  NAME_RULE,
  PORT_RULE,
  TTL_RULE,
} from '../../shared/value-rules.ts';
import {
  checkKey,
  checkProtected,
  type Environment,
  findRelay,
  readNetwork,
  readRelay,
  readRelayAccess,
  readSettings,
  type RelayAccess,
  type RelaySources,
} from '../client/config/relay-access.ts';
import { SPEC_DEFAULTS, WAIT_RULE } from '../client/config/tunnel-spec.ts';
import { UsageError } from '../client/failures.ts';
import { type InvitationAddress, readInvitation } from '../client/relay/invitation.ts';
import type { RelayAddress } from '../client/relay/relay-address.ts';
import { type AccessOptions, readAccessOptions } from './access-options.ts';
import type {
  Command,
  DoctorCommand,
  DomainCommand,
  Files,
  HttpCommand,
  KnockCommand,
  LinkCommand,
  LoginCommand,
  StartCommand,
} from './commands.ts';
import { readInspect } from './inspect-arguments.ts';
import { COMMAND_NAMES, type CommandName, COMMANDS, isCommandName, type Shell, SHELLS } from './options.ts';
import {
  commandHint,
  isTarget,
  parse,
  parseTarget,
  readOption,
  readSeconds,
  type Target,
  translateCommand,
  type Values,
} from './parse.ts';
import type { OnceOnline } from './view/once-online.ts';
import { checkLocalHosts, locateFolders, type ProjectRelay } from '../client/config/project-trust.ts';

/**
 * @param args the words after `culvert`
 * @throws UsageError
 */
export function readArguments(args: readonly string[], env: Environment, files: Files): Command {
  const { values, positionals } = parse(args);
  const [first, ...rest] = positionals;
  const isPort = first !== undefined && isTarget(first);
  const word = isPort ? 'http' : first && translateCommand(first);
  const operands = isPort ? positionals : rest;
  if (word === 'help') return { command: 'help', topic: readTopic(operands[0]) };
  if (values.help === true) return { command: 'help', topic: readTopic(word) };
  if (values.version === true || word === 'version') return { command: 'version' };
  if (word === undefined) throw new UsageError(`Say what to do: ${COMMAND_NAMES.join(', ')}.`);
  if (!isCommandName(word)) throw unknownCommand(word);
  refuseForeign(values, word);
  return readCommand(word, new CommandLine(word, operands, values, env, files));
}

function readCommand(command: CommandName, line: CommandLine): Command {
  switch (command) {
    case 'http':
      return readHttp(line);
    case 'share':
      return readShare(line);
    case 'start':
      return readStart(line);
    case 'list':
    case 'status':
      line.atMost(0);
      return { command, ...line.access() };
    case 'close':
    case 'links':
      return { command, tunnel: line.tunnelName(), ...line.access() };
    case 'extend':
      return { command, tunnel: line.tunnelName(), ttl: line.ttl(), ...line.access() };
    case 'access':
      return { command, tunnel: line.tunnelName(), wanted: readWanted(line.values), ...line.access() };
    case 'link':
      return { command, action: readLinkAction(line), ...line.access() };
    case 'knock':
      return readKnock(line);
    case 'domain':
      return { command, action: readDomainAction(line), ...line.access() };
    case 'inspect':
      return readInspect(line.operands, line.values);
    case 'doctor':
      return readDoctor(line);
    case 'login':
      return readLogin(line);
    case 'completion':
      return { command, shell: readShell(line) };
    case 'man':
      line.atMost(0);
      return { command };
    case 'logout':
      line.atMost(0);
      return { command, json: line.values.json ?? false };
  }
}

function readDoctor(line: CommandLine): DoctorCommand {
  line.atMost(1);
  const [port] = line.operands;
  const sources = line.accessSources();
  const found = findRelay(sources);
  if (found.key !== undefined) checkProtected(found.relay, found.relayFrom, line.values.insecure);
  return {
    command: 'doctor',
    target: port === undefined ? undefined : parseTarget(port),
    ...found,
    network: readNetwork(sources, found.ca),
    json: line.values.json ?? false,
  };
}

function readLogin(line: CommandLine): LoginCommand {
  line.atMost(1);
  const { key, json = false, insecure = false } = line.values;
  const sources = line.accessSources();
  return {
    command: 'login',
    ...readLoginAddress(line.operands[0], sources),
    network: readNetwork(sources),
    ca: readSettings(sources).ca,
    key: key === undefined ? undefined : checkKey(key),
    insecure,
    json,
  };
}

function readShell(line: CommandLine): Shell {
  line.atMost(1);
  const [given] = line.operands;
  const shell = SHELLS.find((name) => name === given);
  if (shell !== undefined) return shell;
  throw new UsageError(`Say which shell: ${SHELLS.join(', ')}.`);
}

function readTopic(given: string | undefined): CommandName | undefined {
  const word = given && translateCommand(given);
  if (word === undefined || isCommandName(word)) return word;
  throw unknownCommand(word);
}

function unknownCommand(word: string): UsageError {
  const meant = nearest(word, COMMAND_NAMES);
  const hint =
    commandHint(word) ??
    (meant === undefined ? `There are ${COMMAND_NAMES.join(', ')}.` : `Did you mean "${meant}"?`);
  return new UsageError(`There is no command "${word}". ${hint}`);
}

function refuseForeign(values: Values, command: CommandName): void {
  for (const option of Object.keys(values) as (keyof Values)[]) {
    if (option === 'help' || option === 'version' || COMMANDS[command].options.includes(option)) continue;
    throw new UsageError(`"culvert ${command}" takes no --${option}.`);
  }
}

/* What the words after `culvert` share, whichever command they are of. */

export class CommandLine {
  readonly command: CommandName;
  /** the words that are no options */
  readonly operands: readonly string[];
  readonly values: Values;
  readonly files: Files;
  readonly #env: Environment;

  constructor(
    command: CommandName,
    operands: readonly string[],
    values: Values,
    env: Environment,
    files: Files,
  ) {
    this.command = command;
    this.operands = operands;
    this.values = values;
    this.files = files;
    this.#env = env;
  }

  /** @throws UsageError for more operands than that */
  atMost(count: number): void {
    const more = this.operands.slice(count);
    if (more.length === 0) return;
    throw new UsageError(`"${more.join(' ')}" is more than "culvert ${this.command}" takes.`);
  }

  /** @throws UsageError */
  ttl(): string | undefined {
    return readOption('ttl', this.values.ttl, TTL_RULE);
  }

  /**
   * The id or slug of the tunnel that a command is about.
   *
   * @throws UsageError if it is missing, or not the only operand
   */
  tunnelName(): string {
    this.atMost(1);
    const [name = ''] = this.operands;
    if (name !== '') return name;
    this.checkPassword('The tunnel is missing');
    throw new UsageError('Say which tunnel: its id or its slug, as "culvert list" shows them.');
  }

  /**
   * The word that is missing may have been taken for a password.
   *
   * @throws UsageError
   */
  checkPassword(what: string): void {
    if (typeof this.values.password !== 'string') return;
    throw new UsageError(`${what}: --password takes the word after it, so put --password last.`);
  }

  /**
   * @param project a `culvert.yml` that names a relay
   * @throws UsageError, ProjectFileError
   */
  access(project?: ProjectRelay): RelayAccess {
    return readRelayAccess({ ...this.accessSources(), project });
  }

  accessSources(): RelaySources {
    return { options: this.values, env: this.#env, readLogin: () => this.files.readLogin() };
  }
}

/* The command lines that open tunnels: `culvert http`, `share` and `start`. */

/** @throws UsageError */
export function readHttp(line: CommandLine): HttpCommand {
  const { values } = line;
  const wanted = readAccessOptions(values);
  const { port, host, https } = readTarget(line);
  const tunnel = {
    ...SPEC_DEFAULTS,
    ...ofAnyTunnel(line),
    port,
    hostHeader:
      readOption('host-header', hostHeaderMode(values), HOST_HEADER_RULE) ?? SPEC_DEFAULTS.hostHeader,
    localHost: readOption('local-host', values['local-host'], LOCAL_HOST_RULE) ?? host,
    localHttps: values['local-https'] ?? https,
    wait: readSeconds('wait', values.wait, WAIT_RULE) ?? SPEC_DEFAULTS.wait,
    madePassword: wanted.madePassword,
  };
  return { command: 'http', tunnel, wanted, onceOnline: onceOnline(values), ...line.access() };
}

/** @throws UsageError */
export function readShare(line: CommandLine): HttpCommand {
  line.atMost(1);
  const [folder = ''] = line.operands;
  if (folder === '') {
    line.checkPassword('FOLDER is missing');
    throw new UsageError('FOLDER is missing: say which folder to share.');
  }
  const wanted = readAccessOptions(line.values);
  const { madePassword } = wanted;
  const tunnel = { ...SPEC_DEFAULTS, ...ofAnyTunnel(line), port: 0, folder, madePassword };
  return { command: 'http', tunnel, wanted, onceOnline: onceOnline(line.values), ...line.access() };
}

/** @throws UsageError, ProjectFileError */
export function readStart(line: CommandLine): StartCommand {
  const { operands, values, files } = line;
  const { path, relay, tunnels: all } = files.readProject(values.config);
  const labels = all.map(({ label }) => label);
  for (const name of operands) {
    if (labels.includes(name)) continue;
    const meant = nearest(name, labels);
    const hint = meant === undefined ? `there are ${labels.join(', ')}` : `did you mean ${meant}?`;
    throw new UsageError(`culvert.yml has no tunnel "${name}"; ${hint}`);
  }
  const chosen = all.filter(({ label }) => operands.length === 0 || operands.includes(label));
  const tunnels = locateFolders(path, chosen);
  if (values.copy === true && tunnels.length > 1)
    throw new UsageError(
      `--copy copies one address: say of which tunnel, as "culvert start ${labels[0]} --copy".`,
    );
  if (values['allow-other-hosts'] !== true) checkLocalHosts({ path, tunnels });
  return {
    command: 'start',
    project: path,
    tunnels,
    onceOnline: onceOnline(values),
    ...line.access(relay && { path, relay }),
  };
}

function ofAnyTunnel(line: CommandLine) {
  const { name, domain, idle } = line.values;
  return {
    label: undefined,
    name: readOption('name', name, NAME_RULE),
    domain: readOption('domain', domain, DOMAIN_RULE),
    ttl: line.ttl(),
    idle: idle ?? SPEC_DEFAULTS.idle,
  };
}

function readTarget(line: CommandLine): Target {
  line.atMost(1);
  const [target] = line.operands;
  if (target === undefined) {
    line.checkPassword('PORT is missing');
    throw new UsageError(`PORT is missing: give the local port as ${PORT_RULE.accepted}.`);
  }
  const parsed = parseTarget(target);
  if (parsed.host !== 'localhost' && line.values['local-host'] !== undefined)
    throw new UsageError(`--local-host and "${target}" both name a host: leave one of them out.`);
  return parsed;
}

/** `rewrite` is ngrok's word for the Host of the local service itself. */
function hostHeaderMode({ 'host-header': mode }: Values): string | undefined {
  return mode === 'rewrite' ? 'local' : mode;
}

function onceOnline({ open = false, qr = false, copy = false }: Values): OnceOnline {
  return { open, qr, copy };
}

/* The command lines about who comes into a tunnel, and by which address: `culvert access`, `link`, `knock` and `domain`. */

/**
 * @returns who shall come in; `undefined` where it is only asked for
 * @throws UsageError
 */
export function readWanted(values: Values): AccessOptions | undefined {
  const { auth, password, allow, links, knock, open } = values;
  const isGiven = [auth, password, allow, links, knock].some((value) => value !== undefined);
  if (isGiven && open === true)
    throw new UsageError('--open lets in everybody, so it takes no other of these options.');
  return isGiven || open === true ? readAccessOptions(values) : undefined;
}

/** @throws UsageError */
export function readLinkAction(line: CommandLine): LinkCommand['action'] {
  const { revoke, note, path } = line.values;
  const ttl = line.ttl();
  if (revoke === undefined) {
    const link = {
      ...(ttl === undefined ? {} : { ttl }),
      ...(note === undefined ? {} : { note: readOption('note', note, LINK_NOTE_RULE) }),
      ...(path === undefined ? {} : { path: readOption('path', path, LINK_PATH_RULE) }),
    };
    return { name: 'make', tunnel: line.tunnelName(), link };
  }
  line.atMost(0);
  if ([ttl, note, path].some((value) => value !== undefined))
    throw new UsageError('--revoke ends a link that is there, so it takes no --ttl, --note and --path.');
  if (!/^[0-9a-f]{16}$/.test(revoke))
    throw new UsageError(`--revoke "${revoke}": it takes the id of a link, as "culvert links" shows it.`);
  return { name: 'revoke', link: revoke };
}

/** @throws UsageError */
export function readKnock(line: CommandLine): KnockCommand {
  line.atMost(2);
  const [tunnel = '', knock = ''] = line.operands;
  const { admit = false, refuse = false, for: duration } = line.values;
  if (tunnel === '' || knock === '')
    throw new UsageError('Say which tunnel and which knock, as "culvert http --knock" shows them.');
  if (admit === refuse) throw new UsageError('Say what to do: --admit or --refuse.');
  if (refuse && duration !== undefined) throw new UsageError('--for is for --admit.');
  return {
    command: 'knock',
    tunnel,
    knock,
    admit,
    duration: readOption('for', duration, TTL_RULE),
    ...line.access(),
  };
}

/** @throws UsageError */
export function readDomainAction(line: CommandLine): DomainCommand['action'] {
  line.atMost(2);
  const [name = 'list', domain = ''] = line.operands;
  if (name === 'list') {
    line.atMost(1);
    return { name };
  }
  if (name !== 'add' && name !== 'verify' && name !== 'remove')
    throw new UsageError(`"${name}" is nothing that is done with domains: list, add, verify or remove.`);
  if (domain === '') throw new UsageError('Say which domain, such as app.example.com.');
  const reading = readDomain(domain);
  if (name === 'add' && 'problem' in reading)
    throw new UsageError(`"${domain}": the domain ${reading.problem}.`);
  return { name, domain };
}

/* Where `culvert login` signs in: what is given behind it, or the relay that every command would use. */

export interface LoginAddress {
  readonly relay: RelayAddress;
  /** where it is from, for people */
  readonly relayFrom: string;
  /** `undefined` for the address of a relay */
  readonly invitation: InvitationAddress | undefined;
}

/**
 * @param given an invitation, or the address of a relay; without it, options and environment decide
 * @throws UsageError
 */
export function readLoginAddress(given: string | undefined, sources: RelaySources): LoginAddress {
  if (given === undefined) {
    const { relay, relayFrom } = findRelay(sources);
    return { relay, relayFrom, invitation: undefined };
  }
  const { relay: other, key } = sources.options;
  if (other !== undefined) throw new UsageError('--relay and an address exclude each other.');
  const invitation = readInvitation(given);
  if (invitation === undefined) return { relay: readRelay(given), relayFrom: 'the address', invitation };
  if (key !== undefined) throw new UsageError('--key and an invitation exclude each other: it brings a key.');
  return { relay: invitation.relay, relayFrom: 'the address', invitation };
}
