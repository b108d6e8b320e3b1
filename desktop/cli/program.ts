/**
 * `culvert`, the tunnel client without a window (docs/command.md). `--help` documents the commands, the events of `--json`
 * and the exit codes. Standard output carries what was asked for, standard error what went wrong.
 */
import { homedir } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { limitOldGeneration, limitYoungGeneration } from '../../shared/heap.ts';
import { escapeUnprintable } from '../../shared/unprintable.ts';
import { VERSION } from '../../shared/version.ts';
import { configFolder, StoredLogin, StoredLoginError } from '../client/config/stored-login.ts';
import type { TunnelSpec } from '../client/config/tunnel-spec.ts';
import { describeFailure, ExitCode, exitCodeOfFailure, UsageError } from '../client/failures.ts';
import { OLD_GENERATION_GROWTH_PERCENT } from '../client/limits.ts';
import { readArguments } from './arguments.ts';
import type { Command, Files, HttpCommand, StartCommand } from './commands.ts';
import { helpText } from './help.ts';
import { translateCommand } from './parse.ts';
import type { Output } from './reporter.ts';
import type { ServedFolders } from './serve-folders.ts';
import { ProjectFileError } from '../client/config/project-trust.ts';

// Everybody on the machine may read the process list; a secret given by a flag is removed from it.
if (process.argv.some((argument) => /^--(?:key|auth|basic-auth|password)/.test(argument)))
  process.title = 'culvert';

/** ms for open sockets to close once the command is done. */
const EXIT_TIMEOUT_MS = 2000;

/** Much of what is printed comes from relays and visitors. */
const printable = (text: string): string => escapeUnprintable(text, '\n\t');

const output: Output = {
  out: (text) => void process.stdout.write(printable(text)),
  err: (text) => void process.stderr.write(printable(text)),
};

const stored = new StoredLogin(
  configFolder({ platform: process.platform, env: process.env, home: homedir() }),
  (text) => output.err(`culvert: ${text}\n`),
);

/** Aborted by the first Ctrl-C; a second one ends the program at once. */
function watchInterrupt(): AbortSignal {
  const controller = new AbortController();
  const interrupt = (): void => {
    if (controller.signal.aborted) process.exit(ExitCode.failed);
    controller.abort();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  // The terminal's window was closed: nobody sees the tunnel any more. The kernel may report that twice.
  process.on('SIGHUP', () => controller.abort());
  // Whoever read the events is gone: the tunnel must not continue unseen.
  process.stdout.on('error', () => controller.abort());
  process.stderr.on('error', () => controller.abort());
  return controller.signal;
}

async function serve(command: HttpCommand | StartCommand): Promise<ExitCode> {
  limitYoungGeneration(process, setFlagsFromString);
  limitOldGeneration(OLD_GENERATION_GROWTH_PERCENT, process.execArgv, setFlagsFromString);
  const { completeTunnels, Inspection, runTunnels, terminalPrompt } = await import('./long-running.ts');
  const prompt = terminalPrompt(process.stdin, process.stderr);
  const wanted = await completeTunnels(command, prompt, output);
  const served = await servedFolders(
    wanted.tunnels,
    command.command === 'start' ? command.project : undefined,
  );
  try {
    const interrupted = watchInterrupt();
    const inspection = await Inspection.start(process.env, output);
    return await runTunnels({ ...wanted, tunnels: served.tunnels }, prompt, {
      output,
      interrupted,
      inspection,
    });
  } finally {
    await served.close();
  }
}

/** A server of files needs a list of all media types, which no other tunnel needs. */
async function servedFolders(
  tunnels: readonly TunnelSpec[],
  project: string | undefined,
): Promise<ServedFolders> {
  if (tunnels.every(({ folder }) => folder === undefined)) return { tunnels, close: () => Promise.resolve() };
  const { serveFolders } = await import('./serve-folders.ts');
  return serveFolders(tunnels, project);
}

/** Each command loads what it needs, and little that others do. */
async function run(command: Command): Promise<ExitCode> {
  switch (command.command) {
    case 'help':
      output.out(helpText(command.topic));
      return ExitCode.ok;
    case 'version':
      output.out(`culvert ${VERSION}\n`);
      return ExitCode.ok;
    case 'completion': {
      const { completionScript } = await import('./completion.ts');
      output.out(completionScript(command.shell));
      return ExitCode.ok;
    }
    case 'man': {
      const { manualPage } = await import('./man.ts');
      output.out(manualPage(new Date()));
      return ExitCode.ok;
    }
    case 'http':
    case 'start':
      return serve(command);
    case 'list': {
      const { runList } = await import('./one-shot.ts');
      await runList(command, output);
      return ExitCode.ok;
    }
    case 'close': {
      const { runClose } = await import('./one-shot.ts');
      await runClose(command, output);
      return ExitCode.ok;
    }
    case 'extend': {
      const { runExtend } = await import('./one-shot.ts');
      await runExtend(command, output);
      return ExitCode.ok;
    }
    case 'access': {
      const { runAccess, terminalPrompt } = await import('./one-shot.ts');
      await runAccess(command, terminalPrompt(process.stdin, process.stderr), output);
      return ExitCode.ok;
    }
    case 'link': {
      const { runLink } = await import('./one-shot.ts');
      await runLink(command, output);
      return ExitCode.ok;
    }
    case 'links': {
      const { runLinks } = await import('./one-shot.ts');
      await runLinks(command, output);
      return ExitCode.ok;
    }
    case 'knock': {
      const { runKnock } = await import('./one-shot.ts');
      await runKnock(command, output);
      return ExitCode.ok;
    }
    case 'domain': {
      const { runDomain } = await import('./one-shot.ts');
      return await runDomain(command, output);
    }
    case 'status': {
      const { runStatus } = await import('./one-shot.ts');
      await runStatus(command, output, Date.now());
      return ExitCode.ok;
    }
    case 'inspect': {
      const { runInspect, runtimeFolder } = await import('./long-running.ts');
      await runInspect(command, runtimeFolder(process.env), output, watchInterrupt());
      return ExitCode.ok;
    }
    case 'doctor': {
      const { runDoctor } = await import('./long-running.ts');
      return runDoctor(command, output, watchInterrupt());
    }
    case 'login': {
      const { runLogin, terminalPrompt } = await import('./one-shot.ts');
      await runLogin(command, stored, terminalPrompt(process.stdin, process.stderr), output);
      return ExitCode.ok;
    }
    case 'logout': {
      const { runLogout } = await import('./one-shot.ts');
      await runLogout(command, stored, output);
      return ExitCode.ok;
    }
  }
}

const readLogin = () => stored.read();

/** Only `start` reads a project's file. That takes a YAML parser, which the others need not load. */
async function filesFor(args: readonly string[]): Promise<Files> {
  if (!args.some((word) => translateCommand(word) === 'start')) return { readLogin, readProject: noProject };
  const { readProject } = await import('../client/config/project-file.ts');
  return { readLogin, readProject: (path) => readProject(path, process.cwd()) };
}

function noProject(): never {
  throw new Error('only start has a project');
}

async function main(): Promise<ExitCode> {
  try {
    const args = process.argv.slice(2);
    return await run(readArguments(args, process.env, await filesFor(args)));
  } catch (error) {
    if (error instanceof UsageError) {
      output.err(`culvert: ${error.message}\nRun "culvert --help" for the usage.\n`);
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

process.exitCode = await main();
setTimeout(() => process.exit(), EXIT_TIMEOUT_MS).unref();
// Nothing is left to do. Without this, Node tears down its environment before it ends, and has been seen to hang there.
process.once('beforeExit', () => process.exit());
