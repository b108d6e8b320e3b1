/** Runs `culvert run` in a process: the tunnel first, then the command, then the end of both. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { SignalFilter } from '../../../shared/stop-signals.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { type Clock, systemClock } from '../../client/clock.ts';
import { type Claim, claimNames } from '../../client/config/claims.ts';
import type { Prompt } from '../../client/config/relay-access.ts';
import type { TunnelSpec } from '../../client/config/tunnel-spec.ts';
import { UsageError } from '../../client/failures.ts';
import { ApiClient } from '../../client/relay/api-client.ts';
import { type CommandContext, toStderr } from '../command-line/command.ts';
import { type ServiceTunnel, withPort } from '../commands/tunnel-options.ts';
import { jsonLine } from '../output/format.ts';
import {
  commandEnvironment,
  type CommandPlan,
  findPackage,
  planCommand,
  projectName,
} from './package-file.ts';
import { openAddress } from '../output/prompt.ts';
import { type EndReason, type Output, type Reporter, TextReporter } from '../output/reporter.ts';
import { completeTunnel, printWindow } from './run-tunnels.ts';
import { inspectedHost, serveTunnel } from './serve-tunnel.ts';
import { HostWindow } from '../view/host-window.ts';
import { doOnceOnline } from '../view/once-online.ts';

/**
 * How long the command of `culvert run` has to end after SIGTERM or SIGHUP, as long as container runtimes give.
 */
const TERMINATION_MS = 10_000;
/** How long programs that the command of `culvert run` has left behind have to end. */
const LEFTOVERS_MS = 2000;
/** How often is looked whether they have. */
const LEFTOVER_LOOK_MS = 50;

/** A command to start, and its tunnel. */
export interface RunTunnel extends ServiceTunnel {
  /** program and arguments */
  readonly command: readonly string[];
  /** `undefined` for the one that its arguments name, or a free one */
  readonly port: number | undefined;
  /** whether the command line says which Host the local service receives */
  readonly hasHostHeader: boolean;
}

/**
 * Opens the tunnel, starts the command once visitors can reach it, and closes the tunnel when the command has ended.
 *
 * @returns the command's exit code, or that of the tunnel if the command was not started
 * @throws UsageError
 */
export async function runWithTunnel(given: RunTunnel, context: CommandContext): Promise<number> {
  const { output, hasTerminal } = context;
  const clock = systemClock;
  const plan = planCommand(given.command, findPackage(process.cwd()));
  const port = await choosePort(given.port ?? plan.ownPort);
  const { spec, claim, isNameOptional } = await chooseTunnel(given, plan, port, context);
  const reporter = given.json
    ? new OneLine(output, spec, port)
    : new TextReporter(toStderr(output), clock, spec, { end: END });
  const running = new RunningCommand(hasTerminal, (url) => {
    const command = plan.with(port, new URL(url).hostname);
    if (command !== given.command && !given.json) output.err(`Runs         ${command.join(' ')}\n`);
    const hint = plan.hint(process.cwd());
    if (hint !== undefined && !given.json) output.err(`culvert: ${hint}\n`);
    const env = commandEnvironment(port, url, process.env);
    return new ChildCommand({ command, env, clock, say: (text) => output.err(`culvert: ${text}\n`) });
  });
  const { host, stop } = await inspectedHost(given, output);
  const window = new HostWindow(given, host);
  if (given.ui) void printWindow(window, output);
  const { reason, why, code } = await serveTunnel({
    host,
    spec,
    reporter,
    output,
    interrupted: running.interrupted,
    clock,
    onAddress(url) {
      running.start(url);
      doOnceOnline(given.onceOnline, url, output, process.stderr, process.env, openAddress);
    },
    claim,
    isNameOptional,
  });
  reporter.offline(reason, why);
  const ended = await running.ended;
  stop();
  await window.close();
  return ended ?? code;
}

const END = 'The tunnel closes when the command ends.';

/** The command, the signals for it, and the end of its tunnel. */
class RunningCommand {
  readonly #start: (url: string) => ChildCommand;
  readonly #stop = new AbortController();
  #child: ChildCommand | undefined;
  #ended: Promise<number> | undefined;
  /** the exit code, as soon as it is known */
  #code: number | undefined;

  /**
   * Takes over all signals that end this process, or are for the command.
   *
   * @param hasTerminal whether the end of a terminal ends the command
   */
  constructor(hasTerminal: boolean, start: (url: string) => ChildCommand) {
    this.#start = start;
    for (const signal of PASSED_SIGNALS) {
      const filter = STOP_SIGNALS.has(signal) ? new SignalFilter() : undefined;
      process.on(signal, () => {
        const isIgnored = signal === 'SIGHUP' && !hasTerminal;
        if (!isIgnored && filter?.isRepeated() !== true) this.#onSignal(signal);
      });
    }
    // On Windows, the console tells the command itself; this process has to outlive it.
    if (PASSED_SIGNALS.length === 0)
      for (const signal of ['SIGINT', 'SIGBREAK']) process.on(signal, () => this.#onSignal('SIGINT'));
  }

  /** aborted when the tunnel is to be closed */
  get interrupted(): AbortSignal {
    return this.#stop.signal;
  }

  /** Its exit code once it has ended; `undefined` if it was not started, and no signal came before. */
  get ended(): Promise<number | undefined> {
    return this.#ended ?? Promise.resolve(this.#code);
  }

  /** Once. @param url address of the tunnel */
  start(url: string): void {
    if (this.#stop.signal.aborted) return;
    const child = this.#start(url);
    this.#child = child;
    this.#ended = child.ended.then(async (code) => {
      this.#code = code;
      this.#stop.abort();
      await child.endLeftovers();
      return code;
    });
  }

  #onSignal(signal: PassedSignal): void {
    if (this.#child !== undefined && this.#code === undefined) {
      if (PASSED_SIGNALS.length > 0) this.#child.pass(signal);
      return;
    }
    if (signal === 'SIGWINCH' || signal === 'SIGCONT') return;
    this.#code ??= exitCodeFor(null, signal);
    // A second signal does not wait until the tunnel is closed.
    if (this.#stop.signal.aborted) process.exit(this.#code);
    this.#stop.abort();
  }
}

/* The tunnel and its name. */

interface ChosenTunnel {
  readonly spec: TunnelSpec;
  readonly claim: Claim | undefined;
  /** whether a random name will do */
  readonly isNameOptional: boolean;
}

/** @throws UsageError */
async function chooseTunnel(
  given: RunTunnel,
  plan: CommandPlan,
  port: number,
  context: CommandContext,
): Promise<ChosenTunnel> {
  const prompt = isatty(0) ? context.prompt : undefined;
  const { target } = withPort(given, port).tunnel;
  const asked = await completeTunnel(
    { ...given, tunnel: { ...given.tunnel, target } },
    prompt ?? NOBODY,
    context.output,
  );
  const isNameOptional = asked.name === undefined && asked.domain === undefined;
  const name = isNameOptional ? projectName(process.cwd()) : asked.name;
  const api = new ApiClient(given.relay, given.key, given.network);
  const claims = await claimNames(api, [{ name, access: asked.access }], {
    from: isNameOptional ? 'program' : 'person',
    prompt: given.json ? undefined : prompt,
  });
  const claim = claims.get(name ?? '');
  const isTaken = isNameOptional && claim !== undefined;
  const isLocal = plan.isLocalOnly && !given.hasHostHeader;
  return {
    spec: {
      ...asked,
      target: isLocal ? { ...target, hostHeader: 'local' } : target,
      name: isTaken ? undefined : name,
    },
    claim: isTaken ? undefined : claim,
    isNameOptional,
  };
}

/** Standard input belongs to the command, so it is not even opened unless it is a terminal. */
const NOBODY: Prompt = { isInteractive: false, ask: refuseToAsk, askSecret: refuseToAsk };

function refuseToAsk(): Promise<string> {
  return Promise.reject(new UsageError('There is no terminal to ask on.'));
}

/** `--json`: one line when the tunnel is first online, and errors. */
class OneLine implements Reporter {
  readonly #output: Output;
  readonly #spec: Pick<TunnelSpec, 'madePassword'>;
  readonly #port: number;
  #hasSaid = false;

  constructor(output: Output, spec: Pick<TunnelSpec, 'madePassword'>, port: number) {
    this.#output = output;
    this.#spec = spec;
    this.#port = port;
  }

  online(tunnel: Tunnel): void {
    if (this.#hasSaid) return;
    this.#hasSaid = true;
    const { madePassword } = this.#spec;
    const password = madePassword === undefined ? {} : { password: madePassword };
    const port = this.#port;
    this.#output.err(jsonLine({ event: 'online', url: tunnel.public_url, port, tunnel, ...password }));
  }

  offline(reason: EndReason, why: string): void {
    if (reason !== 'stopped') this.#output.err(`culvert: ${why}\n`);
  }
}

/* The port of the command. */

const LOOPBACK = ['127.0.0.1', '::1'];

/** @throws UsageError if something else listens there: visitors would reach that instead of the command */
async function choosePort(wanted: number | undefined): Promise<number> {
  if (wanted === undefined) return listenBriefly(LOOPBACK[0], 0);
  for (const host of LOOPBACK) {
    try {
      await listenBriefly(host, wanted);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') continue;
      throw new UsageError(
        `Port ${wanted} is in use. Stop the program that listens on it, or choose another port with --port.`,
      );
    }
  }
  return wanted;
}

/** @returns the port that was listened on */
async function listenBriefly(host: string | undefined, port: number): Promise<number> {
  const server = createServer();
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : port;
}

/*
 * The command of `culvert run`: it keeps the terminal, input and output of this process. On POSIX it is the leader of a
 * process group of its own, in a session of its own. The terminal's Ctrl-C then reaches this process alone, which passes
 * it on to the group: each program gets it once from here, however it was sent, and none is left behind.
 */

/** Signals for everything that the command has started, as a terminal sends them. */
const GROUP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGWINCH', 'SIGCONT'] as const;
/** Signals with a meaning of the command's own; other programs of its group would end. */
const LEADER_SIGNALS = ['SIGUSR1', 'SIGUSR2'] as const;

/** A launcher may send these to this process twice; the command gets them once. */
const STOP_SIGNALS: ReadonlySet<PassedSignal> = new Set(['SIGINT', 'SIGTERM']);

type PassedSignal = (typeof GROUP_SIGNALS)[number] | (typeof LEADER_SIGNALS)[number];

/** All that are passed on. On Windows, a console sends its own to every program that is attached to it. */
const PASSED_SIGNALS: readonly PassedSignal[] =
  process.platform === 'win32' ? [] : [...GROUP_SIGNALS, ...LEADER_SIGNALS];

/** Exit codes of shells for a command that cannot be started. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

interface ChildCommandOptions {
  /** program and arguments */
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** told in a sentence what went wrong */
  readonly say: (text: string) => void;
}

export class ChildCommand {
  readonly #options: ChildCommandOptions;
  readonly #process: ChildProcess;
  readonly #ended: Promise<number>;
  #isOver = false;
  #isTerminating = false;

  /** Starts it. */
  constructor(options: ChildCommandOptions) {
    this.#options = options;
    const { file, args, isVerbatim } = startedWith(options.command, process.platform);
    this.#process = spawn(file, args, {
      env: options.env,
      stdio: 'inherit',
      detached: process.platform !== 'win32',
      windowsVerbatimArguments: isVerbatim,
    });
    this.#ended = new Promise((resolve) => {
      this.#process.once('error', (error: NodeJS.ErrnoException) => resolve(this.#notStarted(error)));
      this.#process.once('exit', (code, signal) => resolve(exitCodeFor(code, signal)));
    });
    void this.#ended.then(() => (this.#isOver = true));
  }

  /** @returns its exit code once it has ended: 128 and the number of the signal that ended it */
  get ended(): Promise<number> {
    return this.#ended;
  }

  /** Passes a signal on. A command that does not end after a request to terminate is killed. */
  pass(signal: PassedSignal): void {
    if (this.#isOver) return;
    const isForLeader = (LEADER_SIGNALS as readonly string[]).includes(signal);
    if (isForLeader) this.#process.kill(signal);
    else this.#signalGroup(signal);
    if ((signal !== 'SIGTERM' && signal !== 'SIGHUP') || this.#isTerminating) return;
    this.#isTerminating = true;
    const timer = this.#options.clock.setTimeout(() => {
      this.#options.say(`The command did not end within ${TERMINATION_MS / 1000} s, so it is killed.`);
      this.#kill();
    }, TERMINATION_MS);
    void this.#ended.then(() => timer.cancel());
  }

  /** Ends what the command has left behind in its group. @returns once that is gone */
  async endLeftovers(): Promise<void> {
    if (process.platform === 'win32' || !this.#signalGroup('SIGTERM')) return;
    for (let waited = 0; waited < LEFTOVERS_MS; waited += LEFTOVER_LOOK_MS) {
      await new Promise<void>((resolve) => this.#options.clock.setTimeout(resolve, LEFTOVER_LOOK_MS));
      if (!this.#signalGroup(0)) return;
    }
    this.#signalGroup('SIGKILL');
  }

  #kill(): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    if (process.platform === 'win32')
      spawn('taskkill', ['/pid', String(pid), '/t', '/f']).on('error', () => {});
    else this.#signalGroup('SIGKILL');
  }

  /** @returns whether there is anything in the group */
  #signalGroup(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#process;
    if (pid === undefined) return false;
    try {
      return process.kill(-pid, signal);
    } catch {
      return false;
    }
  }

  #notStarted({ code, message }: NodeJS.ErrnoException): number {
    const [program = ''] = this.#options.command;
    const isMissing = code === 'ENOENT';
    this.#options.say(
      isMissing
        ? `The command "${program}" was not found.`
        : `The command "${program}" could not be started: ${message}.`,
    );
    return isMissing ? NOT_FOUND : NOT_EXECUTABLE;
  }
}

/** @returns the exit code that a shell would report */
export function exitCodeFor(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

/* On Windows, only the shell can start npm and other scripts. */

interface Started {
  readonly file: string;
  readonly args: readonly string[];
  /** whether the arguments are quoted already */
  readonly isVerbatim: boolean;
}

/** What to start for a command. */
export function startedWith(command: readonly string[], platform: NodeJS.Platform): Started {
  const [file = '', ...args] = command;
  if (platform !== 'win32') return { file, args, isVerbatim: false };
  const line = command.map(quotedForCmd).join(' ');
  return { file: 'cmd.exe', args: ['/d', '/s', '/c', `"${line}"`], isVerbatim: true };
}

/** As `CommandLineToArgvW` reads it, with all characters escaped that cmd.exe reads as its own. */
function quotedForCmd(word: string): string {
  const quoted = `"${word.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/(\\+)$/, '$1$1')}"`;
  return quoted.replaceAll(/[()%!^"<>&|;, *?]/g, '^$&');
}
