/** Runs a command line of `culvert`, and turns its failures into lines and an exit code. */
import { isReaderGone } from '../../shared/standard-output.ts';
import { ProjectFileError } from '../client/config/project-trust.ts';
import type { Environment } from '../client/config/relay-access.ts';
import { StoredLoginError } from '../client/config/stored-login.ts';
import { describeFailure, ExitCode, exitCodeOfFailure, UsageError } from '../client/failures.ts';
import { cannotPrint, type CommandContext, type Files } from './command-line/command.ts';
import { commandOf, readArguments } from './commands/commands.ts';

/**
 * @param args the words after `culvert`
 * @param isServing whether the command was one that runs until it is ended, which a failure to print does not end
 * @returns the exit code
 */
export async function main(
  args: readonly string[],
  env: Environment,
  files: Files,
  context: CommandContext,
  isServing: () => boolean,
): Promise<number> {
  const { output } = context;
  try {
    const code = await readArguments(args, env, files).run(context);
    const failure = await output.flush();
    if (failure === undefined || isReaderGone(failure) || isServing() || code !== ExitCode.ok) return code;
    output.err(`culvert: ${cannotPrint(failure)}\n`);
    return ExitCode.failed;
  } catch (error) {
    if (error instanceof UsageError) {
      const help = commandOf(args);
      const usage = help === undefined ? 'culvert --help' : `culvert help ${help}`;
      output.err(`culvert: ${error.message}\nRun "${usage}" for usage and examples.\n`);
      return error.exitCode;
    }
    if (error instanceof ProjectFileError || error instanceof StoredLoginError) {
      output.err(`culvert: ${error.message}\n`);
      return ExitCode.usage;
    }
    output.err(`culvert: ${describeFailure(error)}\n`);
    return exitCodeOfFailure(error);
  }
}
