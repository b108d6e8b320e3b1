/** `culvert-relay account create`: one account, or those of a whole team (README.md). */
import { readFileSync } from 'node:fs';
import type { MadeAccount } from '../administration/administration.ts';
import { isAccountName } from '../administration/names.ts';
import { viewAccount } from '../administration/views.ts';
import { ACCOUNTS_AT_ONCE_MAX } from '../limits.ts';
import { describeError } from '../log.ts';
import {
  administering,
  failure,
  readAccountName,
  readAdministration,
  readCount,
  table,
} from './administration.ts';
import { readPlan, readSubdomain } from './account-commands.ts';
import { type Shell, usageError } from './command.ts';

/** `account create`; throws CommandError, with no account made. */
export async function createAccountCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(
    shell,
    argv,
    ['name', 'plan', 'subdomain', 'count', 'from'],
    { switches: ['with-key'] },
  );
  const names = readNames(flags);
  const plan = readPlan(flags['plan']);
  const subdomain = readSubdomain(flags['subdomain'], config);
  const isMany = flags['count'] !== undefined || flags['from'] !== undefined;
  if (isMany && subdomain !== null) throw usageError('--subdomain takes effect for one account only');
  const withKeys = flags['with-key'] === true;
  const made = await administering(shell, config, async (administration) => {
    const known = new Set((await administration.listAccounts()).map(({ name }) => name));
    const taken = isMany ? names.find((name) => known.has(name)) : undefined;
    if (taken !== undefined) throw failure(`the name "${taken}" is taken; no account was made`);
    return administration.createAccounts({ names, plan, subdomain, withKeys });
  });
  if (isMany) showMany(shell, made, json);
  else for (const one of made) showOne(shell, one, json);
}

function showOne(shell: Shell, { account, key }: MadeAccount, json: boolean): void {
  const { name, plan, subdomain } = account;
  if (json) return shell.out(JSON.stringify(viewMade({ account, key })));
  const label = subdomain === null ? 'no subdomain' : `subdomain ${subdomain}`;
  const created = `Created the account "${name}" (plan ${plan}, ${label}).`;
  if (key === undefined) return shell.out(`${created} Give it a key with: key create`);
  shell.out(`${created} Its key is shown only now:`);
  shell.out(key);
}

function showMany(shell: Shell, made: readonly MadeAccount[], json: boolean): void {
  if (json) return shell.out(JSON.stringify({ accounts: made.map(viewMade) }));
  const hasKeys = made.some(({ key }) => key !== undefined);
  shell.err(`Created ${made.length} accounts.${hasKeys ? ' Their keys are shown only now:' : ''}`);
  for (const line of table(made.map(({ account, key = '' }) => [account.name, key]))) shell.out(line);
}

function viewMade({ account, key }: MadeAccount) {
  return key === undefined ? viewAccount(account) : { ...viewAccount(account), key };
}

/** The names of the accounts: one, or as many with a number, or those of a file. */
function readNames({ name, count, from }: Readonly<Record<string, unknown>>): string[] {
  if (typeof from === 'string') {
    if (name !== undefined || count !== undefined)
      throw usageError('--from takes the place of --name and --count');
    return readFile(from);
  }
  const given = readAccountName(name, '--name');
  if (count === undefined) return [given];
  const number = readCount(count, '--count', ACCOUNTS_AT_ONCE_MAX);
  return Array.from({ length: number }, (_, index) => readAccountName(`${given}-${index + 1}`, '--name'));
}

/** One name a line; `-` is the standard input. */
function readFile(path: string): string[] {
  let text;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw failure(`--from: ${path} cannot be read (${describeError(error)})`);
  }
  const names = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (names.length === 0 || names.length > ACCOUNTS_AT_ONCE_MAX)
    throw usageError(`--from takes a file with 1 to ${ACCOUNTS_AT_ONCE_MAX} names, one a line`);
  const wrong = names.findIndex((name, index) => !isAccountName(name) || names.indexOf(name) !== index);
  if (wrong !== -1) throw usageError(`--from: "${names[wrong]}" is no name of an account, or there twice`);
  return names;
}
