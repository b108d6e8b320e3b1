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
      'there was no API key, so the relay created one. It is in `file`: copy it, then delete the file. On a terminal it is shown instead',
  },
  'first start': {
    level: 'info',
    meaning:
      '`CULVERT_PUBLIC_URL` is not set, so only this machine can reach the relay. `data` is its data folder, `next` the page with the next steps. On a terminal they are shown instead',
  },
  'setting missing': {
    level: 'warn',
    meaning: 'the relay runs, but not all of its addresses work; `reason` says why and what to set',
  },
  'setting ignored': {
    level: 'warn',
    meaning: '`setting` no longer has an effect: remove it. Version 1.0 rejects it',
  },
  'setting unsafe': {
    level: 'warn',
    meaning: 'the relay runs, but a setting weakens its protection; `reason` says how, and what to set',
  },
  listening: { level: 'info', meaning: 'visitors, clients and the API are served on `url`' },
  'metrics listening': { level: 'info', meaning: '`/metrics` is served on `url`' },
  'start refused': { level: 'error', meaning: 'the relay ends with exit code 1; `reason` says what to do' },
  'relay stopping': {
    level: 'info',
    meaning: 'the relay received a signal; open connections have `deadline_ms` to finish',
  },
  'replacement begun': {
    level: 'info',
    meaning: 'another relay, started with `--replace`, prepares to take over from this one',
  },
  'replacement failed': {
    level: 'warn',
    meaning: 'the other relay does not take over, see `reason`; this one continues',
  },
  'relay replaced': {
    level: 'info',
    meaning: 'another relay has taken over; open connections have `deadline_ms` to finish here',
  },
  'taking over': {
    level: 'info',
    meaning: 'started with `--replace`: this relay takes over from a running one',
  },
  'service manager not told': {
    level: 'warn',
    meaning: '`systemd-notify` failed, see `error`; systemd considers the relay not started',
  },
  'not replaceable': {
    level: 'warn',
    meaning: '`serve --replace` cannot find this relay; `reason` says why. Everything else works',
  },
  'relay stopped': { level: 'info', meaning: 'everything is stored, and the program ends' },
  'stop failed': { level: 'error', meaning: 'the program ends, but could not finish everything' },
  'relay aborted': {
    level: 'warn',
    meaning: 'the relay received a second signal; all connections are cut, and the exit code is 1',
  },
  'relay crashed': {
    level: 'error',
    meaning: 'a bug ends the program with exit code 1. Please report it with `stack`',
  },
  'tunnel created': { level: 'info', meaning: 'through the API' },
  'tunnel extended': { level: 'info', meaning: 'through the API, to `expires_at`' },
  'tunnel taken over': {
    level: 'info',
    meaning: 'a client has reconnected to the tunnel with its name, with a new port and time to live',
  },
  'tunnel access changed': { level: 'info', meaning: 'through the API: the access policy has changed' },
  'link created': {
    level: 'info',
    meaning: 'through the API: `link` gives access to a tunnel until `expires_at`',
  },
  'link revoked': { level: 'info', meaning: 'through the API: `link` no longer gives access' },
  'visitor knocked': { level: 'info', meaning: 'a visitor asks the owner of a tunnel for access: `knock`' },
  'knock answered': {
    level: 'info',
    meaning: 'through the API: the visitor was approved or denied (`admitted`)',
  },
  'tunnel closed': { level: 'info', meaning: 'through the API' },
  'tunnel expired': { level: 'info', meaning: 'its time to live has passed' },
  'tunnel removed': { level: 'info', meaning: 'its account was removed' },
  'tunnel displaced': { level: 'info', meaning: 'its domain no longer belongs to its account' },
  'domain added': { level: 'info', meaning: 'through the API: an account has added `domain`' },
  'domain verified': {
    level: 'info',
    meaning: 'through the API: an account has proven that it owns `domain`',
  },
  'domain removed': { level: 'info', meaning: 'through the API' },
  'domain failing': {
    level: 'info',
    meaning: 'the records of `domain` are wrong; unless that changes, the domain is removed at `ends_at`',
  },
  'domain let go': {
    level: 'info',
    meaning: 'the records of `domain` were wrong for 7 days, so it was removed from its account',
  },
  'keys revoked': {
    level: 'info',
    meaning:
      '`keys` keys that were in use were revoked or have expired; everything opened with them was closed',
  },
  'plan changed': { level: 'info', meaning: 'an account with live tunnels now has the plan `plan`' },
  'invitation taken': {
    level: 'info',
    meaning: 'someone used `invitation` to get a key of the account',
  },
  'account suspended': {
    level: 'info',
    meaning: 'an account with live tunnels was suspended: visitors of its tunnels get 451, its keys get 403',
  },
  'account resumed': { level: 'info', meaning: 'a suspended account with live tunnels was resumed' },
  'tunnel suspended': { level: 'info', meaning: 'visitors of the tunnel get 451' },
  'tunnel resumed': { level: 'info', meaning: 'a suspended tunnel accepts visitors again' },
  'name clash': {
    level: 'warn',
    meaning:
      "an earlier version allowed the tunnel `slug` to have the name of an account's subdomain. Both continue to work. Close the tunnel, because it can set cookies for the tunnels of that account",
  },
  'certificate loaded': {
    level: 'info',
    meaning: 'the certificate is in use; it expires at `valid_to`',
  },
  'certificate refused': {
    level: 'error',
    meaning:
      'the certificate or key has changed and cannot be used; the previous pair stays in use. `reason` says what is wrong',
  },
  'dns listening': {
    level: 'info',
    meaning: 'certificate challenges are answered over DNS (UDP and TCP) on `address` and `port`',
  },
  'delegation seen': {
    level: 'info',
    meaning:
      'the challenges of `domain` are delegated to this relay, so the domain gets one certificate for all names below it',
  },
  'delegation missing': {
    level: 'warn',
    meaning:
      'the challenges of `domain` are not delegated to this relay (`reason`), so each host below it gets its own certificate. Add `record`, or remove CULVERT_DNS_PORT',
  },
  'http listening': {
    level: 'info',
    meaning: 'challenges of the certificate authority and redirects to https are served on `url`',
  },
  'certificate ordered': {
    level: 'info',
    meaning: 'an order for `name` has begun; `cause` is a waiting `visitor`, or `upkeep`',
  },
  'certificate issued': {
    level: 'info',
    meaning: 'a certificate for `name` was issued, valid until `valid_to`; it took `ms`',
  },
  'certificate order failed': {
    level: 'error',
    meaning:
      'ordering a certificate for `name` failed; the next try is at `retry_at`. `error` is the response of the authority',
  },
  'certificate order limit': {
    level: 'warn',
    meaning:
      'no certificate is ordered for `name` before `retry_at`: the limit CULVERT_ACME_ORDERS_PER_HOUR is reached, or visitors have used half of it and the account of the tunnel has already had one',
  },
  'certificate not stored': {
    level: 'error',
    meaning:
      'the certificate for `name` is in use, but would be lost in a restart; it is stored as soon as the database accepts it',
  },
  'clock off': {
    level: 'error',
    meaning:
      'according to the clock of this machine, the new certificate for `name` is already due for renewal, or not valid yet: set the clock',
  },
  'client online': { level: 'info', meaning: "a tunnel's control socket was opened" },
  'client offline': {
    level: 'info',
    meaning: "a tunnel's control socket has ended, with the close code `code`; 1006 is a lost connection",
  },
  'store failing': {
    level: 'error',
    meaning:
      'the database fails, see `error`: creating, closing and extending tunnels gets 503; live tunnels continue',
  },
  'database shared': {
    level: 'error',
    meaning:
      'while PostgreSQL could not be reached, another relay started to use the same database: stop one of them',
  },
  'store thread lost': {
    level: 'error',
    meaning:
      'the thread of the embedded database ended because of a bug or too little memory, see `error`; it restarts within seconds',
  },
  'store thread back': { level: 'info', meaning: 'the embedded database is available again' },
  'store recovered': { level: 'info', meaning: 'the database works again' },
  'store slow': { level: 'warn', meaning: 'an operation took `ms`: check the disk' },
  'redis failing': {
    level: 'error',
    meaning:
      'Redis cannot be reached, see `error`: tunnels whose client is connected to another relay get 503; others continue',
  },
  'redis recovered': { level: 'info', meaning: 'Redis can be reached again' },
  'cluster joined': {
    level: 'info',
    meaning: 'the relay has joined as number `number`; other relays reach it at `address`',
  },
  'cluster stranger': {
    level: 'error',
    meaning:
      'a relay at `address` uses the same Redis, but a different CULVERT_CLUSTER_SECRET; the two do not communicate',
  },
  'relay was paused': {
    level: 'warn',
    meaning:
      'the process was paused for `ms`; the relay checks which of its tunnels have moved to other relays',
  },
  'tunnel moved': { level: 'info', meaning: 'its client has a newer control socket on another relay' },
  'traffic not stored': {
    level: 'error',
    meaning: 'the relay has stopped, and the last counters of `tunnels` tunnels are lost',
  },
  'access log failing': {
    level: 'error',
    meaning:
      'lines of the access log cannot be written (`error`), or not fast enough; `dropped` lines are lost so far. Check the disk',
  },
  'event loop stalled': {
    level: 'warn',
    meaning: 'the process was blocked for `ms`: too little CPU time, or the machine was asleep',
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
