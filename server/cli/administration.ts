/** What the commands that administer share. They work on the store, whether or not a relay uses it. */
import * as rules from '../administration/admin-actions.ts';
import {
  ACCOUNT_NAME_RULE,
  Administration,
  isAccountName,
  NotThereError,
} from '../administration/admin-actions.ts';
import { systemClock } from '../clock.ts';
import { type Config, type ConfigResult, type FlagTypes, loadConfig } from '../config.ts';
import { describeError } from '../log.ts';
import { nameOfDatabase } from '../store/database-address.ts';
import { ConflictError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import {
  CommandError,
  configured,
  ExitCode,
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
  const own: FlagTypes = Object.fromEntries(
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

/** @throws CommandError for an invalid account name */
export function readAccountName(given: unknown, flag: string): string {
  if (isAccountName(given)) return given;
  throw usageError(`${flag} must be ${ACCOUNT_NAME_RULE}`);
}

/** The same for an optional flag. */
export function readOptionalName(given: unknown, flag: string): string | undefined {
  return given === undefined ? undefined : readAccountName(given, flag);
}

/** @throws CommandError for an invalid reason */
export function readReason(given: unknown): string {
  const reason = rules.readReason(given);
  if (reason !== undefined) return reason;
  throw usageError(`--reason must be ${rules.REASON_RULE}; the account's owner sees it`);
}

/** @throws CommandError for anything but a whole number from 1 to `max` */
export function readCount(given: unknown, flag: string, max: number): number {
  const count = typeof given === 'string' && /^\d{1,6}$/.test(given) ? Number(given) : 0;
  if (count >= 1 && count <= max) return count;
  throw usageError(`${flag} must be a number from 1 to ${max}`);
}

/** @throws CommandError for an invalid label; it is empty by default */
export function readLabel(given: unknown, flag: string): string {
  if (given === undefined) return '';
  if (rules.isLabel(given)) return given;
  throw usageError(`${flag} must be ${rules.LABEL_RULE}`);
}

/**
 * @param max the longest, in seconds
 * @returns seconds; `undefined` when it is not given
 * @throws CommandError for an invalid duration
 */
export function readTtl(given: unknown, flag: string, max: number): number | undefined {
  if (given === undefined) return undefined;
  const seconds = rules.readTtl(given, max);
  if (seconds !== undefined) return seconds;
  throw usageError(`${flag} must be ${rules.ttlRule(max)}`);
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

/** @returns the rows as lines, with columns as wide as their widest cell */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
