/** `culvert-relay account …` and `key …`, which work while the relay runs (contract.md, Programs). */
import { NAME_PATTERN, type Plan, PLANS } from '../../shared/tunnel.ts';
import { createAccount, issueKey } from '../accounts/accounts.ts';
import { systemClock } from '../clock.ts';
import { type Config, type FlagTypes, loadConfig } from '../config.ts';
import { describeError } from '../log.ts';
import { openSqlite } from '../store/sqlite/open-sqlite.ts';
import { ConflictError, type Store } from '../store/store.ts';
import { CommandError, configured, ExitCode, type Shell, usageError } from './command.ts';

const CREATE_ACCOUNT_FLAGS = {
  name: { type: 'string' },
  plan: { type: 'string' },
  subdomain: { type: 'string' },
  json: { type: 'boolean' },
} as const satisfies FlagTypes;

const CREATE_KEY_FLAGS = {
  account: { type: 'string' },
  json: { type: 'boolean' },
} as const satisfies FlagTypes;

/** Room for a person's or a team's name, on one line. */
const ACCOUNT_NAME = /^[^\p{Cc}\s](?:[^\p{Cc}]{0,98}[^\p{Cc}\s])?$/u;

/** @throws CommandError */
export async function createAccountCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags } = configured(loadConfig(shell.env, argv, CREATE_ACCOUNT_FLAGS));
  const wanted = {
    name: readName(flags['name']),
    plan: readPlan(flags['plan']),
    subdomain: readSubdomain(flags['subdomain'], config),
  };
  const account = await withStore(shell, config, (store) => createAccount(store, systemClock, wanted));
  const { id, name, plan, subdomain } = account;
  if (flags['json'] === true) {
    shell.out(JSON.stringify({ id, name, plan, subdomain, created_at: timestamp(account.createdAt) }));
  } else {
    const label = subdomain === null ? 'no subdomain' : `subdomain ${subdomain}`;
    shell.out(`Created the account "${name}" (plan ${plan}, ${label}). Give it a key with: key create`);
  }
}

/** @throws CommandError */
export async function createKeyCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags } = configured(loadConfig(shell.env, argv, CREATE_KEY_FLAGS));
  const name = readName(flags['account'], '--account');
  const { key, record } = await withStore(shell, config, async (store) => {
    const account = await store.findAccount(name);
    if (account === undefined) throw failure(`there is no account "${name}"; make it with: account create`);
    return issueKey(store, systemClock, account);
  });
  if (flags['json'] === true) {
    const created_at = timestamp(record.createdAt);
    shell.out(JSON.stringify({ id: record.id, account: name, key, created_at }));
  } else {
    shell.out(`Created a key for the account "${name}". It is shown only now:`);
    shell.out(key);
  }
}

function readName(given: unknown, flag = '--name'): string {
  if (typeof given === 'string' && ACCOUNT_NAME.test(given)) return given;
  throw usageError(
    `${flag} takes the name of an account: 1-100 characters, no spaces at the ends, no control characters`,
  );
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

async function withStore<T>(shell: Shell, config: Config, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open(shell, config);
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

async function open(shell: Shell, config: Config): Promise<Store> {
  try {
    return await openSqlite(config.databasePath, (event) => shell.err(event));
  } catch (error) {
    throw failure(describeError(error));
  }
}

function failure(line: string): CommandError {
  return new CommandError(ExitCode.failed, [line]);
}

function timestamp(wallTime: number): string {
  return new Date(wallTime).toISOString();
}
