/** `culvert-relay account …`. */
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
import { describeError } from '../log.ts';
import { nameOfDatabase } from '../store/database-address.ts';
import { adminCommand, failure, readAccountName, readCount, readReason, table } from './administration.ts';
import { printOnce, usageError } from './command.ts';

/** @limit Maximum number of accounts that one command can create. */
export const ACCOUNTS_AT_ONCE_MAX = 1000;

export const listAccountsCommand = adminCommand({
  words: 'account list',
  forms: ['[options]'],
  summary: 'List all accounts',
  options: {},
  examples: { 'culvert-relay account list': 'show the name, plan, subdomain and id of each account' },
  async run({ config, json, administer }, shell) {
    const accounts = await administer((administration) => administration.listAccounts());
    if (json) return shell.out(JSON.stringify({ accounts: accounts.map(viewAccount) }));
    if (accounts.length === 0) {
      return shell.out(
        `There are no accounts in ${nameOfDatabase(config.database)}. Create one with: account create`,
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
  },
});

export const setPlanCommand = adminCommand({
  words: 'account set-plan',
  forms: ['--name NAME --plan free|dev|team [options]'],
  summary: "Change an account's plan",
  options: {
    name: { value: 'NAME', text: "The account's name." },
    plan: { value: 'free|dev|team', text: 'The new plan.' },
  },
  examples: { 'culvert-relay account set-plan --name ann --plan team': 'move the account to the team plan' },
  details: `Open tunnels stay open, even if the new plan allows fewer tunnels.`,
  async run({ flags, json, administer }, shell) {
    const name = readAccountName(flags['name'], '--name');
    const plan = readPlan(flags['plan']);
    const account = await administer((administration) => administration.setPlan(name, plan));
    if (json) shell.out(JSON.stringify(viewAccount(account)));
    else shell.out(`The account "${name}" is now on the ${plan} plan. Open tunnels stay open.`);
  },
});

export const setSubdomainCommand = adminCommand({
  words: 'account set-subdomain',
  forms: ['--name NAME --subdomain LABEL [options]', '--name NAME --none [options]'],
  summary: "Change or remove an account's subdomain",
  options: {
    name: { value: 'NAME', text: "The account's name." },
    subdomain: { value: 'LABEL', text: 'The new subdomain: 2 to 63 lowercase letters, digits and hyphens.' },
    none: { text: 'Remove the subdomain.' },
  },
  examples: {
    'culvert-relay account set-subdomain --name ann --subdomain ann': 'give the account the subdomain "ann"',
    'culvert-relay account set-subdomain --name ann --none': 'remove the subdomain',
  },
  details: `Open tunnels get the new address immediately.`,
  async run({ config, flags, json, administer }, shell) {
    const name = readAccountName(flags['name'], '--name');
    if ((flags['subdomain'] === undefined) !== (flags['none'] === true))
      throw usageError('account set-subdomain needs --subdomain LABEL, or --none to remove the subdomain');
    const subdomain = readSubdomain(flags['subdomain'], config);
    const account = await administer((administration) => administration.setSubdomain(name, subdomain));
    if (json) return shell.out(JSON.stringify(viewAccount(account)));
    const address =
      subdomain === null
        ? 'no longer has a subdomain'
        : `now has its tunnels under ${subdomain}.${config.serviceDomain}`;
    shell.out(`The account "${name}" ${address}. This includes open tunnels.`);
  },
});

export const suspendAccountCommand = adminCommand({
  words: 'account suspend',
  forms: ['--name NAME --reason TEXT [options]'],
  summary: 'Suspend an account',
  options: {
    name: { value: 'NAME', text: "The account's name." },
    reason: { value: 'TEXT', text: "The reason, which is shown to the account's owner." },
  },
  examples: {
    "culvert-relay account suspend --name ann --reason 'phishing at my-app'":
      'block the account until you resume it',
  },
  details: `
    Visitors to its tunnels get status 451, requests with its API keys get status 403, and its clients are
    disconnected.`,
  async run({ flags, json, administer }, shell) {
    const name = readAccountName(flags['name'], '--name');
    const reason = readReason(flags['reason']);
    const account = await administer((administration) => administration.suspendAccount(name, reason));
    if (json) shell.out(JSON.stringify(viewAccount(account)));
    else
      shell.out(
        `Suspended the account "${name}": visitors to its tunnels get status 451, requests with its keys get status 403, and its clients are disconnected.`,
      );
  },
});

export const resumeAccountCommand = adminCommand({
  words: 'account resume',
  forms: ['--name NAME [options]'],
  summary: 'Resume a suspended account',
  options: {
    name: { value: 'NAME', text: "The account's name." },
  },
  examples: { 'culvert-relay account resume --name ann': "allow the account's visitors and keys again" },
  async run({ flags, json, administer }, shell) {
    const name = readAccountName(flags['name'], '--name');
    const account = await administer((administration) => administration.suspendAccount(name, null));
    if (json) shell.out(JSON.stringify(viewAccount(account)));
    else shell.out(`Resumed the account "${name}", including its keys and tunnels.`);
  },
});

export const removeAccountCommand = adminCommand({
  words: 'account remove',
  forms: ['--name NAME [options]'],
  summary: 'Delete an account together with its keys and tunnels',
  options: {
    name: { value: 'NAME', text: "The account's name." },
  },
  examples: {
    'culvert-relay account remove --name ann': "close the account's tunnels and delete the account",
  },
  async run({ flags, json, administer }, shell) {
    const name = readAccountName(flags['name'], '--name');
    const account = await administer((administration) => administration.removeAccount(name));
    if (json) shell.out(JSON.stringify({ ...viewAccount(account), status: 'removed' }));
    else shell.out(`Removed the account "${name}" together with its keys and tunnels.`);
  },
});

/** @throws CommandError */
export function readPlan(given: unknown): Plan {
  const plan = PLANS.find((known) => known === given);
  if (plan === undefined) throw usageError(`--plan must be one of ${PLANS.join(', ')}`);
  return plan;
}

/** @throws CommandError */
export function readSubdomain(given: unknown, config: Config): string | null {
  if (given === undefined) return null;
  if (!isSubdomain(given)) throw usageError(`--subdomain must be ${SUBDOMAIN_RULE}`);
  if (isReserved(given, config))
    throw failure(`the subdomain "${given}" is reserved; choose a different one`);
  return given;
}

/* `culvert-relay account create`: one account, or those of a whole team. */

export const createAccountCommand = adminCommand({
  words: 'account create',
  forms: ['--name NAME --plan free|dev|team [options]', '--from FILE --plan free|dev|team [options]'],
  summary: 'Create one or more accounts',
  options: {
    name: { value: 'NAME', text: "The account's name." },
    plan: { value: 'free|dev|team', text: "The account's plan." },
    subdomain: {
      value: 'LABEL',
      text: "The account's subdomain. Its tunnels are available at {slug}.LABEL.<service domain>.",
    },
    'with-key': { text: 'Also create and print an API key for each account. The key is not shown again.' },
    count: { value: 'NUMBER', text: 'Create this many accounts: NAME-1, NAME-2 and so on.' },
    from: {
      value: 'FILE',
      text: 'Create an account for each line of this file. Use - to read standard input.',
    },
  },
  examples: {
    'culvert-relay account create --name ann --plan dev --with-key':
      'create an account together with its first key',
    'culvert-relay account create --name team --count 20 --plan dev': 'create team-1 to team-20',
    'culvert-relay account create --from names.txt --plan dev': 'create an account for each line of the file',
  },
  details: `If any of the names is taken, no account is created.`,
  async run({ config, flags, json, administer }, shell) {
    const names = readNames(flags);
    const plan = readPlan(flags['plan']);
    const subdomain = readSubdomain(flags['subdomain'], config);
    const isMany = flags['count'] !== undefined || flags['from'] !== undefined;
    if (isMany && subdomain !== null) throw usageError('--subdomain can only be used for one account');
    const withKeys = flags['with-key'] === true;
    await administer(async (administration) => {
      const known = new Set((await administration.listAccounts()).map(({ name }) => name));
      const taken = isMany ? names.find((name) => known.has(name)) : undefined;
      if (taken !== undefined) throw failure(`the name "${taken}" is taken; no account was created`);
      const made = await administration.createAccounts({ names, plan, subdomain, withKeys });
      if (isMany && !json)
        shell.err(
          `Created ${made.length} accounts.${withKeys ? ' Their keys will not be shown again:' : ''}`,
        );
      const lines = isMany ? linesOfMany(made, json) : made.flatMap((one) => linesOf(one, json));
      await printOnce(shell, lines, async () => {
        // Without keys, nothing is lost.
        if (withKeys) for (const { account } of made) await administration.removeAccount(account.name);
      });
    });
  },
});

function linesOf({ account, key }: MadeAccount, json: boolean): string[] {
  const { name, plan, subdomain } = account;
  if (json) return [JSON.stringify(viewMade({ account, key }))];
  const label = subdomain === null ? 'no subdomain' : `subdomain ${subdomain}`;
  const created = `Created the account "${name}" (${plan} plan, ${label}).`;
  if (key === undefined) return [`${created} Create a key for it with: key create`];
  return [`${created} Its key will not be shown again:`, key];
}

function linesOfMany(made: readonly MadeAccount[], json: boolean): string[] {
  if (json) return [JSON.stringify({ accounts: made.map(viewMade) })];
  return table(made.map(({ account, key = '' }) => [account.name, key]));
}

function viewMade({ account, key }: MadeAccount) {
  return key === undefined ? viewAccount(account) : { ...viewAccount(account), key };
}

/** The names of the accounts: one, or as many with a number, or those of a file. */
function readNames({ name, count, from }: Readonly<Record<string, unknown>>): string[] {
  if (typeof from === 'string') {
    if (name !== undefined || count !== undefined)
      throw usageError('--from cannot be combined with --name or --count');
    return readFile(from);
  }
  const given = readAccountName(name, '--name');
  if (count === undefined) return [given];
  const number = readCount(count, '--count', ACCOUNTS_AT_ONCE_MAX);
  return Array.from({ length: number }, (_, index) => readAccountName(`${given}-${index + 1}`, '--name'));
}

function readFile(path: string): string[] {
  const names = readLines(path, ACCOUNTS_AT_ONCE_MAX, 'names');
  const wrong = names.findIndex((name, index) => !isAccountName(name) || names.indexOf(name) !== index);
  if (wrong !== -1)
    throw usageError(`--from: "${names[wrong]}" is not a valid account name, or appears twice`);
  return names;
}

/**
 * The lines of a file that are not empty, trimmed; `-` is the standard input.
 *
 * @param what the lines contain
 * @throws CommandError for more than `max` lines, or none
 */
export function readLines(path: string, max: number, what: string): string[] {
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
