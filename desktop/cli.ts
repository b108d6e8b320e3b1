#!/usr/bin/env node
/**
 * `culvert`, the tunnel client without a window (contract.md, Programs). `--help` documents the commands, the events
 * of `--json` and the exit codes. Standard output carries what was asked for, standard error what went wrong.
 */
import { readArguments, type Command, UsageError } from './cli/arguments.ts';
import { ExitCode, exitCodeOfFailure } from './cli/exit-code.ts';
import { HELP } from './cli/help.ts';
import { describeFailure, runHttp } from './cli/http-command.ts';
import { runClose, runExtend, runList } from './cli/manage-commands.ts';
import { JsonReporter, type Output, TextReporter } from './cli/reporter.ts';
import { systemClock } from './engine/clock.ts';
import { VERSION } from '../shared/version.ts';

/** ms for open sockets to close once the command is done. */
const EXIT_TIMEOUT_MS = 2000;

const output: Output = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

/** Aborted by the first Ctrl-C; a second one ends the program at once. */
function watchInterrupt(): AbortSignal {
  const controller = new AbortController();
  const interrupt = (): void => {
    if (controller.signal.aborted) process.exit(ExitCode.failed);
    controller.abort();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  // Whoever read the events is gone: the tunnel must not outlive it unseen.
  process.stdout.on('error', () => controller.abort());
  return controller.signal;
}

async function run(command: Command): Promise<ExitCode> {
  switch (command.command) {
    case 'help':
      output.out(HELP);
      return ExitCode.ok;
    case 'version':
      output.out(`culvert ${VERSION}\n`);
      return ExitCode.ok;
    case 'http': {
      const reporter = command.json ? new JsonReporter(output) : new TextReporter(output, systemClock);
      return runHttp(command, reporter, output, watchInterrupt());
    }
    case 'list':
      await runList(command, output);
      return ExitCode.ok;
    case 'close':
      await runClose(command, output);
      return ExitCode.ok;
    case 'extend':
      await runExtend(command, output);
      return ExitCode.ok;
  }
}

async function main(): Promise<ExitCode> {
  try {
    return await run(readArguments(process.argv.slice(2), process.env));
  } catch (error) {
    if (error instanceof UsageError) {
      output.err(`culvert: ${error.message}\nRun "culvert --help" for the usage.\n`);
      return error.exitCode;
    }
    output.err(`culvert: ${describeFailure(error)}\n`);
    return exitCodeOfFailure(error);
  }
}

process.exitCode = await main();
setTimeout(() => process.exit(), EXIT_TIMEOUT_MS).unref();
