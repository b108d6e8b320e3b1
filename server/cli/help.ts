/** The text of `culvert-relay --help`. */
import { SETTING_NAMES, type SettingName, SETTINGS, variableOf } from '../settings.ts';

/** @returns the help text; its settings come from the table that the reader of settings uses */
export function helpText(): string {
  return `culvert-relay: a tunnel relay you run yourself

Usage:
  culvert-relay [serve] [settings]
      run the relay; prints "listening on http://HOST:PORT" when it takes requests
  culvert-relay account create --name NAME --plan free|dev|team [--subdomain LABEL] [--json]
      make an account
  culvert-relay account list [--json]
      show all accounts
  culvert-relay account set-plan --name NAME --plan free|dev|team [--json]
      change an account's plan; what is open stays open
  culvert-relay account remove --name NAME [--json]
      remove an account with its keys, and end its tunnels
  culvert-relay key create --account NAME [--json]
      make an API key for an account, and print it once
  culvert-relay key list [--account NAME] [--json]
      show valid keys by their ids and first 8 characters
  culvert-relay key revoke ID [--json]
      revoke a key, and close what was opened with it
  culvert-relay migrate --from sqlite:FILE [--to postgres://USER:PASSWORD@HOST/NAME] [--json]
      copy everything from a SQLite file to an empty PostgreSQL database, while no relay runs; without --to, to that of
      CULVERT_DATABASE_URL, which keeps its password out of the process list

Accounts and keys can be changed while the relay runs; it follows within a second. These commands need the same
database, so give them the same --data-dir or --database-url.

Settings, as a flag or as an environment variable (the flag wins):
${SETTING_NAMES.map(settingLine).join('\n')}

Also --help and --version.

Exit codes: 0 stopped normally, 1 failed, 2 wrong usage or setting.`;
}

function settingLine(name: SettingName): string {
  const { fallback, meaning } = SETTINGS[name];
  return `  ${`--${name}`.padEnd(18)} ${variableOf(name).padEnd(25)} ${meaning} (default: ${fallback})`;
}
