/**
 * What the relay reports to its operator (docs/operating/monitoring.md): one line per event, each event with a fixed level and
 * text.
 */

export const LOG_FORMATS = ['pretty', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

interface LogEventEntry {
  readonly level: LogLevel;
  /** when it is logged, and how to respond */
  readonly meaning: string;
}

/** All log events. Their texts are stable, because alerts are built on them. */
export const LOG_EVENTS = {
  'relay starting': { level: 'info', meaning: 'the program has read its settings' },
  'first key made': {
    level: 'warn',
    meaning:
      'there was no API key, so one was made. It is in `file`: copy it, and remove the file. On a terminal it is shown',
  },
  'first start': {
    level: 'info',
    meaning:
      'without `CULVERT_PUBLIC_URL`, so only this machine reaches the relay; what is kept is in `data`, and `next` has what to set next. On a terminal that is shown',
  },
  'setting missing': {
    level: 'warn',
    meaning:
      'the relay serves, but not at all addresses that `CULVERT_PUBLIC_URL` says; `reason` has what follows and what to set',
  },
  'setting ignored': {
    level: 'warn',
    meaning: '`setting` no longer has an effect: remove it. Version 1.0 refuses it',
  },
  'setting unsafe': {
    level: 'warn',
    meaning: 'the relay serves, but a setting weakens its protection; `reason` says how, and what to set',
  },
  listening: { level: 'info', meaning: 'visitors, clients and the API are served on `url`' },
  'metrics listening': { level: 'info', meaning: '`/metrics` is served on `url`' },
  'start refused': { level: 'error', meaning: 'the relay ends with exit code 1; `reason` says what to do' },
  'relay stopping': { level: 'info', meaning: 'a signal came; open connections get `deadline_ms` to finish' },
  'replacement begun': {
    level: 'info',
    meaning: 'another relay, started with `--replace`, loads what it needs to take over from this one',
  },
  'replacement failed': {
    level: 'warn',
    meaning: 'the other relay does not take over, see `reason`; this one goes on',
  },
  'relay replaced': {
    level: 'info',
    meaning: 'another relay serves now; open connections get `deadline_ms` to finish here',
  },
  'taking over': {
    level: 'info',
    meaning: 'started with `--replace`: a relay serves that this one takes over from',
  },
  'service manager not told': {
    level: 'warn',
    meaning: '`systemd-notify` has failed, see `error`; systemd takes the relay for one that does not start',
  },
  'not replaceable': {
    level: 'warn',
    meaning: '`serve --replace` will not find this relay; `reason` says why. Everything else works',
  },
  'relay stopped': { level: 'info', meaning: 'everything is stored, the program ends' },
  'stop failed': { level: 'error', meaning: 'the program ends, but could not finish everything' },
  'relay aborted': { level: 'warn', meaning: 'a second signal came; everything is cut, exit code 1' },
  'relay crashed': {
    level: 'error',
    meaning: 'a bug ends the program with exit code 1. Please report it with `stack`',
  },
  'tunnel created': { level: 'info', meaning: 'through the API' },
  'tunnel extended': { level: 'info', meaning: 'through the API, to `expires_at`' },
  'tunnel taken over': {
    level: 'info',
    meaning: 'a client has come back to the tunnel of its name, with the port and the life it now asks for',
  },
  'tunnel access changed': { level: 'info', meaning: 'through the API: other visitors may come in' },
  'link created': {
    level: 'info',
    meaning: 'through the API: `link` lets visitors into a tunnel until `expires_at`',
  },
  'link revoked': { level: 'info', meaning: 'through the API: `link` lets nobody in any more' },
  'visitor knocked': { level: 'info', meaning: 'somebody asks the owner of a tunnel to be let in: `knock`' },
  'knock answered': {
    level: 'info',
    meaning: 'through the API: the visitor was let in, or not (`admitted`)',
  },
  'tunnel closed': { level: 'info', meaning: 'through the API' },
  'tunnel expired': { level: 'info', meaning: 'its time to live was over' },
  'tunnel removed': { level: 'info', meaning: 'its account was removed' },
  'tunnel displaced': { level: 'info', meaning: "its domain is not its account's any more" },
  'domain added': { level: 'info', meaning: 'through the API: an account claims `domain`' },
  'domain verified': {
    level: 'info',
    meaning: 'through the API: its account has proven that `domain` is theirs',
  },
  'domain removed': { level: 'info', meaning: 'through the API' },
  'domain failing': {
    level: 'info',
    meaning: 'the records of `domain` are not as they should be; if that stays so, it is let go at `ends_at`',
  },
  'domain let go': {
    level: 'info',
    meaning: 'the records of `domain` were wrong for 7 days: its account has it no more',
  },
  'keys revoked': {
    level: 'info',
    meaning:
      '`keys` keys that were in use were revoked, or their time is over; what was opened with them was closed',
  },
  'plan changed': { level: 'info', meaning: 'an account with live tunnels is now on `plan`' },
  'invitation taken': {
    level: 'info',
    meaning: 'somebody has taken the `invitation` for a key of the account',
  },
  'account suspended': {
    level: 'info',
    meaning: 'an account with live tunnels was suspended: visitors of them get 451, its keys 403',
  },
  'account resumed': { level: 'info', meaning: 'a suspended account with live tunnels may go on' },
  'tunnel suspended': { level: 'info', meaning: 'visitors of the tunnel get 451' },
  'tunnel resumed': { level: 'info', meaning: 'a suspended tunnel takes visitors again' },
  'name clash': {
    level: 'warn',
    meaning:
      "an earlier version let the tunnel `slug` have the name of an account's subdomain. Both continue; close the tunnel, because it can set cookies for that account's tunnels",
  },
  'certificate loaded': {
    level: 'info',
    meaning: 'the certificate is used from now on; it ends at `valid_to`',
  },
  'certificate refused': {
    level: 'error',
    meaning:
      'certificate or key have changed and cannot be used; the previous ones stay in use. `reason` says what is wrong',
  },
  'dns listening': {
    level: 'info',
    meaning: 'the challenges of certificates are served over DNS, UDP and TCP, on `address` and `port`',
  },
  'delegation seen': {
    level: 'info',
    meaning:
      'the DNS leads here for the challenges of `domain`, which gets one certificate for all names below it',
  },
  'delegation missing': {
    level: 'warn',
    meaning:
      'the DNS does not lead here for the challenges of `domain` (`reason`), so each host below it gets a certificate of its own. Add `record`, or give up CULVERT_DNS_PORT',
  },
  'http listening': {
    level: 'info',
    meaning: 'proofs for the certificate authority, and redirects to https, are served on `url`',
  },
  'certificate ordered': {
    level: 'info',
    meaning: 'an order for `name` has begun, because a `visitor` waits for it or for `upkeep`',
  },
  'certificate issued': { level: 'info', meaning: 'there is one for `name`, until `valid_to`; it took `ms`' },
  'certificate order failed': {
    level: 'error',
    meaning:
      'there is no new certificate for `name`, and none is ordered before `retry_at`. `error` has what the authority says',
  },
  'certificate order limit': {
    level: 'warn',
    meaning:
      'no certificate is ordered for `name` before `retry_at`: there were CULVERT_ACME_ORDERS_PER_HOUR in the last hour, or half of what visitors may have, and its account has had one of them',
  },
  'certificate not stored': {
    level: 'error',
    meaning:
      'the certificate for `name` is in use, but a restart would lose it; it is stored as soon as the database takes it',
  },
  'clock off': {
    level: 'error',
    meaning:
      'by the clock of this machine, the new certificate for `name` was to be renewed already, or is not good yet: set the clock',
  },
  'client online': { level: 'info', meaning: "a tunnel's control socket was opened" },
  'client offline': {
    level: 'info',
    meaning: "a tunnel's control socket has ended, with the close code `code`; 1006 is a lost connection",
  },
  'store failing': {
    level: 'error',
    meaning: 'the database fails: creates, closes and extends get 503, live tunnels continue; see `error`',
  },
  'database shared': {
    level: 'error',
    meaning:
      'while PostgreSQL could not be reached, another relay has begun to serve on the same database: stop one of them',
  },
  'store thread lost': {
    level: 'error',
    meaning:
      'the thread of the embedded database has ended, because of a bug or too little memory; it is restarted within seconds, see `error`',
  },
  'store thread back': { level: 'info', meaning: 'the embedded database is available again' },
  'store recovered': { level: 'info', meaning: 'the database works again' },
  'store slow': { level: 'warn', meaning: 'one operation took `ms`: check the disk' },
  'redis failing': {
    level: 'error',
    meaning:
      'Redis cannot be reached: tunnels whose client is on another relay get 503, others continue; see `error`',
  },
  'redis recovered': { level: 'info', meaning: 'Redis can be reached again' },
  'cluster joined': {
    level: 'info',
    meaning: 'the relay serves as number `number`, reached by others at `address`',
  },
  'cluster stranger': {
    level: 'error',
    meaning:
      'a relay that uses the same Redis, at `address`, does not know the CULVERT_CLUSTER_SECRET of this one; the two do not talk to each other',
  },
  'relay was paused': {
    level: 'warn',
    meaning: 'the process stood still for `ms`; it asks which of its tunnels have moved to other relays',
  },
  'tunnel moved': { level: 'info', meaning: 'its client has a newer control socket on another relay' },
  'traffic not stored': {
    level: 'error',
    meaning: 'the relay has stopped and the last counters of `tunnels` tunnels are lost',
  },
  'access log failing': {
    level: 'error',
    meaning:
      'lines of the access log cannot be written (`error`), or not fast enough; `dropped` are lost so far. Check the disk',
  },
  'event loop stalled': {
    level: 'warn',
    meaning: 'the process could do nothing for `ms`: too little CPU, or the machine was asleep',
  },
  'internal error': {
    level: 'error',
    meaning: 'a bug; the response has the same `request_id`. Please report it with `stack`',
  },
} as const satisfies Readonly<Record<string, LogEventEntry>>;

export type LogEvent = keyof typeof LOG_EVENTS;

/**
 * Values logged with an event, named in snake case as in the API. Flat, so that no request, account or error is logged
 * as a whole with its secrets.
 */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Writes an event to the operator's log. */
export type Log = (event: LogEvent, fields?: LogFields) => void;

/** The text of any thrown value, including its cause, without a stack. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describeError(error.cause)}`;
}

/** Log fields for an unexpected error. */
export function errorFields(error: unknown): LogFields {
  return { error: describeError(error), stack: error instanceof Error ? error.stack : undefined };
}

/** Identifies a request to its client and in the log, so that the two can be matched. */
export const REQUEST_ID_FIELD = 'X-Request-Id';
