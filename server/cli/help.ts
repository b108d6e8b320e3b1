/** The text of `culvert-relay --help`. */
import { ALL_SETTINGS, type Setting } from '../settings.ts';

/** @returns the help text; its settings come from the table that the reader of settings uses */
export function helpText(): string {
  return `culvert-relay: a tunnel relay you run yourself

Usage:
  culvert-relay [serve] [settings] [--replace] [--detach]
      run the relay; prints "listening on http://HOST:PORT" when it takes requests; with --replace it takes over from the
      relay that serves the same data folder and port, without losing a request; with --detach it
      runs on as a process of its own when the command has ended, which is when it serves
  culvert-relay account create --name NAME --plan free|dev|team [--subdomain LABEL] [--with-key] [--json]
      make an account, and with it a key, which is printed once
  culvert-relay account create --name NAME --count NUMBER | --from FILE --plan free|dev|team [--with-key] [--json]
      make many accounts: NAME-1, NAME-2 and so on, or one for each line of a file (- is standard input)
  culvert-relay account list [--json]
      show all accounts
  culvert-relay account set-subdomain --name NAME --subdomain LABEL | --none [--json]
      give an account another subdomain, or none
  culvert-relay account suspend --name NAME --reason TEXT [--json]
      keep visitors away from its tunnels (451), and refuse its keys (403), until
  culvert-relay account resume --name NAME [--json]
      lets it go on
  culvert-relay account set-plan --name NAME --plan free|dev|team [--json]
      change an account's plan; what is open stays open
  culvert-relay account remove --name NAME [--json]
      remove an account with its keys, and end its tunnels
  culvert-relay key create --account NAME [--label TEXT] [--expires DURATION] [--name TUNNEL | --admin] [--json]
      make an API key for an account, and print it once; with --name, for the tunnel of that name only, with --admin, for
      nothing but administering the relay
  culvert-relay key list [--account NAME] [--json]
      show valid keys by their ids and first 8 characters, and when they were used last
  culvert-relay key revoke ID [--json]
      revoke a key, and close what was opened with it
  culvert-relay invite create --account NAME [--plan free|dev|team] [--ttl DURATION] [--count NUMBER] [--json]
      make addresses, each of which gives one person a key of the account, which is made if it is not there
  culvert-relay invite list [--json]
      show invitations that nobody has taken yet
  culvert-relay invite revoke ID [--json]
      make an invitation good for nobody
  culvert-relay tunnel list [--account NAME] [--json]
      show live tunnels, whose they are and how much they are used, and addresses that are suspended
  culvert-relay tunnel close ID|SLUG [--json]
      close a tunnel
  culvert-relay tunnel suspend ID|SLUG --reason TEXT [--json]
      keep visitors away from a tunnel (451), and its name from everybody if it ends, until
  culvert-relay tunnel resume ID|SLUG [--json]
      lets them in again, or frees the name
  culvert-relay doctor [--idle DURATION] [--json]
      look at everything that the relay depends on, here and through its public address, with a tunnel of its own, and say
      what to do; with --idle also whether a response may be silent for that long
  culvert-relay audit [--count NUMBER] [--json]
      show who did what, and when: the last 100 acts, or as many as are asked for
  culvert-relay backup FILE [--json]
      copy a SQLite database, while the relay runs
  culvert-relay restore FILE [--json]
      put a copy back, while no relay runs; the previous database is kept, and what was ended in it since stays ended:
      keys, links, accounts, invitations, tunnels and domains
  culvert-relay secrets renew [--json]
      end all cookies of visitors and all signed links, for example after a copy of the database was lost
  culvert-relay migrate --from sqlite:FILE [--to postgres://USER:PASSWORD@HOST/NAME] [--json]
      move everything from a SQLite file to an empty PostgreSQL database, while no relay runs; without --to, to that of
      CULVERT_DATABASE_URL, which keeps its password out of the process list
  culvert-relay migrate --undo sqlite:FILE [--json]
      use a file again from which everything was moved, as it was then

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
