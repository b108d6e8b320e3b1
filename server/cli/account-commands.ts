/** `culvert-relay account …` (README.md). */
import { NAME_PATTERN } from '../../shared/constraints.ts';
import { type Plan, PLANS } from '../../shared/tunnel.ts';
import type { AccountRecord } from '../store/records.ts';
import { createAccount } from '../accounts/accounts.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { nameOfDatabase } from '../store/address.ts';
import {
  failure,
  noSuchAccount,
  readAccountName,
  readAdministration,
  table,
  timestamp,
  withStore,
} from './administration.ts';
import { type Shell, usageError } from './command.ts';

/** `account create`; throws CommandError. */
export async function createAccountCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['name', 'plan', 'subdomain']);
  const wanted = {
    name: readAccountName(flags['name'], '--name'),
    plan: readPlan(flags['plan']),
    subdomain: readSubdomain(flags['subdomain'], config),
  };
  const account = await withStore(config, (store) => createAccount(store, systemClock, wanted));
  const { name, plan, subdomain } = account;
  const label = subdomain === null ? 'no subdomain' : `subdomain ${subdomain}`;
  if (json) shell.out(JSON.stringify(viewOf(account)));
  else shell.out(`Created the account "${name}" (plan ${plan}, ${label}). Give it a key with: key create`);
}

/** `account list`; throws CommandError. */
export async function listAccountsCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, json } = readAdministration(shell, argv, []);
  const accounts = await withStore(config, (store) => store.listAccounts());
  if (json) return shell.out(JSON.stringify({ accounts: accounts.map(viewOf) }));
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
  ]);
  for (const line of table([['NAME', 'PLAN', 'SUBDOMAIN', 'CREATED', 'ID'], ...rows])) shell.out(line);
}

/** `account set-plan`; throws CommandError. */
export async function setPlanCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['name', 'plan']);
  const name = readAccountName(flags['name'], '--name');
  const plan = readPlan(flags['plan']);
  const account = await withStore(config, (store) => store.setPlan(name, plan));
  if (account === undefined) throw noSuchAccount(name, config);
  if (json) shell.out(JSON.stringify(viewOf(account)));
  else shell.out(`The account "${name}" is on the plan ${plan} now. Tunnels that are open stay open.`);
}

/** `account remove`; throws CommandError. */
export async function removeAccountCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['name']);
  const name = readAccountName(flags['name'], '--name');
  const account = await withStore(config, (store) => store.removeAccount(name));
  if (account === undefined) throw noSuchAccount(name, config);
  if (json) shell.out(JSON.stringify({ ...viewOf(account), status: 'removed' }));
  else shell.out(`Removed the account "${name}" with its keys and its tunnels.`);
}

function viewOf({ id, name, plan, subdomain, createdAt }: AccountRecord) {
  return { id, name, plan, subdomain, created_at: timestamp(createdAt) };
}

function readPlan(given: unknown): Plan {
  const plan = PLANS.find((known) => known === given);
  if (plan === undefined) throw usageError(`--plan takes one of ${PLANS.join(', ')}`);
  return plan;
}

function readSubdomain(given: unknown, config: Config): string | null {
  if (given === undefined) return null;
  if (typeof given !== 'string' || !NAME_PATTERN.test(given)) {
    throw usageError(
      '--subdomain takes 2-63 characters: lowercase letters, digits and hyphens, not starting or ending with a hyphen',
    );
  }
  const host = `${given}.${config.serviceDomain}`;
  const ownHosts = [config.tunnelDomain, config.publicUrl?.hostname];
  if (config.reservedNames.has(given) || ownHosts.includes(host)) {
    throw failure(`the subdomain "${given}" is reserved; choose another`);
  }
  return given;
}
