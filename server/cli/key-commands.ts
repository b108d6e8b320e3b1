/** `culvert-relay key …` (README.md). */
import type { KeyListing } from '../store/records.ts';
import { issueKey } from '../accounts/accounts.ts';
import { systemClock } from '../clock.ts';
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

/** `key create`; throws CommandError. */
export async function createKeyCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['account']);
  const name = readAccountName(flags['account'], '--account');
  const { key, record } = await withStore(config, async (store) => {
    const account = await store.findAccount(name);
    if (account === undefined) throw noSuchAccount(name, config);
    return issueKey(store, systemClock, account);
  });
  const { id, createdAt } = record;
  if (json) return shell.out(JSON.stringify({ id, account: name, key, created_at: timestamp(createdAt) }));
  shell.out(`Created a key for the account "${name}". It is shown only now:`);
  shell.out(key);
}

/** `key list`; throws CommandError. */
export async function listKeysCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['account']);
  const name = flags['account'] === undefined ? undefined : readAccountName(flags['account'], '--account');
  const keys = await withStore(config, async (store) => {
    if (name !== undefined && (await store.findAccount(name)) === undefined)
      throw noSuchAccount(name, config);
    return store.listKeys(name);
  });
  if (json) return shell.out(JSON.stringify({ keys: keys.map(viewOf) }));
  if (keys.length === 0) return shell.out('There are no valid keys. Make one with: key create');
  const rows = keys.map((key) => [`${key.hint}…`, key.account, timestamp(key.createdAt), key.id]);
  for (const line of table([['KEY', 'ACCOUNT', 'CREATED', 'ID'], ...rows])) shell.out(line);
}

/** `key revoke ID`; throws CommandError. */
export async function revokeKeyCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, operands, json } = readAdministration(shell, argv, [], 1);
  const [id] = operands;
  if (id === undefined) throw usageError('key revoke takes the id of a key; key list shows it');
  const key = await withStore(config, (store) => store.revokeKey(id, systemClock.now()));
  if (key === undefined) {
    throw failure(
      `there is no valid key with the id "${id}" in ${nameOfDatabase(config.database)}; key list shows those there are`,
    );
  }
  if (json) shell.out(JSON.stringify({ ...viewOf(key), status: 'revoked' }));
  else shell.out(`Revoked the key ${key.hint}… of the account "${key.account}".`);
}

function viewOf({ id, account, hint, createdAt }: KeyListing) {
  return { id, account, hint, created_at: timestamp(createdAt) };
}
