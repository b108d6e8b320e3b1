/** Every command of `culvert-relay` but `serve`, and the text of `--help`. */
import { ALL_SETTINGS, type Setting } from '../settings.ts';
import * as account from './account-commands.ts';
import type { RelayCommand } from './command.ts';
import * as key from './key-commands.ts';
import * as maintenance from './maintenance-commands.ts';
import * as tunnel from './tunnel-commands.ts';
import { SERVE_USAGE } from './serve-command.ts';

/** In the order of the help. */
export const COMMANDS: readonly RelayCommand[] = [
  account.createAccountCommand,
  account.listAccountsCommand,
  account.setSubdomainCommand,
  account.suspendAccountCommand,
  account.resumeAccountCommand,
  account.setPlanCommand,
  account.removeAccountCommand,
  key.createKeyCommand,
  key.listKeysCommand,
  key.revokeKeyCommand,
  key.createInvitesCommand,
  key.listInvitesCommand,
  key.revokeInviteCommand,
  tunnel.listTunnelsCommand,
  tunnel.closeTunnelCommand,
  tunnel.suspendTunnelCommand,
  tunnel.resumeTunnelCommand,
  maintenance.doctorCommand,
  maintenance.auditCommand,
  maintenance.backupCommand,
  maintenance.restoreCommand,
  maintenance.renewSecretsCommand,
  maintenance.migrateCommand,
];

export function helpText(): string {
  return `culvert-relay: a tunnel relay you run yourself

Usage:
${[SERVE_USAGE, ...COMMANDS.map(({ usage }) => usage)].map(usageLines).join('\n')}

Accounts and keys can be changed while the relay runs; it follows within a second. These commands need the same
database, so give them the same --data-dir or --database-url; they name the one they work on, and make none.

Settings, as a flag or as an environment variable (the flag wins):
${ALL_SETTINGS.map(settingLine).join('\n')}

Also --help and --version.

Exit codes: 0 stopped normally, 1 failed, 2 wrong usage or setting.`;
}

function settingLine({ name, variable, fallback, meaning }: Setting<unknown>): string {
  return `  ${`--${name}`.padEnd(18)} ${variable.padEnd(25)} ${meaning} (default: ${fallback})`;
}

function usageLines(usage: string): string {
  return usage.replaceAll(/^(?! )/gm, 'culvert-relay ').replaceAll(/^/gm, '  ');
}
