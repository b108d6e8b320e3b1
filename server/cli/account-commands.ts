/** `culvert-relay account …` (README.md). */
import { type Plan, PLANS } from '../../shared/tunnel.ts';
import { isReserved, isSubdomain, SUBDOMAIN_RULE } from '../administration/names.ts';
import { timestamp, viewAccount } from '../administration/views.ts';
import type { Config } from '../config.ts';
import { nameOfDatabase } from '../store/address.ts';
import {
  administering,
  failure,
  readAccountName,
  readAdministration,
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
