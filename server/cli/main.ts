/** Chooses the command of `culvert-relay` and turns its failures into lines and an exit code. */
import { VERSION } from '../../shared/version.ts';
import { loadConfig } from '../config.ts';
import {
  createAccountCommand,
  listAccountsCommand,
  removeAccountCommand,
  setPlanCommand,
} from './account-commands.ts';
import { CommandError, configured, ExitCode, type Shell, usageError } from './command.ts';
import { helpText } from './help.ts';
import { createKeyCommand, listKeysCommand, revokeKeyCommand } from './key-commands.ts';
import { migrateCommand } from './migrate-command.ts';
import { serve, type StartRelay } from './serve.ts';

const ADMINISTRATION = new Map<string, (shell: Shell, argv: readonly string[]) => Promise<void>>([
  ['account create', createAccountCommand],
  ['account list', listAccountsCommand],
  ['account set-plan', setPlanCommand],
  ['account remove', removeAccountCommand],
  ['key create', createKeyCommand],
  ['key list', listKeysCommand],
  ['key revoke', revokeKeyCommand],
]);

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
  if (argv.includes('--version')) {
    shell.out(`culvert-relay ${VERSION}`);
    return ExitCode.ok;
  }
  const administer = ADMINISTRATION.get(argv.slice(0, 2).join(' '));
  if (administer !== undefined) {
    await administer(shell, argv.slice(2));
    return ExitCode.ok;
  }
  if (argv[0] === 'migrate') {
    await migrateCommand(shell, argv.slice(1));
    return ExitCode.ok;
  }
  const { words, rest } = splitCommand(argv);
  if (words !== 'serve') throw usageError(`there is no command "${words}"; culvert-relay --help lists them`);
  return serve(shell, configured(loadConfig(shell.env, rest)).config, startRelay);
}

/** The words in front of the first flag are the command; without one it is `serve`. */
function splitCommand(argv: readonly string[]): { words: string; rest: readonly string[] } {
  const firstFlag = argv.findIndex((argument) => argument.startsWith('-'));
  const count = firstFlag === -1 ? argv.length : firstFlag;
  return { words: argv.slice(0, count).join(' ') || 'serve', rest: argv.slice(count) };
}
