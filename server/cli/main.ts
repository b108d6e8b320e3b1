/** Chooses the command of `culvert-relay` and turns its failures into lines and an exit code. */
import { loadConfig } from '../config.ts';
import { createAccountCommand, createKeyCommand } from './admin.ts';
import { CommandError, configured, ExitCode, type Shell, usageError } from './command.ts';
import { helpText } from './help.ts';
import { serve, type StartRelay } from './serve.ts';

/**
 * Runs one command.
 *
 * @param argv arguments behind the program's name
 * @returns the exit code
 */
export async function main(shell: Shell, argv: readonly string[], startRelay: StartRelay): Promise<number> {
  try {
    return await run(shell, argv, startRelay);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    for (const line of error.lines) shell.err(`culvert-relay: ${line}`);
    return error.exitCode;
  }
}

async function run(shell: Shell, argv: readonly string[], startRelay: StartRelay): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    shell.out(helpText());
    return ExitCode.ok;
  }
  const { command, rest } = splitCommand(argv);
  switch (command) {
    case 'serve':
      return serve(shell, configured(loadConfig(shell.env, rest)).config, startRelay);
    case 'account create':
      await createAccountCommand(shell, rest);
      return ExitCode.ok;
    case 'key create':
      await createKeyCommand(shell, rest);
      return ExitCode.ok;
    default:
      throw usageError(`there is no command "${command}"; culvert-relay --help lists them`);
  }
}

/** The words in front of the first flag are the command; without one it is `serve`. */
function splitCommand(argv: readonly string[]): { command: string; rest: readonly string[] } {
  const firstFlag = argv.findIndex((argument) => argument.startsWith('-'));
  const words = firstFlag === -1 ? argv.length : firstFlag;
  return { command: argv.slice(0, words).join(' ') || 'serve', rest: argv.slice(words) };
}
