/** What the commands of `culvert-relay` share. */
import type { ChildProcess } from 'node:child_process';
import { isReaderGone } from '../../shared/standard-output.ts';
import type { CommandUsage } from '../administration/action.ts';
import type { Config, ConfigResult } from '../config.ts';
import { describeError, type Log } from '../log.ts';
import type { AccessLog } from '../observe/logger.ts';

/** An access log, and how to continue in a new file if it writes to one. */
export interface OpenAccessLog {
  readonly write: AccessLog;
  readonly reopen: (() => void) | undefined;
}

export interface SignalListener {
  /** called at each SIGTERM and SIGINT, and at SIGHUP when the window of the terminal is closed */
  stop(): void;
  /** called at each SIGHUP instead */
  readonly reload: (() => void) | undefined;
}

/** The world around a command, so that tests can replace it. */
export interface Shell {
  readonly env: NodeJS.ProcessEnv;
  /** who gives the command */
  readonly user: string;
  /** Writes a line to stdout, which programs read. */
  out(line: string): void;
  /** @returns why the last line of {@link out} could not be written, once that is known */
  flush(): Promise<Error | undefined>;
  /** Whether stderr is a terminal, so that its output is not stored anywhere. */
  readonly isTerminal: boolean;
  /** Writes a line to stderr, which people read. */
  err(line: string): void;
  /** Limits the memory of a program that keeps running, before anything else is loaded. */
  limitMemory(): void;
  /**
   * Limits how its memory grows once it serves. Not earlier: what a start loads is not garbage, and searching it again and
   * again would take a tenth of the start.
   */
  limitGrowth(): void;
  /** Starts the same program in the background with these arguments; the exit code tells whether it serves. */
  startDetached(argv: readonly string[]): Promise<number>;
  /** Starts the same program with the same arguments as one more process of this relay. */
  startWorker(): ChildProcess;
  /** The channel to the first process of this relay, if this process is one that it has started. */
  readonly primary: NodeJS.Process | undefined;
  /** Listeners that the service manager has opened, by name. */
  readonly listeners: ReadonlyMap<string, object>;
  /** Says to the service manager that this process serves. @throws Error */
  tellServiceManager(): Promise<void>;
  /** Opens the log, on stderr. */
  openLog(options: Config['log']): Promise<Log>;
  /**
   * Opens the access log.
   *
   * @param log told when it cannot be written
   * @throws the system's error when its file cannot be opened
   */
  openAccessLog(place: NonNullable<Config['accessLog']>, log: Log): Promise<OpenAccessLog>;
  /** From now on, signals do what the listener does at that time. */
  onSignals(listener: SignalListener): void;
  /** Calls `handler` with an uncaught error before the program ends because of it. */
  onCrash(handler: (error: unknown) => void): void;
}

export type RelayUsage = CommandUsage;

/** A command of `culvert-relay`: help and dispatch are built from these. */
export interface RelayCommand extends RelayUsage {
  /**
   * @param argv the arguments after its words
   * @returns the exit code, unless it is 0
   * @throws CommandError
   */
  readonly run: (shell: Shell, argv: readonly string[]) => Promise<number | void>;
}

export const ExitCode = { ok: 0, failed: 1, usage: 2 } as const;

/** What the help and docs/reference/exit-codes.md say about each. */
export const EXIT_CODE_MEANINGS: Readonly<Record<number, string>> = {
  [ExitCode.ok]: 'The command succeeded, or the relay was stopped by a signal.',
  [ExitCode.failed]: 'The command failed, or the relay could not start.',
  [ExitCode.usage]: 'Usage error, or invalid setting.',
};

/** A command that cannot continue, with one or more lines for the person who gave it. */
export class CommandError extends Error {
  readonly exitCode: number;
  readonly lines: readonly string[];

  constructor(exitCode: number, lines: readonly string[]) {
    super(lines.join('; '));
    this.name = 'CommandError';
    this.exitCode = exitCode;
    this.lines = lines;
  }
}

/** The command was given wrongly. */
export function usageError(...lines: string[]): CommandError {
  return new CommandError(ExitCode.usage, lines);
}

/**
 * Prints what cannot be shown again.
 *
 * @param undo withdraws it if it could not be printed
 * @throws CommandError then
 */
export async function printOnce(
  shell: Shell,
  lines: readonly string[],
  undo: () => Promise<unknown>,
): Promise<void> {
  for (const line of lines) shell.out(line);
  const failure = await shell.flush();
  if (failure === undefined) return;
  await undo();
  throw new CommandError(ExitCode.failed, [
    `standard output cannot be written (${describeError(failure)}); what could not be shown was withdrawn`,
  ]);
}

/**
 * @returns the exit code of a command that has printed everything
 * @throws CommandError if some of it could not be written; a reader such as `head` may end early
 */
export async function printed(shell: Shell, code: number): Promise<number> {
  const failure = await shell.flush();
  if (failure === undefined || isReaderGone(failure) || code !== ExitCode.ok) return code;
  throw new CommandError(ExitCode.failed, [`standard output cannot be written (${describeError(failure)})`]);
}

/** @throws CommandError with the usage exit code, one line for each wrong setting */
export function configured(result: ConfigResult): Extract<ConfigResult, { config: unknown }> {
  if ('problems' in result) throw usageError(...result.problems);
  return result;
}
