/** Reads the command line of `culvert`, and says what is wrong with it before a relay is asked. */
import { nearest } from '../../../shared/nearest.ts';
import { COMMAND_NAMES, COMMANDS, type CommandName, isCommandName, type Shell, SHELLS } from '../options.ts';
import {
  checkKey,
  checkProtected,
  type Environment,
  findRelay,
  readNetwork,
  readSettings,
} from '../relay-access.ts';
import { UsageError } from '../usage-error.ts';
import { CommandLine } from './command-line.ts';
import type { Command, DoctorCommand, Files, LoginCommand } from './commands.ts';
import { commandHint, translateCommand } from './foreign-words.ts';
import { readInspect } from './inspect-arguments.ts';
import { readLoginAddress } from './login-address.ts';
import { parse, type Values } from './parse.ts';
import { isTarget, parseTarget } from './target.ts';
import { readHttp, readShare, readStart } from './tunnel-arguments.ts';
import { readDomainAction, readKnock, readLinkAction, readWanted } from './visitor-arguments.ts';

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
