/**
 * What every command of `culvert` is made of. A command is defined in one place with its name, help, options, reader
 * and runner; help, manual page, completion and reference page are made from that.
 */
import { TTL_RULE } from '../../../shared/value-rules.ts';
import type { Project } from '../../client/config/project.ts';
import {
  type Environment,
  type Prompt,
  readRelayAccess,
  type RelayAccess,
  type RelaySources,
} from '../../client/config/relay-access.ts';
import type { Login, StoredLogin } from '../../client/config/stored-login.ts';
import { ExitCode, UsageError } from '../../client/failures.ts';
import { ApiClient } from '../../client/relay/api-client.ts';
import { type OptionGroups, type OptionName, OPTIONS } from './options.ts';
import { readOption, type Values } from './parse.ts';
import type { Output, PrintedOutput } from '../output/reporter.ts';

/** How a command is called. */
export interface Usage {
  readonly name: string;
  /** what follows the name */
  readonly operands: string;
  /** what the first operand may be, if it is one of a few words */
  readonly words?: readonly string[];
  /** in the imperative, without a full stop */
  readonly summary: string;
  readonly options: OptionGroups;
  /** the meaning of options that differs from that of other commands */
  readonly meanings?: Partial<Readonly<Record<OptionName, string>>>;
  /** command lines that work as typed, each with its effect */
  readonly examples: Readonly<Record<string, string>>;
  /** paragraphs with an empty line between them */
  readonly details?: string;
  /** the rest of its help by headings, shown as it is */
  readonly sections?: Readonly<Record<string, string>>;
}

/** All options of a command. */
export function optionsOf({ options }: Pick<Usage, 'options'>): readonly OptionName[] {
  return Object.values(options).flat();
}

/** What an option does in a command. */
export function meaningOf({ meanings = {} }: Pick<Usage, 'meanings'>, option: OptionName): string {
  return meanings[option] ?? OPTIONS[option].text;
}

/** The program around a command that may print elsewhere. */
export interface CommandSurroundings {
  readonly output: Output;
  readonly prompt: Prompt;
  readonly stored: StoredLogin;
  /** every command, in the order of the help */
  readonly commands: readonly Usage[];
  /** @returns a signal that the first Ctrl-C aborts, instead of ending the program */
  readonly interruptible: () => AbortSignal;
  /** whether a standard stream was a terminal when the program was started */
  readonly hasTerminal: boolean;
}

/** The program around a command. */
export interface CommandContext extends CommandSurroundings {
  readonly output: PrintedOutput;
}

interface Definition<N extends string, T> extends Usage {
  readonly name: N;
  /** @throws UsageError */
  read(line: CommandLine): T;
  /** @returns the exit code, unless it is 0; that of `run` is its command's */
  run(given: NoInfer<T>, context: CommandContext): Promise<number | void>;
}

/** A command line as read, ready to run. */
export interface Prepared<N extends string, T> {
  readonly name: N;
  readonly given: T;
  run(context: CommandContext): Promise<number>;
}

export function defineCommand<const N extends string, T>(definition: Definition<N, T>) {
  const { name } = definition;
  return {
    ...definition,
    /** @throws UsageError */
    prepare(line: CommandLine): Prepared<N, T> {
      const given = definition.read(line);
      return { name, given, run: async (context) => (await definition.run(given, context)) ?? ExitCode.ok };
    },
  };
}

/** Says that standard output cannot be written, and why. */
export function cannotPrint({ message }: Error): string {
  return `Standard output cannot be written (${message}).`;
}

/**
 * Prints what the relay shows once.
 *
 * @param undo withdraws it if it could not be printed
 * @throws Error then
 */
export async function printOnce(
  output: PrintedOutput,
  text: string,
  undo: () => Promise<void>,
): Promise<void> {
  output.out(text);
  const failure = await output.flush();
  if (failure === undefined) return;
  await undo();
  throw new Error(`${cannotPrint(failure)} What could not be shown was withdrawn`, { cause: failure });
}

export function apiOf({ relay, key, network }: RelayAccess): ApiClient {
  return new ApiClient(relay, key, network);
}

/** Files that a command line may refer to; read only if it does. */
export interface Files {
  /** what `culvert login` has stored */
  readLogin(): Login | undefined;
  /**
   * @param path as given by `--config`
   * @param env fills in variables; by default the environment of this process
   */
  readProject(path: string | undefined, env?: Environment): Project;
}

/** The words after `culvert`, and what commands have in common when they read them. */
export class CommandLine {
  readonly command: string;
  /** the words that are no options */
  readonly operands: readonly string[];
  readonly values: Values;
  readonly files: Files;
  readonly #env: Environment;

  constructor(command: string, operands: readonly string[], values: Values, env: Environment, files: Files) {
    this.command = command;
    this.operands = operands;
    this.values = values;
    this.files = files;
    this.#env = env;
  }

  /** @throws UsageError for more operands than that */
  atMost(count: number): void {
    const more = this.operands.slice(count);
    if (more.length === 0) return;
    throw new UsageError(`Unexpected argument "${more.join(' ')}" for "culvert ${this.command}".`);
  }

  /** @throws UsageError */
  ttl(): string | undefined {
    return readOption('ttl', this.values.ttl, TTL_RULE);
  }

  /**
   * The id or slug of the tunnel that a command is about.
   *
   * @throws UsageError if it is missing, or not the only operand
   */
  tunnelName(): string {
    this.atMost(1);
    const [name = ''] = this.operands;
    if (name !== '') return name;
    this.checkPassword('No tunnel was specified');
    throw new UsageError('Specify the tunnel by its id or slug, as shown by "culvert list".');
  }

  /**
   * The word that is missing may have been taken for a password.
   *
   * @throws UsageError
   */
  checkPassword(what: string): void {
    if (typeof this.values.password !== 'string') return;
    throw new UsageError(`${what}. --password uses the next word as the password, so put --password last.`);
  }

  /**
   * @param project a `culvert.yml` that names a relay
   * @throws UsageError, ProjectFileError
   */
  access(project?: RelaySources['project']): RelayAccess {
    return readRelayAccess({ ...this.accessSources(), project });
  }

  /** @throws UsageError for operands, and as {@link access} */
  accessAlone(): RelayAccess {
    this.atMost(0);
    return this.access();
  }

  accessSources(): RelaySources {
    return { options: this.values, env: this.#env, readLogin: () => this.files.readLogin() };
  }
}
