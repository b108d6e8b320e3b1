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

/** Words of a command line that are no options. */
export interface Operand {
  /** their placeholder in the help, such as `DOMAIN` */
  readonly shown: string;
  /** how many they may be; by default exactly one, and with `some` at least one */
  readonly count?: 'optional' | 'any' | 'some';
  /** the few words that there are to choose from */
  readonly words?: readonly string[];
  readonly isFolder?: boolean;
  /** what to do if they are missing or not one of the words, in a sentence */
  readonly missing?: string;
  /** says that they are missing, if that is not `SHOWN is missing` */
  readonly absent?: string;
}

/** By the names that the command reads them by, in their order. */
export type Operands = Readonly<Record<string, Operand>>;

type Given<O extends Operand> = O extends { readonly count: 'any' | 'some' }
  ? readonly string[]
  : | (O extends { readonly words: readonly (infer W)[] } ? W : string)
    | (O extends { readonly count: 'optional' } ? undefined : never);

/** The tunnel that a command is about. */
export const TUNNEL = {
  shown: 'ID|SLUG',
  missing: 'Specify the tunnel by its id or slug, as shown by "culvert list".',
  absent: 'No tunnel was specified',
} as const satisfies Operand;

/** How a command is called. */
export interface Usage<O extends Operands = Operands> {
  /** its words, such as `domain add` */
  readonly name: string;
  readonly operands?: O;
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
  /** called by other programs only, so no help mentions it */
  readonly isInternal?: boolean;
}

/** Commands with the same first word. */
export interface Group<C extends readonly Usage[] = readonly Usage[]> {
  readonly name: string;
  readonly summary: string;
  /** what all of them have in common */
  readonly details?: string;
  /** the second word of the command that the first word alone stands for */
  readonly fallback?: string;
  readonly commands: C;
}

/** All options of a command. */
export function optionsOf({ options }: Pick<Usage, 'options'>): readonly OptionName[] {
  return Object.values(options).flat();
}

/** The placeholders of its operands, as the help shows them. */
export function operandsOf({ operands = {} }: Pick<Usage, 'operands'>): string {
  return Object.values(operands)
    .map(({ shown }) => shown)
    .join(' ');
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
  readonly commands: readonly (Usage | Group)[];
  /** @returns a signal that the first Ctrl-C aborts, instead of ending the program */
  readonly interruptible: () => AbortSignal;
  /** whether a standard stream was a terminal when the program was started */
  readonly hasTerminal: boolean;
}

/** The program around a command. */
export interface CommandContext extends CommandSurroundings {
  readonly output: PrintedOutput;
}

interface Definition<N extends string, O extends Operands, T> extends Usage<O> {
  readonly name: N;
  /** @throws UsageError */
  read(line: CommandLine<O>): T;
  /** @returns the exit code, unless it is 0; that of `run` is its command's */
  run(given: NoInfer<T>, context: CommandContext): Promise<number | void>;
}

/** A command line as read, ready to run. */
export interface Prepared<N extends string, T> {
  readonly name: N;
  readonly given: T;
  run(context: CommandContext): Promise<number>;
}

export function defineCommand<const N extends string, T, const O extends Operands = Operands>(
  definition: Definition<N, O, T>,
) {
  const { name } = definition;
  return {
    ...definition,
    /** @throws UsageError */
    prepare(words: readonly string[], values: Values, env: Environment, files: Files): Prepared<N, T> {
      const given = definition.read(new CommandLine<O>(definition, words, values, env, files));
      return { name, given, run: async (context) => (await definition.run(given, context)) ?? ExitCode.ok };
    },
  };
}

/** The same output, which leaves standard output to others. */
export function toStderr(output: Output): Output {
  const err = (text: string): void => output.err(text);
  return { out: err, err };
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

/** A command line, and what commands have in common when they read it. */
export class CommandLine<O extends Operands = Operands> {
  readonly operands: { readonly [K in keyof O]: Given<O[K]> };
  readonly values: Values;
  readonly files: Files;
  readonly env: Environment;
  readonly #usage: Usage<O>;

  /**
   * @param words those that are no options, after the words of the command
   * @throws UsageError for missing operands, and for too many
   */
  constructor(usage: Usage<O>, words: readonly string[], values: Values, env: Environment, files: Files) {
    this.#usage = usage;
    this.values = values;
    this.files = files;
    this.env = env;
    this.operands = this.#read(words);
  }

  #read(words: readonly string[]): typeof this.operands {
    const rows = Object.entries<Operand>(this.#usage.operands ?? {});
    const isList = rows.some(([, { count }]) => count === 'any' || count === 'some');
    if (!isList) this.refuse(words.slice(rows.length));
    const given = rows.map(([name, operand], index) => {
      const [word = '', ...more] = words.slice(index);
      const { count = 'one', words: known = [word] } = operand;
      if (count === 'any') return [name, words.slice(index)];
      if (count === 'optional' && index >= words.length) return [name, undefined];
      if (word === '' || !known.includes(word)) throw this.missing(operand);
      return [name, count === 'some' ? [word, ...more] : word];
    });
    return Object.fromEntries(given) as typeof this.operands;
  }

  /** @throws UsageError for words that the command does not take */
  refuse(words: readonly string[]): void {
    if (words.length === 0) return;
    throw new UsageError(`Unexpected argument "${words.join(' ')}" for "culvert ${this.#usage.name}".`);
  }

  /** The word that is missing may have been taken for a password. */
  missing({ shown, missing = '', absent = `${shown} is missing` }: Operand): UsageError {
    const isTaken = typeof this.values.password === 'string';
    const taken = `${absent}. --password uses the next word as the password, so put --password last.`;
    return new UsageError(isTaken ? taken : missing);
  }

  /** @throws UsageError */
  ttl(): string | undefined {
    return readOption('ttl', this.values.ttl, TTL_RULE);
  }

  /**
   * @param project a `culvert.yml` that names a relay
   * @throws UsageError, ProjectFileError
   */
  access(project?: RelaySources['project']): RelayAccess {
    return readRelayAccess({ ...this.accessSources(), project });
  }

  accessSources(): RelaySources {
    return { options: this.values, env: this.env, readLogin: () => this.files.readLogin() };
  }
}

/** What readers of options need of a command line. */
export type AnyLine = Omit<CommandLine, 'operands'>;
