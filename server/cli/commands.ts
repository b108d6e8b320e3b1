/** Every command of `culvert-relay`, and the texts of `--help`. */
import { helpParagraph, helpRow, paragraphsOf } from '../../shared/help-text.ts';
import { VERSION } from '../../shared/version.ts';
import { ACCOUNT_ACTIONS } from '../administration/account-actions.ts';
import type { AdminAction } from '../administration/action.ts';
import { INVITE_ACTIONS, KEY_ACTIONS } from '../administration/key-actions.ts';
import { RELAY_ACTIONS, TUNNEL_ACTIONS } from '../administration/tunnel-actions.ts';
import { type Setting, SETTINGS_BY_AREA } from '../settings.ts';
import { commandOf } from './admin-command.ts';
import { EXIT_CODE_MEANINGS, type RelayCommand, type RelayUsage } from './command.ts';
import * as maintenance from './maintenance-commands.ts';
import { SERVE_USAGE } from './serve-command.ts';

/** The commands of admin actions, in the order of the help. */
function commandsOf<Words extends string>(
  actions: Readonly<Record<Words, AdminAction>>,
  ...words: readonly Words[]
): RelayCommand[] {
  return words.flatMap((each) => commandOf(each, actions[each]));
}

/** Every command but `serve`, by the headings of the help. */
export const COMMAND_GROUPS: Readonly<Record<string, readonly RelayCommand[]>> = {
  Accounts: commandsOf(
    ACCOUNT_ACTIONS,
    'account create',
    'account list',
    'account set-plan',
    'account set-subdomain',
    'account suspend',
    'account resume',
    'account remove',
  ),
  'Keys and invitations': [
    ...commandsOf(KEY_ACTIONS, 'key create', 'key list', 'key revoke'),
    ...commandsOf(INVITE_ACTIONS, 'invite create', 'invite list', 'invite revoke'),
  ],
  Tunnels: commandsOf(TUNNEL_ACTIONS, 'tunnel list', 'tunnel close', 'tunnel suspend', 'tunnel resume'),
  Maintenance: [
    maintenance.doctorCommand,
    ...commandsOf(RELAY_ACTIONS, 'audit'),
    maintenance.backupCommand,
    maintenance.restoreCommand,
    ...commandsOf(RELAY_ACTIONS, 'secrets renew'),
    maintenance.migrateCommand,
  ],
};

export const COMMANDS: readonly RelayCommand[] = Object.values(COMMAND_GROUPS).flat();
export const ALL_USAGES: readonly RelayUsage[] = [SERVE_USAGE, ...COMMANDS];

/** The text of `culvert-relay --help`. */
export function overview(): string {
  const groups = Object.entries(COMMAND_GROUPS).map(
    ([heading, commands]) => `${heading}:\n${commands.map(commandLine).join('')}`,
  );
  return `culvert-relay ${VERSION}: a tunnel relay you run yourself

Usage: culvert-relay [COMMAND] [options]

Relay:
${commandLine(SERVE_USAGE)}
${groups.join('\n')}
Help:
${helpRow('  help COMMAND', 'Explain a command and its options')}${helpRow('  help account', 'List the account commands; "help key", "help invite" and "help tunnel" also work')}${helpRow('  --version', 'Show the version')}
Commands work on the relay's database: give them the same --data-dir or --database-url as the relay. A running relay picks up changes within a second.

${settingsHelp()}
${exitCodes()}`;
}

/** Explains one command. */
export function commandHelp(usage: RelayUsage): string {
  const { words, forms, summary, options, examples, details = '' } = usage;
  const isServe = usage === SERVE_USAGE;
  return [
    `${summary}.\n`,
    `Usage:\n${forms.map((form) => `  culvert-relay ${words} ${form}\n`).join('')}`,
    `Examples:\n${Object.entries(examples)
      .map(([line, effect]) => `  ${line}\n      ${effect}\n`)
      .join('')}`,
    ...paragraphsOf(details).map(helpParagraph),
    `Options:\n${Object.entries(options)
      .map(([name, { value, text }]) => helpRow(`  --${name}${value === undefined ? '' : ` ${value}`}`, text))
      .join('')}`,
    isServe
      ? settingsHelp()
      : `Settings:\n${helpRow('  --data-dir, --database-url', 'Location of the database. "culvert-relay help serve" lists all settings.')}`,
    exitCodes(),
  ].join('\n');
}

/** Lists the commands of a group, such as `account`. */
export function groupHelp(commands: readonly RelayUsage[]): string {
  const [first] = commands;
  return `Commands:
${commands.map(commandLine).join('')}
Run "culvert-relay help ${first?.words}" to see the options of a command.
`;
}

function commandLine({ words, forms, summary }: RelayUsage): string {
  const [, operand = ''] = /^([A-Z|]+)/.exec(forms[0] ?? '') ?? [];
  return helpRow(`  ${`${words} ${operand}`.trimEnd()}`, summary);
}

function settingsHelp(): string {
  const groups = SETTINGS_BY_AREA.map(([area, rows]) => `${area}:\n${rows.map(settingRow).join('')}`);
  return `Settings, given as options or environment variables (options take precedence).\n\n${groups.join('\n')}`;
}

function settingRow({ name, variable, fallback, meaning }: Setting<unknown>): string {
  return helpRow(
    `  --${name}`,
    `${meaning}${fallback === 'none' ? '' : ` Default: ${fallback}.`} (${variable})`,
  );
}

function exitCodes(): string {
  const lines = Object.entries(EXIT_CODE_MEANINGS).map(([code, meaning]) => `  ${code}  ${meaning}\n`);
  return `Exit codes:\n${lines.join('')}`;
}
