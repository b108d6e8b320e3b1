/** Every command of `culvert`, and the command line that names one. */
import { nearest } from '../../../shared/help-text.ts';
import { VERSION } from '../../../shared/version.ts';
import type { Environment } from '../../client/config/relay-access.ts';
import { ExitCode, UsageError } from '../../client/failures.ts';
import { domainCommand, statusCommand, teamCommand } from './domain.ts';
import { loginCommand, logoutCommand } from './login.ts';
import { CommandLine, type Files, optionsOf, type Prepared, type Usage } from '../command-line/command.ts';
import { doctorCommand } from './doctor.ts';
import { commandHelp, completionCommand, manCommand, overview } from '../command-line/help.ts';
import { inspectCommand } from '../inspect-command.ts';
import {
  accessCommand,
  closeCommand,
  extendCommand,
  knockCommand,
  linkCommand,
  linksCommand,
  listCommand,
} from './access.ts';
import { isTarget, optionHint, parse, PORT_HINT, type Values } from '../command-line/parse.ts';
import { mcpCommand, runCommand, serviceCommand, uiCommand } from '../long-running-commands.ts';
import { httpCommand, shareCommand, startCommand } from './http.ts';

/** In the order of the help. */
export const COMMANDS = [
  httpCommand,
  runCommand,
  shareCommand,
  startCommand,
  serviceCommand,
  uiCommand,
  listCommand,
  closeCommand,
  extendCommand,
  accessCommand,
  linkCommand,
  linksCommand,
  knockCommand,
  domainCommand,
  teamCommand,
  statusCommand,
  inspectCommand,
  doctorCommand,
  mcpCommand,
  loginCommand,
  completionCommand,
  manCommand,
  logoutCommand,
] as const;

type Command = (typeof COMMANDS)[number];
const NAMES = COMMANDS.map(({ name }) => name);

/** A command line as read: of a command, or of `--help` or `--version`. */
export type PreparedCommand =
  | ReturnType<Command['prepare']>
  | Prepared<'help', { readonly topic: Command['name'] | undefined }>
  | Prepared<'version', undefined>;

/**
 * @param args the words after `culvert`
 * @throws UsageError
 */
export function readArguments(args: readonly string[], env: Environment, files: Files): PreparedCommand {
  const { values, positionals } = parse(args);
  const [first, ...rest] = positionals;
  const isPort = first !== undefined && isTarget(first);
  const word = isPort ? 'http' : first && translateCommand(first);
  const operands = isPort ? positionals : rest;
  if (word === 'help') return prepareHelp(operands[0]);
  if (values.help === true) return prepareHelp(word);
  if (values.version === true || word === 'version') return VERSION_COMMAND;
  if (word === undefined) throw new UsageError(`Specify a command: ${NAMES.join(', ')}.`);
  const command = findCommand(word);
  refuseForeign(values, command);
  return command.prepare(new CommandLine(command.name, operands, values, env, files));
}

const VERSION_COMMAND: Prepared<'version', undefined> = {
  name: 'version',
  given: undefined,
  run: async ({ output }) => {
    output.out(`culvert ${VERSION}\n`);
    return ExitCode.ok;
  },
};

function prepareHelp(word: string | undefined): PreparedCommand {
  const topic = word === undefined ? undefined : findCommand(translateCommand(word));
  return {
    name: 'help',
    given: { topic: topic?.name },
    run: async ({ output }) => {
      output.out(topic === undefined ? overview(COMMANDS) : commandHelp(topic));
      return ExitCode.ok;
    },
  };
}

/** @throws UsageError */
function findCommand(word: string): Command {
  const command = COMMANDS.find(({ name }) => name === word);
  if (command !== undefined) return command;
  const meant = nearest(word, NAMES);
  const hint =
    commandHint(word) ??
    (meant === undefined ? `Use one of ${NAMES.join(', ')}.` : `Did you mean "${meant}"?`);
  throw new UsageError(`Unknown command "${word}". ${hint}`);
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
  return words.find((word) => (NAMES as readonly string[]).includes(word));
}

/*
 * Commands of other programs for tunnels (ngrok, localtunnel, cloudflared): accepted if they mean the same, otherwise answered
 * with ours.
 */

/** Commands that mean the same. */
const SAME_COMMANDS: Readonly<Record<string, Command['name'] | 'version'>> = {
  ls: 'list',
  rm: 'close',
  stop: 'close',
  up: 'start',
  version: 'version',
};

const ONLY_HTTP = 'Tunnels support only HTTP and WebSockets: run "culvert http PORT".';

const COMMAND_HINTS: Readonly<Record<string, string>> = {
  tcp: ONLY_HTTP,
  udp: ONLY_HTTP,
  tls: 'For a local service that uses HTTPS, run "culvert http https://localhost:8443".',
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
