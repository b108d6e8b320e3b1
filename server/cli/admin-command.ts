/** What the commands that administer share. They work on the store, whether or not a relay uses it. */
import { readFileSync } from 'node:fs';
import type { OptionTypes } from '../../shared/command-options.ts';
import type { AdminAction, Outcome } from '../administration/action.ts';
import { Administration, NotThereError } from '../administration/administration.ts';
import { Given } from '../administration/given.ts';
import { systemClock } from '../clock.ts';
import { type Config, type ConfigResult, loadConfig } from '../config.ts';
import { describeError } from '../log.ts';
import { nameOfDatabase } from '../store/database-address.ts';
import { ConflictError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import {
  CommandError,
  configured,
  ExitCode,
  printOnce,
  type RelayCommand,
  type RelayUsage,
  type Shell,
  usageError,
} from './command.ts';

/** A command that administers, as it was given. */
export type GivenCommand = Extract<ConfigResult, { config: unknown }> & {
  readonly json: boolean;
  /** {@link administering} */
  readonly administer: <T>(work: (administration: Administration, store: Store) => Promise<T>) => Promise<T>;
};

interface AdminCommand extends RelayUsage {
  /**
   * @returns the exit code, unless it is 0
   * @throws CommandError
   */
  readonly run: (given: GivenCommand, shell: Shell) => Promise<number | void>;
}

const JSON_OPTION = { json: { text: 'Print JSON instead of text.' } };

/** A command that also accepts `--json` and the relay's settings. */
export function adminCommand({ run, ...usage }: AdminCommand): RelayCommand {
  const options: RelayUsage['options'] = { ...usage.options, ...JSON_OPTION };
  const own: OptionTypes = Object.fromEntries(
    Object.entries(options).map(
      ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
    ),
  );
  const operands = usage.forms.some((form) => /^[A-Z]/.test(form)) ? 1 : 0;
  return {
    ...usage,
    options,
    run: async (shell, argv) => {
      const given = configured(loadConfig(shell.env, argv, own, operands));
      const json = given.flags['json'] === true;
      return await run(
        { ...given, json, administer: (work) => administering(shell, given.config, work) },
        shell,
      );
    },
  };
}

/** The command of an admin action, if it has one. */
export function commandOf(words: string, row: AdminAction): RelayCommand[] {
  const { forms = ['[options]'], summary, options = {}, examples, details, about, status } = row;
  if (examples === undefined) return [];
  const command = adminCommand({
    words,
    forms,
    summary,
    options,
    examples,
    ...(details !== undefined && { details }),
    async run(given, shell) {
      const { config, json: isJson, administer } = given;
      const values = new GivenOptions(given);
      const subject = about === undefined ? '' : subjectOf(words, about, given, values);
      const act = 'act' in row ? row.act : row.read(values);
      const {
        notice,
        warnings = [],
        lines,
      } = await administer(async (admin, store) => {
        const outcome = await act({ admin, subject, origin: () => relayOrigin(config, store) });
        const { json, printed = json, undo } = outcome;
        const object = status === undefined ? printed : { ...printed, status };
        const text = isJson ? [JSON.stringify(object)] : linesOf(outcome.text, config);
        if (undo === undefined) return { ...outcome, lines: text };
        if (!isJson && outcome.notice !== undefined) shell.err(outcome.notice);
        await printOnce(shell, text, undo);
        return { warnings: outcome.warnings, lines: [], notice: undefined };
      });
      if (!isJson && notice !== undefined) shell.err(notice);
      for (const line of lines) shell.out(line);
      for (const line of warnings) shell.err(line);
    },
  });
  return [command];
}

function linesOf(text: Outcome['text'], { database }: Config): readonly string[] {
  return typeof text === 'string' ? [text] : text(nameOfDatabase(database));
}

/** What names a thing on the command line. */
const OPERANDS = {
  key: ["a key's id", 'it'],
  invite: ["an invitation's id", 'it'],
  tunnel: ["a tunnel's id or name", 'them'],
} as const;

function subjectOf(
  words: string,
  about: NonNullable<AdminAction['about']>,
  { operands: [operand] }: GivenCommand,
  options: GivenOptions,
): string {
  if (about === 'name' || about === 'account') return options.accountName(about);
  if (operand !== undefined) return operand;
  const [what, shown] = OPERANDS[about];
  throw usageError(`${words} needs ${what}; "culvert-relay ${about} list" shows ${shown}`);
}

/** The options of a command. */
export class GivenOptions extends Given {
  readonly own: Config;
  protected readonly isText = true;
  readonly #flags: Readonly<Record<string, unknown>>;
  readonly command = {
    misused(line: string): never {
      throw usageError(line);
    },
    failed(line: string): never {
      throw failure(line);
    },
    lines: (max: number, what: string): string[] => readLines(String(this.value('from')), max, what),
  };

  constructor({ config, flags }: GivenCommand) {
    super();
    this.own = config;
    this.#flags = flags;
  }

  protected value(field: string): unknown {
    return this.#flags[field.replace('_', '-')];
  }

  refuse(field: string, rule: string): never {
    throw usageError(`--${field} must be ${rule}`);
  }
}

/**
 * The lines of a file that are not empty, trimmed; `-` is the standard input.
 *
 * @param what the lines contain
 * @throws CommandError for more than `max` lines, or none
 */
function readLines(path: string, max: number, what: string): string[] {
  let text;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw failure(
      `--from: ${path} cannot be read (${describeError(error)}); to read it as another user, use --from - <${path}`,
    );
  }
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length > 0 && lines.length <= max) return lines;
  throw usageError(`--from must be a file with 1 to ${max} ${what}, one per line`);
}

/**
 * Returns what the addresses of invitations begin with: the public URL that this command was given, or else the one
 * that the relay stored at its last start. The command may run without the settings of the relay.
 */
async function relayOrigin({ publicUrl }: Config, store: Store): Promise<string> {
  const origin = publicUrl?.origin ?? (await store.publicOrigin());
  if (origin !== undefined) return origin;
  throw usageError(
    'the relay has not stored its public URL yet; start the relay once, or give its URL with --public-url',
  );
}

/**
 * Does the work of a command on the store, which must be there, and says which one that is: on a machine with several,
 * or without the settings of the relay, it may be another one than was meant.
 *
 * @throws CommandError when the store cannot be opened or fails; `work` may throw its own
 */
async function administering<T>(
  shell: Shell,
  config: Config,
  work: (administration: Administration, store: Store) => Promise<T>,
): Promise<T> {
  const store = await open(config);
  shell.err(`culvert-relay: database ${nameOfDatabase(config.database)}`);
  try {
    const { nameHold } = config;
    const by = { actor: `shell:${shell.user}`, accountId: null };
    return await work(new Administration({ store, clock: systemClock, nameHold, by }), store);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (error instanceof ConflictError) throw failure(`the ${error.field} is taken; choose a different one`);
    if (error instanceof NotThereError) throw notThere(error, config);
    throw failure(`nothing was changed: ${describeError(error)}`);
  } finally {
    await store.close();
  }
}

async function open(config: Config): Promise<Store> {
  // Loaded only here, so that --help does without it.
  const { openStore } = await import('../store/open-store.ts');
  try {
    // The error with which the command fails contains what the store would log.
    return await openStore(config.database, 'must-exist', () => {});
  } catch (error) {
    throw failure(describeError(error));
  }
}

/** The message names the database, because the usual reason is that the relay uses another one. */
function notThere({ kind, subject }: NotThereError, { database }: Config): CommandError {
  const byId = { key: 'valid key', invite: 'open invitation', account: undefined, tunnel: undefined }[kind];
  const what = byId === undefined ? `${kind} "${subject}"` : `${byId} with the id "${subject}"`;
  return failure(
    `there is no ${what} in ${nameOfDatabase(database)}; "culvert-relay ${kind} list" shows them`,
  );
}

export function failure(line: string): CommandError {
  return new CommandError(ExitCode.failed, [line]);
}
