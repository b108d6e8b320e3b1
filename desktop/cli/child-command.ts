/**
 * The command of `culvert run`: it keeps the terminal, input and output of this process. On POSIX it is the leader of a
 * process group of its own, in a session of its own. The terminal's Ctrl-C then reaches this process alone, which passes
 * it on to the group: each program gets it once from here, however it was sent, and none is left behind.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Clock } from '../client/clock.ts';
import { LEFTOVER_LOOK_MS, LEFTOVERS_MS, TERMINATION_MS } from './limits.ts';

/** Signals for everything that the command has started, as a terminal sends them. */
const GROUP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGWINCH', 'SIGCONT'] as const;
/** Signals with a meaning of the command's own; other programs of its group would end. */
const LEADER_SIGNALS = ['SIGUSR1', 'SIGUSR2'] as const;

export type PassedSignal = (typeof GROUP_SIGNALS)[number] | (typeof LEADER_SIGNALS)[number];

/** All that are passed on. On Windows, a console sends its own to every program that is attached to it. */
export const PASSED_SIGNALS: readonly PassedSignal[] =
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
