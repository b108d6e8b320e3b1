/** Chooses the command of `culvert-relay`, loads it, and turns its failures into lines and an exit code. */
import { VERSION } from '../../shared/version.ts';
import { CommandError, ExitCode, type Shell, usageError } from './command.ts';
import type { StartRelay } from './serve.ts';
import { serveCommand } from './serve-command.ts';

/**
 * Runs one command.
 *
 * @param argv arguments after the program's name
 * @returns the exit code
 */
export async function main(shell: Shell, argv: readonly string[], startRelay: StartRelay): Promise<number> {
  try {
    return await run(shell, translateWords(argv), startRelay);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    for (const line of error.lines) shell.err(`culvert-relay: ${line}`);
    return error.exitCode;
  }
}

async function run(shell: Shell, argv: readonly string[], startRelay: StartRelay): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    const { helpText } = await import('./commands.ts');
    shell.out(helpText());
    return ExitCode.ok;
  }
  if (argv.includes('--version')) {
    shell.out(`culvert-relay ${VERSION}`);
    return ExitCode.ok;
  }
  const { words, rest } = splitCommand(argv);
  if (words === 'serve') return await serveCommand(shell, rest, startRelay);
  const { COMMANDS } = await import('./commands.ts');
  for (const count of [1, 2]) {
    const wanted = argv.slice(0, count).join(' ');
    const command = COMMANDS.find((each) => each.words === wanted);
    if (command !== undefined) return (await command.run(shell, argv.slice(count))) ?? ExitCode.ok;
  }
  throw usageError(`there is no command "${words}"; ${commandHint(words)}`);
}

/** The words before the first flag are the command; without any it is `serve`. */
function splitCommand(argv: readonly string[]): { words: string; rest: readonly string[] } {
  const firstFlag = argv.findIndex((argument) => argument.startsWith('-'));
  const count = firstFlag === -1 ? argv.length : firstFlag;
  return { words: argv.slice(0, count).join(' ') || 'serve', rest: argv.slice(count) };
}

/* Aliases that people type out of habit: accepted if they mean the same, otherwise answered with the right command. */

const SAME: ReadonlyMap<string, readonly string[]> = new Map([
  ['version', ['--version']],
  ['help', ['--help']],
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

const CLIENT_COMMANDS = new Set(['http', 'login', 'logout', 'inspect', 'list', 'status']);

/** Replaces aliases at the beginning with our words, if they mean the same. */
export function translateWords(argv: readonly string[]): readonly string[] {
  for (const count of [2, 1]) {
    const ours = SAME.get(argv.slice(0, count).join(' '));
    if (ours !== undefined && argv.length >= count) return [...ours, ...argv.slice(count)];
  }
  return argv;
}

/** What to do about a command that does not exist here. */
function commandHint(words: string): string {
  const [first = ''] = words.split(' ');
  return CLIENT_COMMANDS.has(first)
    ? `that is a command of the client: "culvert ${words}"`
    : 'culvert-relay --help lists them';
}
