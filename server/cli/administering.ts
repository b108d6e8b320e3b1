/** The commands that administer accounts and keys, by their words. */
import {
  createAccountCommand,
  listAccountsCommand,
  removeAccountCommand,
  setPlanCommand,
} from './account-commands.ts';
import type { Shell } from './command.ts';
import { createKeyCommand, listKeysCommand, revokeKeyCommand } from './key-commands.ts';

export const ADMINISTRATION: ReadonlyMap<string, (shell: Shell, argv: readonly string[]) => Promise<void>> =
  new Map([
    ['account create', createAccountCommand],
    ['account list', listAccountsCommand],
    ['account set-plan', setPlanCommand],
    ['account remove', removeAccountCommand],
    ['key create', createKeyCommand],
    ['key list', listKeysCommand],
    ['key revoke', revokeKeyCommand],
  ]);
