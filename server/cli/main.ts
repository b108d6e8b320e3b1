/** Chooses the command of `culvert-relay`, loads it, and turns its failures into lines and an exit code. */
import { nearest } from '../../shared/help-text.ts';
import { VERSION } from '../../shared/version.ts';
import { CommandError, ExitCode, printed, type RelayCommand, type Shell, usageError } from './command.ts';
import type { StartRelay } from './serve.ts';
import { serveCommand } from './serve-command.ts';

/**
 * Runs one command.
 *
 * @param argv arguments after the program's name
 * @returns the exit code
 */
export async function main(shell: Shell, argv: readonly string[], startRelay: StartRelay): Promise<number> {
  const words = translateWords(argv);
  try {
    return await run(shell, words, startRelay);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    for (const line of error.lines) shell.err(`culvert-relay: ${line}`);
    const command = error.exitCode === ExitCode.usage ? (await findCommand(words))?.words : undefined;
    if (command !== undefined) shell.err(`Run "culvert-relay help ${command}" for usage and examples.`);
    return error.exitCode;
  }
}

async function run(shell: Shell, argv: readonly string[], startRelay: StartRelay): Promise<number> {
  const { words, rest } = splitCommand(argv);
  if (words.length === 0 || words.join(' ') === 'serve') {
    const isShort = argv.some((each) => ['--help', '-h', '--version'].includes(each));
    if (!isShort) return await serveCommand(shell, rest, startRelay);
  }
  return await printed(shell, await runOneShot(shell, argv, words));
}

async function runOneShot(shell: Shell, argv: readonly string[], words: readonly string[]): Promise<number> {
  if (words[0] === 'help') return await showHelp(shell, words.slice(1));
  if (argv.includes('--help') || argv.includes('-h')) return await showHelp(shell, words);
  if (argv.includes('--version')) {
    shell.out(`culvert-relay ${VERSION}`);
    return ExitCode.ok;
  }
  const command = await findCommand(argv);
  if (command === undefined) throw await unknownCommand(words);
  return (await command.run(shell, argv.slice(command.words.split(' ').length))) ?? ExitCode.ok;
}

/** The words before the first option are the command; without any it is `serve`. */
function splitCommand(argv: readonly string[]): { words: readonly string[]; rest: readonly string[] } {
  const first = argv.findIndex((argument) => argument.startsWith('-'));
  const count = first === -1 ? argv.length : first;
  return { words: argv.slice(0, count), rest: argv.slice(count) };
}

async function findCommand(words: readonly string[]): Promise<RelayCommand | undefined> {
  const { COMMANDS } = await import('./commands.ts');
  return COMMANDS.find((each) => `${words.slice(0, 2).join(' ')} `.startsWith(`${each.words} `));
}

/** @throws CommandError for words that are no command */
async function showHelp(shell: Shell, given: readonly string[]): Promise<number> {
  const { ALL_USAGES, COMMANDS, commandHelp, groupHelp, overview } = await import('./commands.ts');
  const words = translateWords(given);
  const [first = ''] = words;
  const command = (await findCommand(words)) ?? ALL_USAGES.find((each) => each.words === words.join(' '));
  const group = COMMANDS.filter((each) => each.words.startsWith(`${first} `));
  if (words.length === 0 || first.startsWith('-')) shell.out(overview().trimEnd());
  else if (command !== undefined) shell.out(commandHelp(command).trimEnd());
  else if (words.length === 1 && group.length > 0) shell.out(groupHelp(group).trimEnd());
  else throw await unknownCommand(words);
  return ExitCode.ok;
}

async function unknownCommand(words: readonly string[]): Promise<CommandError> {
  const { COMMANDS } = await import('./commands.ts');
  const [first = '', second] = words;
  if (first === 'serve') return usageError(`unexpected argument "${words.slice(1).join(' ')}"`);
  const inGroup = COMMANDS.filter((each) => each.words.startsWith(`${first} `)).map(
    (each) => each.words.split(' ')[1] ?? '',
  );
  if (inGroup.length > 0) {
    const known = `${inGroup.slice(0, -1).join(', ')}${inGroup.length > 1 ? ' or ' : ''}${inGroup.at(-1)}`;
    const what =
      second === undefined ? `incomplete command "${first}"` : `unknown command "${first} ${second}"`;
    return usageError(`${what}: use ${known}`);
  }
  if (CLIENT_COMMANDS.has(first))
    return usageError(
      `unknown command "${words.join(' ')}": it is a command of the client: "culvert ${words.join(' ')}"`,
    );
  const names = new Set(['serve', 'help', ...COMMANDS.map((each) => each.words.split(' ')[0] ?? '')]);
  const meant = nearest(first, [...names]);
  const hint = meant === undefined ? 'run "culvert-relay --help" for a list' : `did you mean "${meant}"?`;
  return usageError(`unknown command "${words.join(' ')}": ${hint}`);
}

/* Aliases that people type out of habit: accepted if they mean the same, otherwise answered with the right command. */

const SAME: ReadonlyMap<string, readonly string[]> = new Map([
  ['version', ['--version']],
  ['start', ['serve']],
  ['accounts', ['account', 'list']],
  ['keys', ['key', 'list']],
  ['account ls', ['account', 'list']],
  ['account rm', ['account', 'remove']],
  ['account add', ['account', 'create']],
  ['key ls', ['key', 'list']],
  ['key rm', ['key', 'revoke']],
  ['key add', ['key', 'create']],
]);

const CLIENT_COMMANDS = new Set([
  'http',
  'share',
  'login',
  'logout',
  'inspect',
  'list',
  'status',
  'access',
  'link',
]);

/** Replaces aliases at the beginning with our words, if they mean the same. */
export function translateWords(argv: readonly string[]): readonly string[] {
  for (const count of [2, 1]) {
    const ours = SAME.get(argv.slice(0, count).join(' '));
    if (ours !== undefined && argv.length >= count) return [...ours, ...argv.slice(count)];
  }
  return argv;
}
