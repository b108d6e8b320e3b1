/** `culvert-relay account …` (README.md). */
import { readFileSync } from 'node:fs';
import { type Plan, PLANS } from '../../shared/tunnel.ts';
import {
  isAccountName,
  isReserved,
  isSubdomain,
  type MadeAccount,
  SUBDOMAIN_RULE,
} from '../administration/admin-actions.ts';
import { timestamp, viewAccount } from '../administration/views.ts';
import type { Config } from '../config.ts';
import { ACCOUNTS_AT_ONCE_MAX } from '../limits.ts';
import { describeError } from '../log.ts';
import { nameOfDatabase } from '../store/database-address.ts';
import {
  administering,
  failure,
  readAccountName,
  readAdministration,
  readCount,
  readReason,
  table,
} from './administration.ts';
import { type Shell, usageError } from './command.ts';

/** `account list`; throws CommandError. */
export async function listAccountsCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, json } = readAdministration(shell, argv, []);
  const accounts = await administering(shell, config, (administration) => administration.listAccounts());
  if (json) return shell.out(JSON.stringify({ accounts: accounts.map(viewAccount) }));
  if (accounts.length === 0) {
    return shell.out(
      `There are no accounts in ${nameOfDatabase(config.database)}. Make one with: account create`,
    );
  }
  const rows = accounts.map((account) => [
    account.name,
    account.plan,
    account.subdomain ?? '-',
    timestamp(account.createdAt),
    account.id,
    account.suspended === null ? '' : `suspended: ${account.suspended}`,
  ]);
  for (const line of table([['NAME', 'PLAN', 'SUBDOMAIN', 'CREATED', 'ID', ''], ...rows])) shell.out(line);
}

/** `account set-plan`; throws CommandError. */
export async function setPlanCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['name', 'plan']);
  const name = readAccountName(flags['name'], '--name');
  const plan = readPlan(flags['plan']);
  const account = await administering(shell, config, (administration) => administration.setPlan(name, plan));
  if (json) shell.out(JSON.stringify(viewAccount(account)));
  else shell.out(`The account "${name}" is on the plan ${plan} now. Tunnels that are open stay open.`);
}

/** `account set-subdomain`; throws CommandError. */
export async function setSubdomainCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['name', 'subdomain'], {
    switches: ['none'],
  });
  const name = readAccountName(flags['name'], '--name');
  if ((flags['subdomain'] === undefined) !== (flags['none'] === true))
    throw usageError('account set-subdomain takes --subdomain LABEL, or --none to take it away');
  const subdomain = readSubdomain(flags['subdomain'], config);
  const account = await administering(shell, config, (administration) =>
    administration.setSubdomain(name, subdomain),
  );
  if (json) return shell.out(JSON.stringify(viewAccount(account)));
  const address =
    subdomain === null
      ? 'has no subdomain now'
      : `has tunnels below ${subdomain}.${config.serviceDomain} now`;
  shell.out(`The account "${name}" ${address}; those that are open, too.`);
}

/** `account suspend`; throws CommandError. */
export async function suspendAccountCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['name', 'reason']);
  const name = readAccountName(flags['name'], '--name');
  const reason = readReason(flags['reason']);
  const account = await administering(shell, config, (administration) =>
    administration.suspendAccount(name, reason),
  );
  if (json) shell.out(JSON.stringify(viewAccount(account)));
  else
    shell.out(
      `Suspended the account "${name}": visitors of its tunnels get 451, its keys 403, its clients are disconnected.`,
    );
}

/** `account resume`; throws CommandError. */
export async function resumeAccountCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['name']);
  const name = readAccountName(flags['name'], '--name');
  const account = await administering(shell, config, (administration) =>
    administration.suspendAccount(name, null),
  );
  if (json) shell.out(JSON.stringify(viewAccount(account)));
  else shell.out(`The account "${name}" may go on, with its keys and its tunnels.`);
}

/** `account remove`; throws CommandError. */
export async function removeAccountCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['name']);
  const name = readAccountName(flags['name'], '--name');
  const account = await administering(shell, config, (administration) => administration.removeAccount(name));
  if (json) shell.out(JSON.stringify({ ...viewAccount(account), status: 'removed' }));
  else shell.out(`Removed the account "${name}" with its keys and its tunnels.`);
}

/** @throws CommandError */
export function readPlan(given: unknown): Plan {
  const plan = PLANS.find((known) => known === given);
  if (plan === undefined) throw usageError(`--plan takes one of ${PLANS.join(', ')}`);
  return plan;
}

/** @throws CommandError */
export function readSubdomain(given: unknown, config: Config): string | null {
  if (given === undefined) return null;
  if (!isSubdomain(given)) throw usageError(`--subdomain takes ${SUBDOMAIN_RULE}`);
  if (isReserved(given, config)) throw failure(`the subdomain "${given}" is reserved; choose another`);
  return given;
}

/* `culvert-relay account create`: one account, or those of a whole team (README.md). */

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
