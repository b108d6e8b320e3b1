/** The commands that administer, by their words. */
import {
  createAccountCommand,
  listAccountsCommand,
  removeAccountCommand,
  resumeAccountCommand,
  setPlanCommand,
  setSubdomainCommand,
  suspendAccountCommand,
} from './account-commands.ts';
import type { Shell } from './command.ts';
import {
  createInvitesCommand,
  createKeyCommand,
  listInvitesCommand,
  listKeysCommand,
  revokeInviteCommand,
  revokeKeyCommand,
} from './key-commands.ts';
import { auditCommand, backupCommand, restoreCommand } from './maintenance-commands.ts';
import { renewSecretsCommand } from './secret-commands.ts';
import {
  closeTunnelCommand,
  listTunnelsCommand,
  resumeTunnelCommand,
  suspendTunnelCommand,
} from './tunnel-commands.ts';

export const ADMINISTRATION: ReadonlyMap<string, (shell: Shell, argv: readonly string[]) => Promise<void>> =
  new Map([
    ['account create', createAccountCommand],
    ['account list', listAccountsCommand],
    ['account set-plan', setPlanCommand],
    ['account set-subdomain', setSubdomainCommand],
    ['account suspend', suspendAccountCommand],
    ['account resume', resumeAccountCommand],
    ['account remove', removeAccountCommand],
    ['key create', createKeyCommand],
    ['key list', listKeysCommand],
    ['key revoke', revokeKeyCommand],
    ['tunnel list', listTunnelsCommand],
    ['tunnel close', closeTunnelCommand],
    ['tunnel suspend', suspendTunnelCommand],
    ['tunnel resume', resumeTunnelCommand],
    ['invite create', createInvitesCommand],
    ['invite list', listInvitesCommand],
    ['invite revoke', revokeInviteCommand],
    ['audit', auditCommand],
    ['backup', backupCommand],
    ['restore', restoreCommand],
    ['secrets renew', renewSecretsCommand],
  ]);
