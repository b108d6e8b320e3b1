/** What `culvert-relay account …` and `key …` share. They work on the store, whether or not a relay uses it. */
import { type Config, type ConfigResult, type FlagTypes, loadConfig } from '../config.ts';
import { describeError } from '../log.ts';
import { nameOfDatabase } from '../store/address.ts';
import { openStore } from '../store/open-store.ts';
import { ConflictError, type Store } from '../store/store.ts';
import { CommandError, configured, ExitCode, type Shell, usageError } from './command.ts';

/** A command that administers accounts or keys, as it was given. */
export type Administration = Extract<ConfigResult, { config: unknown }> & { readonly json: boolean };

/** Long enough for a person's or a team's name, on one line. */
const ACCOUNT_NAME = /^[^\p{Cc}\s](?:[^\p{Cc}]{0,98}[^\p{Cc}\s])?$/u;

/**
 * Reads a command's settings and flags, `--json` among them.
 *
 * @param texts names of its own flags that take a text
 * @param maxOperands arguments it takes besides flags
 * @throws CommandError for wrong usage
 */
export function readAdministration(
  shell: Shell,
  argv: readonly string[],
  texts: readonly string[],
  maxOperands = 0,
): Administration {
  const own: FlagTypes = Object.fromEntries(texts.map((name) => [name, { type: 'string' as const }]));
  const given = configured(loadConfig(shell.env, argv, { ...own, json: { type: 'boolean' } }, maxOperands));
  return { ...given, json: given.flags['json'] === true };
}

/**
 * Does the work of a command on the store.
 *
 * @throws CommandError when the store cannot be opened or fails; `work` may throw its own
 */
export async function withStore<T>(config: Config, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open(config);
  try {
    return await work(store);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (error instanceof ConflictError) throw failure(`the ${error.field} is taken; choose another`);
    throw failure(`nothing was changed: ${describeError(error)}`);
  } finally {
    await store.close();
  }
}

async function open(config: Config): Promise<Store> {
  try {
    // The error with which the command fails says what the store would log.
    return await openStore(config.database, () => {});
  } catch (error) {
    throw failure(describeError(error));
  }
}

/** @throws CommandError for what is not an account's name */
export function readAccountName(given: unknown, flag: string): string {
  if (typeof given === 'string' && ACCOUNT_NAME.test(given)) return given;
  throw usageError(
    `${flag} takes the name of an account: 1-100 characters, no spaces at the ends, no control characters`,
  );
}

/** The message names the database, because the usual reason is that the relay uses another one. */
export function noSuchAccount(name: string, { database }: Config): CommandError {
  return failure(
    `there is no account "${name}" in ${nameOfDatabase(database)}; account list shows those there are`,
  );
}

export function failure(line: string): CommandError {
  return new CommandError(ExitCode.failed, [line]);
}

/** @returns RFC 3339 in UTC, as the API writes it */
export function timestamp(wallTime: number): string {
  return new Date(wallTime).toISOString();
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
