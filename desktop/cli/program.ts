/**
 * `culvert`, the tunnel client without a window (culvert.md). `--help` documents the commands, the events of
 * `--json` and the exit codes. Standard output carries what was asked for, standard error what went wrong.
 */
import { fstatSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { isatty } from 'node:tty';
import { StandardOutput } from '../../shared/standard-output.ts';
import { onStopSignals } from '../../shared/stop-signals.ts';
import { escapeUnprintable } from '../../shared/unprintable.ts';
import { configFolder, StoredLogin } from '../client/config/stored-login.ts';
import { ExitCode } from '../client/failures.ts';
import { cannotPrint, type CommandContext, type Files } from './command-line/command.ts';
import { COMMANDS, translateCommand } from './commands/commands.ts';
import { showsUtf8, toAscii } from './output/format.ts';
import { main } from './main.ts';
import { terminalPrompt } from './output/prompt.ts';
import type { PrintedOutput } from './output/reporter.ts';

// Everybody on the machine may read the process list; a secret given by a flag is removed from it.
if (process.argv.some((argument) => /^--(?:key|auth|basic-auth|password)|\/invite\//.test(argument)))
  process.title = 'culvert';

/** ms for open sockets to close once the command is done. */
const EXIT_TIMEOUT_MS = 2000;

/** Escapes output, because much of it comes from relays and visitors. */
function printable(text: string, { isTTY }: { readonly isTTY?: boolean }): string {
  const shown = escapeUnprintable(text, '\n\t');
  return isTTY === true && !showsUtf8(process.env) ? toAscii(shown.replaceAll('…', '...')) : shown;
}

const files = { fstatSync, writeSync };
const stderr = new StandardOutput(process.stderr, files);
const stdout = new StandardOutput(process.stdout, files, (error) => {
  if (isServing) output.err(`culvert: ${cannotPrint(error)} The command continues.\n`);
});
/** Whether the command runs until it is ended. */
let isServing = false;

const output: PrintedOutput = {
  out: (text) => stdout.write(printable(text, process.stdout)),
  err: (text) => stderr.write(printable(text, process.stderr)),
  flush: () => stdout.flush(),
  get columns() {
    return process.stdout.isTTY ? process.stdout.columns : undefined;
  },
};

const stored = new StoredLogin(
  configFolder({ platform: process.platform, env: process.env, home: homedir() }),
  (text) => output.err(`culvert: ${text}\n`),
);

/** Determined at the start, because a terminal that was closed is no longer recognized as one. */
const hasTerminal = [0, 1, 2].some((fd) => isatty(fd));

/** Aborted by the first Ctrl-C; a second one exits immediately. */
function watchInterrupt(): AbortSignal {
  const controller = new AbortController();
  isServing = true;
  onStopSignals(process, hasTerminal, {
    stop() {
      if (controller.signal.aborted) process.exit(ExitCode.failed);
      controller.abort();
    },
    // Nobody sees the tunnel any longer. The kernel may report that twice.
    hangUp: () => controller.abort(),
  });
  return controller.signal;
}

const readLogin: Files['readLogin'] = () => stored.read();

/** Only these read a project's file. That takes a YAML parser, which the others need not load. */
const PROJECT_COMMANDS = new Set(['start', 'service']);

async function filesFor(args: readonly string[]): Promise<Files> {
  const end = args.indexOf('--');
  const own = end === -1 ? args : args.slice(0, end);
  if (!own.some((word) => PROJECT_COMMANDS.has(translateCommand(word))))
    return { readLogin, readProject: noProject };
  const { readProject } = await import('../client/config/project.ts');
  return {
    readLogin,
    readProject: (path, env) => readProject(path, process.cwd(), { env: env ?? process.env }),
  };
}

function noProject(): never {
  throw new Error('this command has no project');
}

const context: CommandContext = {
  output,
  stored,
  commands: COMMANDS,
  interruptible: watchInterrupt,
  hasTerminal,
  get prompt() {
    return terminalPrompt(process.stdin, process.stderr);
  },
};

async function run(args: readonly string[]): Promise<void> {
  process.exitCode = await main(args, process.env, await filesFor(args), context, () => isServing);
  setTimeout(() => process.exit(), EXIT_TIMEOUT_MS).unref();
  // Nothing is left to do. Without this, Node tears down its environment before it ends, and has been seen to hang there.
  process.once('beforeExit', () => process.exit());
}

void run(process.argv.slice(2));
