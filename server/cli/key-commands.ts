/** `culvert-relay key …` (README.md). */
import { shownScope } from '../accounts/key-scope.ts';
import { PLAN_RULES } from '../accounts/plans.ts';
import { isScopeName, SCOPE_NAME_RULE } from '../administration/rules.ts';
import { timestamp, timestampOr, viewKey } from '../administration/views.ts';
import { KEY_TTL_CEILING_SECONDS } from '../limits.ts';
import type { KeyScope } from '../store/records.ts';
import {
  administering,
  readAccountName,
  readAdministration,
  readLabel,
  readOptionalName,
  readTtl,
  table,
} from './administration.ts';
import { type Shell, usageError } from './command.ts';

/** `key create`; throws CommandError. */
export async function createKeyCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['account', 'label', 'expires', 'name'], {
    switches: ['admin'],
  });
  const name = readAccountName(flags['account'], '--account');
  const wanted = {
    label: readLabel(flags['label'], '--label'),
    ttl: readTtl(flags['expires'], '--expires', KEY_TTL_CEILING_SECONDS),
    scope: readScope(flags),
  };
  const { key, record, account } = await administering(shell, config, (administration) =>
    administration.createKey(name, wanted),
  );
  const { id, createdAt, expiresAt } = record;
  const { title, customNames } = PLAN_RULES[account.plan];
  if (wanted.scope.kind === 'tunnel' && !customNames) {
    shell.err(
      `culvert-relay: the account "${name}" is on the plan ${title}, which allows no names: this key makes no tunnel`,
    );
    shell.err(`  before: culvert-relay account set-plan --name "${name}" --plan dev`);
  }
  if (json) return shell.out(JSON.stringify({ id, account: name, key, created_at: timestamp(createdAt) }));
  const end = expiresAt === null ? '' : `, good until ${timestamp(expiresAt)}`;
  shell.out(`Created a key ${purposeOf(wanted.scope)} the account "${name}"${end}. It is shown only now:`);
  shell.out(key);
}

/** `key list`; throws CommandError. */
export async function listKeysCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['account']);
  const name = readOptionalName(flags['account'], '--account');
  const keys = await administering(shell, config, (administration) => administration.listKeys(name));
  if (json) return shell.out(JSON.stringify({ keys: keys.map(viewKey) }));
  if (keys.length === 0) return shell.out('There are no valid keys. Make one with: key create');
  const rows = keys.map((key) => [
    `${key.hint}…`,
    key.account,
    key.label === '' ? '-' : key.label,
    shownScope(key.scope),
    timestampOr('-', key.lastUsedAt),
    timestampOr('-', key.expiresAt),
    timestamp(key.createdAt),
    key.id,
  ]);
  const titles = ['KEY', 'ACCOUNT', 'LABEL', 'SCOPE', 'LAST USED', 'EXPIRES', 'CREATED', 'ID'];
  for (const line of table([titles, ...rows])) shell.out(line);
}

/** `key revoke ID`; throws CommandError. */
export async function revokeKeyCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, operands, json } = readAdministration(shell, argv, [], { operands: 1 });
  const [id] = operands;
  if (id === undefined) throw usageError('key revoke takes the id of a key; key list shows it');
  const key = await administering(shell, config, (administration) => administration.revokeKey(id));
  if (json) shell.out(JSON.stringify({ ...viewKey(key), status: 'revoked' }));
  else shell.out(`Revoked the key ${key.hint}… of the account "${key.account}".`);
}

function purposeOf(scope: KeyScope): string {
  switch (scope.kind) {
    case 'all':
      return 'for';
    case 'admin':
      return 'to administer the relay with, of';
    case 'tunnel':
      return `for the tunnel "${scope.name}" of`;
  }
}

function readScope({ name, admin }: Readonly<Record<string, unknown>>): KeyScope {
  if (admin === true && name !== undefined)
    throw usageError('--admin and --name exclude each other: a key is for administration or for a tunnel');
  if (admin === true) return { kind: 'admin' };
  if (name === undefined) return { kind: 'all' };
  if (isScopeName(name)) return { kind: 'tunnel', name };
  throw usageError(`--name takes ${SCOPE_NAME_RULE}`);
}
