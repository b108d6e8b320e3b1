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

/** @returns an event of that level, by its meaning */
function at(level: LogLevel): (meaning: string) => LogEventEntry {
  return (meaning) => ({ level, meaning });
}

const [info, warn, fail] = [at('info'), at('warn'), at('error')];

/** All log events. Their texts are stable, because alerts are built on them. */
export const LOG_EVENTS = {
  'relay starting': info('the relay has read its settings and is starting'),
  'database created': warn(
    'there was no `database`, so the relay created an empty one. This is normal at the first start. At any other time, the data folder is wrong or its disk is not mounted: stop the relay, and put the database back',
  ),
  'first key made': warn(
    'there was no API key, so the relay created one and stored it in `file`: copy the key, then delete the file. In a terminal, the relay prints the key instead',
  ),
  'first start': info(
    '`CULVERT_PUBLIC_URL` is not set, so only this machine can reach the relay. `data` is the data folder, and `next` is the command that shows the next steps. In a terminal, the relay prints both instead',
  ),
  'setting missing': warn(
    'the relay is running, but not all of its addresses work; `reason` says why and what to set',
  ),
  'setting ignored': info(
    'the environment variables in `settings` are not settings: Kubernetes adds them to each pod if a service is called `culvert` or `culvert-…`, and `culvert run` gives a relay that it starts the address of the tunnel',
  ),
  'setting unsafe': warn(
    'the relay is running, but a setting makes it less secure; `reason` says how, and what to set',
  ),
  listening: info('the relay is serving visitors, clients and the API at `url`'),
  'metrics listening': info('the relay is serving `/metrics` at `url`'),
  'start refused': fail('the relay could not start and is exiting with code 1; `reason` says what to do'),
  'relay stopping': info(
    'the relay received a signal and is shutting down; open connections have `deadline_ms` milliseconds to finish',
  ),
  'replacement begun': info(
    'another relay, started with `--replace`, is preparing to take over from this one',
  ),
  'replacement failed': warn(
    'a relay that was started with `--replace` could not take over (see `reason`); this relay continues to serve',
  ),
  'relay replaced': info(
    'another relay has taken over; open connections to this relay have `deadline_ms` milliseconds to finish',
  ),
  'taking over': info('this relay was started with `--replace` and is taking over from a running one'),
  'service manager not told': warn(
    '`systemd-notify` failed (see `error`), so systemd does not know that the relay has started',
  ),
  'not replaceable': warn(
    '`serve --replace` will not find this relay; `reason` says why. Everything else works',
  ),
  'worker hung': fail(
    'a process of the relay (see `pid`) has not responded for 10 s, so it is killed; `worker lost` follows',
  ),
  'worker lost': fail(
    'a process of the relay ended (see `pid`, `code`, `signal`) with the connections that it had; another one replaces it',
  ),
  'relay stopped': info('the relay has stored everything and is exiting'),
  'stop failed': fail('the relay is exiting, but could not complete its shutdown'),
  'relay aborted': warn(
    'the relay received a second signal, so it is dropping all connections and exiting with code 1',
  ),
  'relay crashed': fail(
    'the relay is exiting with code 1 because of a bug; please report it and include `stack`',
  ),
  'tunnel created': info('a client created a tunnel through the API'),
  'tcp port unavailable': warn(
    'the relay cannot listen on `port`, which a TCP tunnel has (see `error`); it tries again every 5 seconds. Most likely another program uses the port',
  ),
  'tunnel extended': info('a client extended a tunnel through the API; it now expires at `expires_at`'),
  'tunnel taken over': info(
    'a client took over an existing tunnel of the same name, with a new port and time to live',
  ),
  'tunnel access changed': info("a tunnel's access policy was changed through the API"),
  'link created': info(
    'a signed link was created through the API; `link` gives access to the tunnel until `expires_at`',
  ),
  'link used': info('the first browser opened a link that admits one only; `link` gives access to no other'),
  'link revoked': info('a signed link was revoked through the API; `link` no longer gives access'),
  'name kept': info('an account keeps a name from now on, with or without a tunnel'),
  'name released': info('an account has let a kept name go'),
  'visitor knocked': info(
    "a visitor is asking a tunnel's owner for access; `knock` is the id of the approval request",
  ),
  'knock answered': info('a visitor was approved or denied through the API; `admitted` says which'),
  'agent approved': info('somebody has let an MCP client at `host` use a tunnel; `agent` is its id'),
  'agent revoked': info(
    'an MCP client was revoked, by its owner through the API or by itself; its tokens no longer work',
  ),
  'agent misused': warn(
    'a code or a refresh token of an MCP client was used twice, so one of them may have been stolen: all tokens of `agent` were revoked, and the client has to ask again',
  ),
  'tunnel closed': info('a tunnel was closed through the API'),
  'tunnel expired': info('a tunnel has reached the end of its time to live'),
  'tunnel removed': info('a tunnel was removed together with its account'),
  'tunnel displaced': info('a tunnel was closed because its domain no longer belongs to its account'),
  'domain added': info('an account added `domain` through the API'),
  'domain verified': info('an account proved that it owns `domain`'),
  'domain removed': info('an account removed `domain` through the API'),
  'domain failing': info(
    'the DNS records of `domain` are wrong; unless they are corrected, the domain is removed at `ends_at`',
  ),
  'domain let go': info(
    'the DNS records of `domain` were wrong for 7 days, so it was removed from its account',
  ),
  'keys revoked': info(
    'API keys that were in use were revoked or expired (`keys` is the number of keys); all connections opened with them were closed',
  ),
  'plan changed': info('an account with live tunnels is now on the `plan` plan'),
  'invitation taken': info('someone accepted `invitation` and got a key for the account'),
  'account suspended': info(
    'an account with live tunnels was suspended: visitors to its tunnels get status 451, and requests with its keys get status 403',
  ),
  'account resumed': info('the suspension of an account with live tunnels was lifted'),
  'tunnel suspended': info('a tunnel was suspended: its visitors get status 451'),
  'tunnel resumed': info('a suspended tunnel is accepting visitors again'),
  'certificate loaded': info('the relay is now using a certificate that expires at `valid_to`'),
  'certificate refused': fail(
    'the certificate or key in the files cannot be used, has expired or is not valid yet, so the relay keeps using the pair it has; `reason` says what is wrong',
  ),
  'identity provider found': info('the identity provider at `issuer` has responded: visitors can sign in'),
  'identity provider missing': warn(
    'the identity provider at `issuer` has not responded as one (see `error`), so nobody can sign in yet. The relay tries again after `retry_ms` milliseconds; check `CULVERT_OIDC_ISSUER`',
  ),
  'identity provider failing': warn(
    'a visitor could not sign in, because the identity provider did not respond to the relay (see `error`)',
  ),
  'sign-in failed': info(
    'a visitor came back from the identity provider without a proof of identity that the relay accepts; `reason` is a code. With `invalid_client`, check `CULVERT_OIDC_CLIENT_ID` and `CULVERT_OIDC_CLIENT_SECRET`. No person is named',
  ),
  'dns listening': info(
    'the relay is answering certificate challenges over DNS (UDP and TCP) at `address`, port `port`',
  ),
  'delegation seen': info(
    'DNS challenges for `domain` are delegated to this relay, so one certificate covers all names below the domain',
  ),
  'delegation missing': warn(
    'DNS challenges for `domain` are not delegated to this relay (`reason`), so each host below the domain gets its own certificate. Create the DNS record `record`, or unset `CULVERT_DNS_PORT`',
  ),
  'http listening': info(
    "the relay is answering the certificate authority's challenges and redirecting to HTTPS at `url`",
  ),
  'certificate ordered': info(
    'the relay has ordered a certificate for `name`; `cause` is `visitor` if a visitor is waiting for it, otherwise `upkeep`',
  ),
  'certificate issued': info(
    'a certificate for `name` was issued after `ms` milliseconds and is valid until `valid_to`',
  ),
  'certificate order failed': fail(
    "ordering a certificate for `name` failed. `error` is the certificate authority's response; the next attempt is at `retry_at`",
  ),
  'certificate order limit': warn(
    "the relay will not order a certificate for `name` before `retry_at`, because the limit `CULVERT_ACME_ORDERS_PER_HOUR` has been reached, or because visitors have used half of it and the tunnel's account has already had a certificate",
  ),
  'certificate not stored': fail(
    'the certificate for `name` is in use, but would be lost on restart, because the database did not store it; the relay keeps trying',
  ),
  'clock off': fail(
    "according to this machine's clock, the new certificate for `name` is not valid yet or is already due for renewal; correct the clock",
  ),
  'client online': info("a tunnel's client connected to the relay"),
  'client offline': info(
    "a tunnel's client disconnected with the WebSocket close code `code`; code 1006 means that the connection was lost",
  ),
  'store failing': fail(
    'the database is not working (see `error`). Requests to create, close or extend tunnels get status 503; live tunnels continue to work',
  ),
  'database shared': fail(
    'while PostgreSQL could not be reached, another relay started using the same database; stop one of the two relays',
  ),
  'store thread lost': fail(
    "the embedded database's thread ended because of a bug or a lack of memory (see `error`); it restarts within seconds",
  ),
  'store thread back': info('the embedded database is available again'),
  'store recovered': info('the database is working again'),
  'store slow': warn('a database operation took `ms` milliseconds; check the disk'),
  'redis failing': fail(
    "Redis cannot be reached (see `error`). Visitors get status 503 if the tunnel's client is connected to a different relay; all other tunnels continue to work",
  ),
  'redis recovered': info('Redis can be reached again'),
  'cluster joined': info(
    'the relay has joined the cluster as number `number`; other relays reach it at `address`',
  ),
  'cluster stranger': fail(
    'a relay at `address` uses the same Redis, but a different `CULVERT_CLUSTER_SECRET`; the two relays do not communicate',
  ),
  'relay was paused': warn(
    'the process was paused for `ms` milliseconds; the relay is checking which of its tunnels have moved to other relays',
  ),
  'tunnel moved': info("a tunnel's client has reconnected through another relay"),
  'traffic not stored': fail(
    'the relay could not store its last traffic counters before it stopped; `tunnels` is the number of affected tunnels',
  ),
  'access log failing': fail(
    'the access log cannot be written (see `error`), or cannot be written fast enough. `dropped` is the number of lines lost so far; check the disk',
  ),
  'event loop stalled': warn(
    'the process was blocked for `ms` milliseconds, because it got too little CPU time or because the machine was asleep',
  ),
  'internal error': fail(
    'a request failed because of a bug; the response has the same `request_id`. Please report the bug and include `stack`',
  ),
} satisfies Readonly<Record<string, LogEventEntry>>;

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
