/** Every command of `culvert`, and the command line that names one. */
import { nearest } from '../../../shared/help-text.ts';
import { VERSION } from '../../../shared/version.ts';
import type { Environment } from '../../client/config/relay-access.ts';
import { ExitCode, UsageError } from '../../client/failures.ts';
import { type Files, type Group, optionsOf, type Prepared, type Usage } from '../command-line/command.ts';
import { commandHelp, commandsOf, groupHelp, isGroup, overview, wordsOf } from '../command-line/help.ts';
import { isTarget, optionHint, parse, PORT_HINT, type Values } from '../command-line/parse.ts';
import { inspectCommands } from './inspect.ts';
import { accessCommand } from './access.ts';
import { closeCommand } from './close.ts';
import { completionCommand } from './completion.ts';
import { doctorCommand } from './doctor.ts';
import { domainCommands } from './domain.ts';
import { extendCommand } from './extend.ts';
import { httpCommand } from './http.ts';
import { knockCommand } from './knock.ts';
import { linkCommand, linksCommand } from './link.ts';
import { listCommand } from './list.ts';
import { loginCommand } from './login.ts';
import { logoutCommand } from './logout.ts';
import { manCommand } from './man.ts';
import { mcpCommand } from './mcp.ts';
import { awayCommand, nameCommands } from './name.ts';
import { runCommand } from './run.ts';
import { serviceCommands } from './service.ts';
import { shareCommand } from './share.ts';
import { startCommand } from './start.ts';
import { statusCommand } from './status.ts';
import { tcpCommand } from './tcp.ts';
import { teamCommands } from './team.ts';
import { tlsCommand } from './tls.ts';
import { uiCommand } from './ui.ts';
import { updateCommand } from './update.ts';

/** In the order of the help. */
export const COMMANDS = [
  httpCommand,
  runCommand,
  shareCommand,
  tcpCommand,
  tlsCommand,
  startCommand,
  serviceCommands,
  uiCommand,
  listCommand,
  closeCommand,
  extendCommand,
  accessCommand,
  linkCommand,
  linksCommand,
  knockCommand,
  domainCommands,
  nameCommands,
  awayCommand,
  teamCommands,
  statusCommand,
  inspectCommands,
  doctorCommand,
  mcpCommand,
  loginCommand,
  completionCommand,
  manCommand,
  logoutCommand,
  updateCommand,
] as const;

type Row = (typeof COMMANDS)[number];
type Command = Exclude<Row, Group> | Extract<Row, Group>['commands'][number];
const NAMES = COMMANDS.map(({ name }) => name);

/** A command line as read: of a command, or of `--help` or `--version`. */
export type PreparedCommand =
  | ReturnType<Command['prepare']>
  | Prepared<'help', { readonly topic: string | undefined }>
  | Prepared<'version', undefined>;

/**
 * @param args the words after `culvert`
 * @throws UsageError
 */
export function readArguments(args: readonly string[], env: Environment, files: Files): PreparedCommand {
  const { values, positionals } = parse(args);
  const [first] = positionals;
  const words = first !== undefined && isTarget(first) ? ['http', ...positionals] : positionals;
  const word = words[0] && translateCommand(words[0]);
  if (word === 'help') return prepareHelp(words.slice(1));
  if (values.help === true) return prepareHelp(words);
  if (values.version === true || word === 'version') return VERSION_COMMAND;
  if (word === undefined) throw new UsageError(`Specify a command: ${NAMES.join(', ')}.`);
  const row = findRow(word);
  const command = 'commands' in row ? findInGroup(row, words[1]) : row;
  refuseForeign(values, command);
  return command.prepare(words.slice(command.name.split(' ').length), values, env, files);
}

const VERSION_COMMAND: Prepared<'version', undefined> = {
  name: 'version',
  given: undefined,
  run: async ({ output }) => {
    output.out(`culvert ${VERSION}\n`);
    return ExitCode.ok;
  },
};

function prepareHelp([word, second]: readonly string[]): PreparedCommand {
  const row = word === undefined ? undefined : findRow(translateCommand(word));
  const topic: Usage | Group | undefined =
    row !== undefined && 'commands' in row && second !== undefined ? findInGroup(row, second) : row;
  return {
    name: 'help',
    given: { topic: topic?.name },
    run: async ({ output }) => {
      if (topic === undefined) output.out(overview(COMMANDS));
      else output.out(isGroup(topic) ? groupHelp(topic) : commandHelp(topic));
      return ExitCode.ok;
    },
  };
}

/** @throws UsageError */
function findRow(word: string): Row {
  const row = COMMANDS.find(({ name }) => name === word);
  if (row !== undefined) return row;
  const meant = nearest(word, NAMES);
  const hint =
    commandHint(word) ??
    (meant === undefined ? `Use one of ${NAMES.join(', ')}.` : `Did you mean "${meant}"?`);
  throw new UsageError(`Unknown command "${word}". ${hint}`);
}

function fallbackOf({ fallback }: Group): string | undefined {
  return fallback;
}

/** @throws UsageError */
function findInGroup(group: Extract<Row, Group>, word = fallbackOf(group)): Command {
  const commands: readonly Command[] = group.commands;
  const command = commands.find(({ name }) => name === `${group.name} ${word}`);
  if (command !== undefined) return command;

  const words = wordsOf(group);
  const use = `Use ${words.slice(0, -1).join(', ')} or ${words.at(-1)}.`;
  throw new UsageError(word === undefined ? use : `Unknown command "${group.name} ${word}". ${use}`);
}

function refuseForeign(values: Values, command: Usage): void {
  const known = optionsOf(command);
  for (const option of Object.keys(values) as (keyof Values)[]) {
    if (option === 'help' || option === 'version' || known.includes(option)) continue;
    const hint = option === 'port' ? PORT_HINT : (optionHint(option) ?? '');
    throw new UsageError(`"culvert ${command.name}" has no option --${option}. ${hint}`.trimEnd());
  }
}

/** The command whose help explains a wrong command line; `undefined` if no word of it names one. */
export function commandOf(args: readonly string[]): string | undefined {
  const end = args.indexOf('--');
  const words = (end === -1 ? args : args.slice(0, end)).map((word) =>
    isTarget(word) ? 'http' : translateCommand(word),
  );
  const at = words.findIndex((word) => (NAMES as readonly string[]).includes(word));
  const row = COMMANDS.find(({ name }) => name === words[at]);
  if (row === undefined || !isGroup(row)) return row?.name;
  const name = `${row.name} ${words[at + 1]}`;
  return commandsOf(row).some((command) => command.name === name) ? name : row.name;
}

/*
 * Commands of other programs for tunnels (ngrok, localtunnel, cloudflared): accepted if they mean the same, otherwise answered
 * with ours.
 */

/** Commands that mean the same. */
const SAME_COMMANDS: Readonly<Record<string, Row['name'] | 'version'>> = {
  ls: 'list',
  rm: 'close',
  stop: 'close',
  up: 'start',
  version: 'version',
};

const COMMAND_HINTS: Readonly<Record<string, string>> = {
  udp: 'Tunnels support HTTP, TLS and TCP: run "culvert http PORT" or "culvert tcp PORT".',
  tunnel: 'To open a tunnel, run "culvert http PORT".',
  funnel: 'To open a tunnel, run "culvert http PORT".',
  config:
    'To store a key, run "culvert login". The tunnels of a project are in culvert.yml: see "culvert help start".',
  authtoken: 'To store a key, run "culvert login".',
  whoami: 'To see your account, run "culvert status".',
  replay: 'To repeat a request, run "culvert inspect replay N".',
  update: 'Update Culvert the way you installed it.',
  serve: 'To share a folder, run "culvert share FOLDER". To run a relay, run "culvert-relay serve".',
  logs: 'To see requests, run "culvert inspect".',
};

/** @returns our name for a command of other programs; otherwise the word itself */
export function translateCommand(word: string): string {
  return Object.hasOwn(SAME_COMMANDS, word) ? (SAME_COMMANDS[word] ?? word) : word;
}

/** What to use instead of a command that does not exist here; `undefined` if there is no hint. */
function commandHint(word: string): string | undefined {
  return Object.hasOwn(COMMAND_HINTS, word) ? COMMAND_HINTS[word] : undefined;
}
