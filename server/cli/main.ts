/** Chooses the command of `culvert-relay`, loads it, and turns its failures into lines and an exit code. */
import { VERSION } from '../../shared/version.ts';
import { CommandError, configured, ExitCode, type Shell, usageError } from './command.ts';
import type { StartRelay } from './serve.ts';

/**
 * Runs one command.
 *
 * @param argv arguments after the program's name
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
    const { helpText } = await import('./help.ts');
    shell.out(helpText());
    return ExitCode.ok;
  }
  if (argv.includes('--version')) {
    shell.out(`culvert-relay ${VERSION}`);
    return ExitCode.ok;
  }
  if (argv[0] === 'account' || argv[0] === 'key') {
    const { ADMINISTRATION } = await import('./administering.ts');
    const administer = ADMINISTRATION.get(argv.slice(0, 2).join(' '));
    if (administer !== undefined) {
      await administer(shell, argv.slice(2));
      return ExitCode.ok;
    }
  }
  if (argv[0] === 'migrate') {
    const { migrateCommand } = await import('./migrate-command.ts');
    await migrateCommand(shell, argv.slice(1));
    return ExitCode.ok;
  }
  const { words, rest } = splitCommand(argv);
  if (words !== 'serve') throw usageError(`there is no command "${words}"; culvert-relay --help lists them`);
  shell.limitMemory();
  const { loadConfig, serve } = await import('./serving.ts');
  const { config } = configured(loadConfig(shell.env, rest));
  return await serve(shell, config, startRelay);
}

/** The words before the first flag are the command; without any it is `serve`. */
function splitCommand(argv: readonly string[]): { words: string; rest: readonly string[] } {
  const firstFlag = argv.findIndex((argument) => argument.startsWith('-'));
  const count = firstFlag === -1 ? argv.length : firstFlag;
  return { words: argv.slice(0, count).join(' ') || 'serve', rest: argv.slice(count) };
}
