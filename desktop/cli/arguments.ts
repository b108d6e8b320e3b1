/** Reads the command line of `culvert`, and says what is wrong with it before a relay is asked. */
import { parseArgs } from 'node:util';
import { LINK_NOTE_RULE, LINK_PATH_RULE } from '../../shared/link-rules.ts';
import {
  HOST_HEADER_RULE,
  LOCAL_HOST_RULE,
  NAME_RULE,
  parsePort,
  PORT_RULE,
  TTL_RULE,
  type ValueRule,
} from '../../shared/value-rules.ts';
import { nearest } from '../config/nearest.ts';
import { checkLocalHosts, type ProjectRelay } from '../config/project-trust.ts';
import type { Project } from '../config/project.ts';
import type { Login } from '../config/stored-login.ts';
import { SPEC_DEFAULTS, type TunnelSpec, WAIT_RULE } from '../config/tunnel-spec.ts';
import type { Network } from '../engine/network/network.ts';
import type { LinkRequest } from '../engine/relay/link-response.ts';
import type { RelayAddress } from '../engine/relay/relay-address.ts';
import { type AccessOptions, readAccessOptions } from './access-options.ts';
import {
  type RelayAccess,
  checkKey,
  checkProtected,
  type Environment,
  findRelay,
  type FoundRelay,
  readRelayAccess,
  readNetwork,
} from './relay-access.ts';
import { type InspectCommand, readInspect } from './inspect-arguments.ts';
import {
  COMMAND_NAMES,
  COMMANDS,
  type CommandName,
  isCommandName,
  OPTION_TABLE,
  type OptionName,
} from './options.ts';
import { UsageError } from './usage-error.ts';

export interface HttpCommand extends RelayAccess {
  readonly command: 'http';
  readonly tunnel: Omit<TunnelSpec, 'access'>;
  readonly wanted: AccessOptions;
}
export interface StartCommand extends RelayAccess {
  readonly command: 'start';
  readonly tunnels: readonly TunnelSpec[];
}
export interface ListCommand extends RelayAccess {
  readonly command: 'list';
}
export interface StatusCommand extends RelayAccess {
  readonly command: 'status';
}
export interface CloseCommand extends RelayAccess {
  readonly command: 'close';
  /** id or slug */
  readonly tunnel: string;
}
export interface ExtendCommand extends RelayAccess {
  readonly command: 'extend';
  /** id or slug */
  readonly tunnel: string;
  readonly ttl: string | undefined;
}
export interface AccessCommand extends RelayAccess {
  readonly command: 'access';
  /** id or slug */
  readonly tunnel: string;
  /** `undefined`: it is only shown */
  readonly wanted: AccessOptions | undefined;
}
export interface LinkCommand extends RelayAccess {
  readonly command: 'link';
  readonly action:
    { readonly name: 'make'; readonly tunnel: string; readonly link: LinkRequest } | RevokeLink;
}
interface RevokeLink {
  readonly name: 'revoke';
  readonly link: string;
}
export interface LinksCommand extends RelayAccess {
  readonly command: 'links';
  /** id or slug */
  readonly tunnel: string;
}
export interface KnockCommand extends RelayAccess {
  readonly command: 'knock';
  /** id or slug */
  readonly tunnel: string;
  readonly knock: string;
  readonly admit: boolean;
  /** for how long the visitor is let in, a duration string; `undefined` for the relay's default */
  readonly duration: string | undefined;
}
export interface LoginCommand {
  readonly command: 'login';
  /** the relay to sign in to */
  readonly relay: RelayAddress;
  /** where its address is from, for people */
  readonly relayFrom: string;
  /** whether an unencrypted relay is accepted */
  readonly insecure: boolean;
  /** given by `--key`; otherwise the user is asked for it */
  readonly key: string | undefined;
  readonly network: Network;
  readonly json: boolean;
}
export interface DoctorCommand extends FoundRelay {
  readonly command: 'doctor';
  /** the local port to check; `undefined` for none */
  readonly port: number | undefined;
  readonly network: Network;
  readonly json: boolean;
}
export interface LogoutCommand {
  readonly command: 'logout';
  readonly json: boolean;
}
export interface HelpCommand {
  readonly command: 'help';
  /** the command that is explained; `undefined` for all of them */
  readonly topic: CommandName | undefined;
}
export type Command =
  | HttpCommand
  | StartCommand
  | ListCommand
  | StatusCommand
  | CloseCommand
  | ExtendCommand
  | AccessCommand
  | LinkCommand
  | LinksCommand
  | KnockCommand
  | InspectCommand
  | DoctorCommand
  | LoginCommand
  | LogoutCommand
  | HelpCommand
  | { readonly command: 'version' };

/** Files that a command line may refer to; read only if it does. */
export interface Files {
  /** what `culvert login` has stored */
  readLogin(): Login | undefined;
  /** @param path as given by `--config` */
  readProject(path: string | undefined): Project;
}

type Values = ReturnType<typeof parse>['values'];

/**
 * @param args the words after `culvert`
 * @throws UsageError
 */
export function readArguments(args: readonly string[], env: Environment, files: Files): Command {
  const { values, positionals } = parse(args);
  const [word, ...operands] = positionals;
  if (word === 'help') return { command: 'help', topic: readTopic(operands[0]) };
  if (values.help === true) return { command: 'help', topic: readTopic(word) };
  if (values.version === true) return { command: 'version' };
  if (word === undefined) throw new UsageError(`Say what to do: ${COMMAND_NAMES.join(', ')}.`);
  if (!isCommandName(word)) throw unknownCommand(word);
  refuseForeign(values, word);
  return new CommandReader(word, operands, values, env, files).read();
}

class CommandReader {
  readonly #command: CommandName;
  readonly #operands: readonly string[];
  readonly #values: Values;
  readonly #env: Environment;
  readonly #files: Files;

  constructor(
    command: CommandName,
    operands: readonly string[],
    values: Values,
    env: Environment,
    files: Files,
  ) {
    this.#command = command;
    this.#operands = operands;
    this.#values = values;
    this.#env = env;
    this.#files = files;
  }

  read(): Command {
    const command = this.#command;
    switch (command) {
      case 'http':
        return this.#http();
      case 'start':
        return this.#start();
      case 'list':
      case 'status':
        this.#atMost(0);
        return { command, ...this.#access() };
      case 'close':
        return { command, tunnel: this.#tunnelName(), ...this.#access() };
      case 'extend':
        return { command, tunnel: this.#tunnelName(), ttl: this.#ttl(), ...this.#access() };
      case 'access':
        return { command, tunnel: this.#tunnelName(), wanted: this.#wanted(), ...this.#access() };
      case 'link':
        return { command, action: this.#linkAction(), ...this.#access() };
      case 'links':
        return { command, tunnel: this.#tunnelName(), ...this.#access() };
      case 'knock':
        return this.#knock();
      case 'inspect':
        return readInspect(this.#operands, this.#values);
      case 'doctor':
        return this.#doctor();
      case 'login':
        return this.#login();
      case 'logout':
        this.#atMost(0);
        return { command, json: this.#values.json ?? false };
    }
  }

  #http(): HttpCommand {
    const wanted = readAccessOptions(this.#values);
    const tunnel = { ...this.#tunnel(), madePassword: wanted.madePassword };
    return { command: 'http', tunnel, wanted, ...this.#access() };
  }

  #tunnel(): HttpCommand['tunnel'] {
    this.#atMost(1);
    const values = this.#values;
    return {
      ...SPEC_DEFAULTS,
      label: undefined,
      port: this.#port(),
      name: readOption('name', values.name, NAME_RULE),
      ttl: this.#ttl(),
      idle: values.idle ?? SPEC_DEFAULTS.idle,
      hostHeader:
        readOption('host-header', values['host-header'], HOST_HEADER_RULE) ?? SPEC_DEFAULTS.hostHeader,
      localHost: readOption('local-host', values['local-host'], LOCAL_HOST_RULE) ?? SPEC_DEFAULTS.localHost,
      localHttps: values['local-https'] ?? SPEC_DEFAULTS.localHttps,
      wait: readSeconds('wait', values.wait, WAIT_RULE) ?? SPEC_DEFAULTS.wait,
    };
  }

  #port(): number {
    const [port] = this.#operands;
    if (port === undefined) this.#checkPassword('PORT is missing');
    return readPort(port);
  }

  /** The word that is missing may have been taken for a password. */
  #checkPassword(what: string): void {
    if (typeof this.#values.password !== 'string') return;
    throw new UsageError(`${what}: --password takes the word after it, so put --password last.`);
  }

  #wanted(): AccessOptions | undefined {
    const { auth, password, allow, links, knock, open } = this.#values;
    const isGiven = [auth, password, allow, links, knock].some((value) => value !== undefined);
    if (isGiven && open === true)
      throw new UsageError('--open lets in everybody, so it takes no other of these options.');
    return isGiven || open === true ? readAccessOptions(this.#values) : undefined;
  }

  #linkAction(): LinkCommand['action'] {
    const { revoke, note, path } = this.#values;
    const ttl = this.#ttl();
    if (revoke === undefined) {
      const link = {
        ...(ttl === undefined ? {} : { ttl }),
        ...(note === undefined ? {} : { note: readOption('note', note, LINK_NOTE_RULE) }),
        ...(path === undefined ? {} : { path: readOption('path', path, LINK_PATH_RULE) }),
      };
      return { name: 'make', tunnel: this.#tunnelName(), link };
    }
    this.#atMost(0);
    if ([ttl, note, path].some((value) => value !== undefined))
      throw new UsageError('--revoke ends a link that is there, so it takes no --ttl, --note and --path.');
    if (!/^[0-9a-f]{16}$/.test(revoke))
      throw new UsageError(`--revoke "${revoke}": it takes the id of a link, as "culvert links" shows it.`);
    return { name: 'revoke', link: revoke };
  }

  #knock(): KnockCommand {
    this.#atMost(2);
    const [tunnel = '', knock = ''] = this.#operands;
    const { admit = false, refuse = false, for: duration } = this.#values;
    if (tunnel === '' || knock === '')
      throw new UsageError('Say which tunnel and which knock, as "culvert http --knock" shows them.');
    if (admit === refuse) throw new UsageError('Say what to do: --admit or --refuse.');
    if (refuse && duration !== undefined) throw new UsageError('--for is for --admit.');
    return {
      command: 'knock',
      tunnel,
      knock,
      admit,
      duration: duration === undefined ? undefined : readOption('for', duration, TTL_RULE),
      ...this.#access(),
    };
  }

  #start(): StartCommand {
    const { path, relay, tunnels: all } = this.#files.readProject(this.#values.config);
    const labels = all.map(({ label }) => label);
    for (const name of this.#operands) {
      if (labels.includes(name)) continue;
      const meant = nearest(name, labels);
      const hint = meant === undefined ? `there are ${labels.join(', ')}` : `did you mean ${meant}?`;
      throw new UsageError(`culvert.yml has no tunnel "${name}"; ${hint}`);
    }
    const isWanted = (label: string): boolean =>
      this.#operands.length === 0 || this.#operands.includes(label);
    const tunnels = all.filter(({ label }) => isWanted(label));
    if (this.#values['allow-other-hosts'] !== true) checkLocalHosts({ path, tunnels });
    return { command: 'start', tunnels, ...this.#access(relay && { path, relay }) };
  }

  #doctor(): DoctorCommand {
    this.#atMost(1);
    const [port] = this.#operands;
    const sources = this.#accessSources();
    const found = findRelay(sources);
    if (found.key !== undefined) checkProtected(found.relay, found.relayFrom, this.#values.insecure);
    return {
      command: 'doctor',
      port: port === undefined ? undefined : readPort(port),
      ...found,
      network: readNetwork(sources),
      json: this.#values.json ?? false,
    };
  }

  #login(): LoginCommand {
    this.#atMost(0);
    const { key, json, insecure = false } = this.#values;
    const { relay, relayFrom } = findRelay(this.#accessSources());
    return {
      command: 'login',
      relay,
      relayFrom,
      network: readNetwork(this.#accessSources()),
      key: key === undefined ? undefined : checkKey(key),
      insecure,
      json: json ?? false,
    };
  }

  #ttl(): string | undefined {
    return readOption('ttl', this.#values.ttl, TTL_RULE);
  }

  #tunnelName(): string {
    this.#atMost(1);
    const [name = ''] = this.#operands;
    if (name !== '') return name;
    this.#checkPassword('The tunnel is missing');
    throw new UsageError('Say which tunnel: its id or its slug, as "culvert list" shows them.');
  }

  #access(project?: ProjectRelay): RelayAccess {
    return readRelayAccess({ ...this.#accessSources(), project });
  }

  #accessSources() {
    return { options: this.#values, env: this.#env, readLogin: () => this.#files.readLogin() };
  }

  #atMost(count: number): void {
    const more = this.#operands.slice(count);
    if (more.length === 0) return;
    throw new UsageError(`"${more.join(' ')}" is more than "culvert ${this.#command}" takes.`);
  }
}

function parse(args: readonly string[]) {
  const { others, isBare } = takeBarePassword(args);
  try {
    const { values, positionals } = parseArgs({
      args: others,
      options: OPTION_TABLE,
      allowPositionals: true,
    });
    if (isBare && values.password !== undefined) throw new Error('--password is given twice');
    const bare: { password?: string | true } = isBare ? { password: true } : {};
    return { values: { ...values, ...bare }, positionals };
  } catch (error) {
    // The first sentence names the option; the rest explains the parser.
    const text = (error instanceof Error ? error.message : String(error)).split('. ', 1)[0] ?? '';
    const meant = nearest(/^Unknown option '--([^']*)'/.exec(text)?.[1] ?? '', Object.keys(OPTION_TABLE));
    throw new UsageError(meant === undefined ? `${text}.` : `${text}. Did you mean --${meant}?`);
  }
}

/** Node's parser has no options whose value may be missing, as that of `--password` may. */
function takeBarePassword(args: readonly string[]): { others: string[]; isBare: boolean } {
  const end = args.indexOf('--');
  const isBarePassword = (argument: string, index: number): boolean =>
    argument === '--password' && (end === -1 || index < end) && (args[index + 1]?.startsWith('-') ?? true);
  const others = args.filter((argument, index) => !isBarePassword(argument, index));
  return { others, isBare: others.length < args.length };
}

function readTopic(word: string | undefined): CommandName | undefined {
  if (word === undefined || isCommandName(word)) return word;
  throw unknownCommand(word);
}

function unknownCommand(word: string): UsageError {
  const meant = nearest(word, COMMAND_NAMES);
  const hint = meant === undefined ? `There are ${COMMAND_NAMES.join(', ')}.` : `Did you mean "${meant}"?`;
  return new UsageError(`There is no command "${word}". ${hint}`);
}

function refuseForeign(values: Values, command: CommandName): void {
  for (const option of Object.keys(values) as (keyof Values)[]) {
    if (option === 'help' || option === 'version' || COMMANDS[command].options.includes(option)) continue;
    throw new UsageError(`"culvert ${command}" takes no --${option}.`);
  }
}

function readOption(name: OptionName, text: string, rule: ValueRule): string;
function readOption(name: OptionName, text: string | undefined, rule: ValueRule): string | undefined;
function readOption(name: OptionName, text: string | undefined, rule: ValueRule): string | undefined {
  if (text === undefined || rule.accepts(text)) return text;
  throw new UsageError(`--${name} "${text}": it takes ${rule.accepted}.`);
}

function readSeconds(name: OptionName, text: string | undefined, rule: ValueRule): number | undefined {
  const seconds = text === undefined || /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  readOption(name, text, { ...rule, accepts: () => rule.accepts(seconds) });
  return text === undefined ? undefined : seconds;
}

function readPort(text: string | undefined): number {
  const port = parsePort(text ?? '');
  if (port !== undefined) return port;
  const given = text === undefined ? 'PORT is missing' : `PORT "${text}" is not a port`;
  throw new UsageError(`${given}: give the local port as ${PORT_RULE.accepted}.`);
}
