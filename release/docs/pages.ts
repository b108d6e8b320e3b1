/** Every generated page, with the function that generates it. */
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { EN } from '../../desktop/app/messages/en.ts';
import { WINDOW_KEYS } from '../../desktop/app/messages/window-keys.ts';
import { KEYS } from '../../desktop/cli/view/frame.ts';
import { EXIT_CODE_MEANINGS as CLIENT_CODES } from '../../desktop/client/failures.ts';
import { EXIT_CODE_MEANINGS as RELAY_CODES } from '../../server/cli/command.ts';
import { LOG_EVENTS } from '../../server/log.ts';
import { METRICS } from '../../server/observe/metrics.ts';
import { ALL_API_ERRORS, VISITOR_ERRORS } from '../../shared/errors.ts';
import { ROOT } from '../repository.ts';
import { culvertPage, projectPage } from './culvert-page.ts';
import { limitsPage } from './limits-page.ts';
import { code, markdownTable, pageStart, prose, sentence } from './page.ts';
import { culvertRelayPage, settingsPage } from './relay-page.ts';
import { restPage } from './rest-page.ts';

const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/reference/culvert.md': culvertPage,
  'docs/reference/culvert-relay.md': culvertRelayPage,
  'docs/reference/culvert-yml.md': projectPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/exit-codes.md': exitCodesPage,
  'docs/reference/limits.md': limitsPage,
  'docs/reference/log-events.md': logEventsPage,
  'docs/reference/metrics.md': metricsPage,
  'docs/reference/rest.md': restPage,
  'docs/reference/settings.md': settingsPage,
  'docs/reference/shortcuts.md': shortcutsPage,
};

export const GENERATED: readonly string[] = Object.keys(PAGES);

/** @returns the text of a generated page, formatted */
export async function generate(path: string): Promise<string> {
  const make = PAGES[path];
  if (make === undefined) throw new Error(`${path} is not generated`);
  const options = await resolveConfig(join(ROOT, path));
  return await format(await make(), { ...options, parser: 'markdown' });
}

const ERRORS_INTRODUCTION = `Programs should rely on an error's code, which never changes. The text is meant for human readers.

- [Errors for visitors](#errors-for-visitors): responses at the address of a tunnel, with the code in the \`Culvert-Error\` header. Visitors
whose \`Accept\` header prefers HTML get a page; all others get \`{"error", "code"}\` as JSON.
- [Errors of the API](#errors-of-the-api): responses of the REST interface and the WebSocket endpoints, \`{"error", "code"}\` as JSON. The
\`Culvert-Error-Values\` header has the variable parts of the text, if there are any.

Responses with status 429 and 503 have a \`Retry-After\` header in whole seconds. \`…\` stands for a variable part of a text.`;

function errorsPage(): string {
  const visitors = Object.entries(VISITOR_ERRORS).map(([name, { status, title, text }]) =>
    section(name, `${status}: ${title}. ${text}`, name === 'method-not-allowed' ? 'visitor' : ''),
  );
  const api = ALL_API_ERRORS.toSorted((a, b) => a.status - b.status).map(({ code: name, status, text }) =>
    section(name, `${status}: ${code(text.replaceAll(/\{\w+\}/g, '…'))}`),
  );
  return [
    pageStart('Errors', 'shared/errors.ts and release/docs/pages.ts', ERRORS_INTRODUCTION),
    '## Errors for visitors\n',
    ...visitors,
    '## Errors of the API\n',
    ...api,
  ].join('\n');
}

/** @param kind distinguishes a code that both lists have; the heading of the API's error is its anchor */
function section(name: string, first: string, kind = ''): string {
  const help = ERROR_HELP[kind === '' ? name : `${kind}:${name}`];
  if (help === undefined) throw new Error(`release/docs/pages.ts does not explain ${name}`);
  return `### ${code(name)}${kind === '' ? '' : ` (${kind})`}\n\n${first}\n\n${help}\n`;
}

/** What a user can do, by exit code of `culvert`. */
const REMEDIES: Readonly<Record<string, string>> = {
  1: 'The message says why. `culvert doctor` finds problems between this machine and the relay.',
  2: 'The message names the option or field and says what it accepts. `culvert help COMMAND` shows examples.',
  3: 'Run `culvert login` with a valid key, or check `--key` and `CULVERT_API_KEY`.',
  4: 'Open the tunnel again; `--ttl` sets a longer time to live.',
  5: 'Stop the other client, or use a different name.',
};

function exitCodesPage(): string {
  const client = Object.entries(CLIENT_CODES).map(([exitCode, meaning]) => [
    `<a id="culvert-${exitCode}"></a>${exitCode}`,
    meaning,
    REMEDIES[exitCode] ?? '',
  ]);
  const relay = Object.entries(RELAY_CODES).map(([exitCode, meaning]) => [exitCode, meaning]);
  return [
    pageStart(
      'Exit codes',
      'desktop/client/failures.ts and server/cli/command.ts',
      'Exit codes are [stable](versioning.md), so scripts can rely on them.',
    ),
    '## culvert\n',
    markdownTable(['code', 'meaning', 'what to do'], client),
    `- SIGTERM and closing the terminal have the same effect as Ctrl-C. A second Ctrl-C, more than half a second later, ends the program immediately with code 1; its tunnels then remain until they expire. Without a terminal, SIGHUP is ignored, as with nohup.
- A full disk does not end a tunnel: the client reports it on standard error, and continues the log when there is space again. A command such as \`list\` exits with code 1 if standard output cannot be written, and with code 0 if its reader has ended, as with \`head\`.
- If the tunnels opened by \`culvert start\` end with different codes, the command exits with the first of these that occurred: 3, 1, 5, 4, 0.
- \`culvert run\` exits with the code of its command, or with 128 and the number of the signal that ended the command. It exits with 127 if the command was not found, and with 126 if it cannot be executed.
- \`culvert doctor\` exits with 1 if a check fails, and \`culvert domain verify\` exits with 1 if a record is wrong.
- The command exits with 3 or 4 only after the relay has confirmed the refusal on a second connection.
`,
    '## culvert-relay\n',
    markdownTable(['code', 'meaning'], relay),
    '`culvert-relay doctor` exits with 1 if a check fails.\n',
  ].join('\n');
}

const EVENTS_INTRODUCTION = `The relay logs one line per event, as JSON or as text. In JSON, \`msg\` contains the event's name and \`level\` contains its level. Both are
[stable](versioning.md), so you can build alerts on them. [Monitoring](../operating/monitoring.md) explains the format.`;

const METRICS_INTRODUCTION = `Setting \`CULVERT_METRICS_PORT\` makes the relay serve \`/metrics\` for Prometheus on a separate listener. Names and labels are [stable](versioning.md). Counters
start at 0 when the relay starts. \`/metrics\` also includes the [default metrics of prom-client](https://github.com/siimon/prom-client#default-metrics):
CPU, memory, file descriptors, garbage collection and event loop lag. [Monitoring](../operating/monitoring.md) has a dashboard and alerts.`;

/** @returns log-events.md */
function logEventsPage(): string {
  return [
    pageStart('Log events', 'server/log.ts', EVENTS_INTRODUCTION),
    markdownTable(
      ['event', 'level', 'meaning'],
      Object.entries(LOG_EVENTS).map(([event, { level, meaning }]) => [code(event), level, prose(meaning)]),
    ),
  ].join('\n');
}

/** @returns metrics.md */
function metricsPage(): string {
  const rows = Object.entries(METRICS).map(([name, metric]) => [
    code(name),
    metric.type,
    metric.help,
    Object.entries(metric.labels)
      .map(([label, values]) => `${code(label)}: ${values}`)
      .join('; '),
  ]);
  return [
    pageStart('Metrics', 'server/observe/metrics.ts', METRICS_INTRODUCTION),
    markdownTable(['metric', 'type', 'meaning', 'labels'], rows),
    'Every request to a tunnel is counted under exactly one outcome.\n',
  ].join('\n');
}

/** Keys of the request log in the terminal. */
const LOG_KEYS: Readonly<Record<string, string>> = {
  '↑ ↓, k j': 'Move through the requests, or scroll an open one.',
  'PgUp PgDn, Space': 'Move by one page.',
  Enter: 'Show the request and its response.',
  r: 'Send the request to the local service again.',
  'Esc, i, q': 'Go back.',
};

/** Works in any program, and can be changed. */
const GLOBAL_KEY = [
  'Ctrl+Alt+Shift+C',
  'Show the newest address from within any program. Press the shortcut twice to copy the address. You can change the shortcut in the settings.',
] as const;

function shortcutsPage(): string {
  return [
    pageStart(
      'Keyboard shortcuts',
      'desktop/cli/view/frame.ts, desktop/app/messages/window-keys.ts and release/docs/pages.ts',
      'These are the keyboard shortcuts for the terminal view and the desktop app.',
    ),
    '## Terminal view\n',
    'While `culvert http`, `culvert share` or `culvert start` is running in a terminal:\n',
    keyTable(Object.fromEntries(KEYS)),
    'In the request log, which `i` opens:\n',
    keyTable(LOG_KEYS),
    '## Window\n',
    'On macOS, use Cmd instead of Ctrl.\n',
    keyTable(
      Object.fromEntries([
        GLOBAL_KEY,
        ...WINDOW_KEYS.map(({ keys, text, only }) => [
          keys.replaceAll('Mod+', 'Ctrl+'),
          `${EN[text]}${only === 'desktop' ? ' (not in a browser)' : ''}`,
        ]),
      ]),
    ),
  ].join('\n');
}

function keyTable(keys: Readonly<Record<string, string>>): string {
  return markdownTable(
    ['key', 'action'],
    Object.entries(keys).map(([key, action]) => [code(key), sentence(action)]),
  );
}

/** By code; `visitor:` stands before a code that errors for visitors and of the API have in common. */
export const ERROR_HELP: Readonly<Record<string, string>> = {
  // Errors for visitors
  'bad-request':
    'Send a valid HTTP/1.1 request with one `Host` header, one body length and no control characters.',
  'path-worker': "Use the tunnel's subdomain address, which has its own origin.",
  notice:
    'Press Continue to see the page. Only browsers see this warning, and only for tunnels on the free plan. The operator turns it on with `CULVERT_NOTICE`.',
  'access-required':
    'Log in, open a signed link, or ask the owner for access. A program must send an `Authorization` header with each request: a token of the tunnel (`Bearer`), or a user and password (`Basic`). See [Share safely](../guides/sharing-safely.md).',
  'access-address':
    'The owner has limited access to certain networks (`--allow`). Ask the owner to add yours.',
  'access-attempts':
    'Wait for the time given in `Retry-After`. Each IP address can enter up to 10 wrong passwords and tokens per minute, and can have up to three open approval requests.',
  'sign-in-refused':
    'Sign in with another account, or ask the owner to add yours (`--sign-in`). The relay compares the e-mail address, unless the identity provider says that it is not verified, and the groups that it names.',
  'sign-in-failed':
    'Open the address of the tunnel again and sign in. A sign-in has to be completed within 10 minutes, in the browser in which it began, with cookies allowed. If it never works, the log of the relay says why (`sign-in failed`).',
  'sign-in-unavailable':
    "Try again in a moment. The identity provider does not respond to the relay; the relay's log says why (`identity provider missing`, `identity provider failing`).",
  'tunnel-unknown':
    'Check the address. If this is your tunnel, `culvert list` shows whether it still exists.',
  'visitor:method-not-allowed':
    'Use a different method. The relay never accepts `CONNECT`, and accepts `TRACE` only for tunnels.',
  'request-timeout':
    'Send the headers within 15 s, and do not pause for 60 s or longer while sending the body. The pause has no limit once the response has begun.',
  'uri-too-long': 'Shorten the address to 8 KiB or less.',
  suspended: "Ask the relay's operator. The tunnel's owner can see the reason.",
  'expectation-failed': 'Send `Expect: 100-continue`, or leave out the `Expect` header.',
  'too-many':
    'Wait for the time given in `Retry-After`. By default, an IP address can have up to 256 connections open at the same time (`CULVERT_ADDRESS_CONNECTIONS`). If all visitors get this error, the relay is probably behind a proxy that `CULVERT_TRUST_PROXY` does not list.',
  misdirected:
    "The host name points to the relay, but no tunnel uses it. [Verify the domain](../guides/own-domain.md), or use the tunnel's own address.",
  'head-too-large':
    "Delete the site's cookies, or send fewer headers. A request can have up to 200 header fields, totalling up to 16 KiB.",
  'not-implemented': 'Send the body with either `Transfer-Encoding: chunked` or a `Content-Length` header.',
  'local-refused':
    "Start your local service, or check that the port is correct. With `--wait`, visitors' requests are held while the service restarts. The client's output names other reasons, such as a refused TLS handshake.",
  'local-reset': "Check your local service's log. If the service uses HTTPS, use `--local-https`.",
  'local-malformed':
    'The owner sees the refused line in the output of `culvert`. Send a valid HTTP/1.1 response: a status line, fields without line folding, and either one `Content-Length` or `Transfer-Encoding: chunked`. A response head can have up to 500 fields, totalling up to 64 KiB.',
  'local-not-http2':
    'Leave out `--upstream` if your local service speaks HTTP/1.1. Otherwise, use `--upstream h2c` for HTTP/2 without TLS, or `--upstream h2` for HTTP/2 over TLS with ALPN.',
  'local-no-websocket': 'Open another tunnel without `--upstream` for WebSockets.',
  'local-busy':
    'Try again. The service limits the number of simultaneous HTTP/2 requests (`SETTINGS_MAX_CONCURRENT_STREAMS`), and a request waits up to 10 s for one of them to end.',
  'client-closed':
    'Try again. If the error keeps occurring, check the output of `culvert` and of the local service.',
  'relay-busy': 'Try again. The operator can raise `CULVERT_MAX_CONNECTIONS`.',
  'tunnel-busy':
    'Try again. The client is not opening connections to the relay fast enough, so check its network.',
  'tunnel-offline':
    'Start `culvert` again with the same name, or wait: a client that has lost its connection reconnects automatically. If it does not reconnect, `culvert doctor` shows why.',
  away: 'Nothing to fix: the owner left this message for visitors. The page reloads on its own once the tunnel is back.',
  'domain-offline': 'Open a tunnel that uses the domain: `culvert http PORT --domain DOMAIN`.',
  'plan-limit':
    'Close some connections, or ask the operator for a higher plan. WebSockets and event streams count as open connections.',
  'client-timeout':
    "Check the client's network. The client must open a connection for each visitor within 10 s.",
  'version-not-supported': 'Use HTTP/1.1.',
  // Errors of the API
  'invalid-body':
    'Send a JSON object in which `idle_ttl`, `take_over` and `wildcard`, if present, are booleans, and `protocol` is `http`, `tls` or `tcp`.',
  'invalid-port': 'Send `local_port` as an integer from 1 to 65535.',
  'invalid-ttl': 'Use a duration of at least 1 s, such as `30m`, `4h` or `1h30m`.',
  'ttl-too-long':
    'Request a shorter time to live. The maximum is `CULVERT_MAX_TTL` unless your plan allows less; `culvert status` shows it.',
  'invalid-name': 'Choose a different name. It must not begin with `xn--` either.',
  'invalid-access':
    'The error text names the field in `access` and says what it accepts. Unknown fields are rejected.',
  'invalid-link':
    'The error text names the field and says what it accepts ([protocol](protocol.md#112-signed-links)).',
  'invalid-domain':
    'The error text says why the domain cannot be used, for example because it is a public suffix or includes a port.',
  'invalid-knock-answer': 'Send `admit` as a boolean, and `for` as a duration from 1 s to 720 h.',
  'invalid-admin-request': 'The error text names the field and says what it accepts.',
  'invalid-machine': 'Send a shorter `machine` value without control characters.',
  'missing-tunnel-id': 'Open the control socket with the `tunnel_id` query parameter.',
  'missing-id':
    'Open the data socket with the `id` from the `connection` message as its only query parameter.',
  'invalid-handshake': 'The `Sec-WebSocket-Key` header is missing or malformed. Use a WebSocket library.',
  'missing-key': 'Send `Authorization: Bearer cvt_…`.',
  'invalid-key':
    'The key is unknown, revoked, expired or malformed. Run `culvert login` with a valid key. A key works with only one relay.',
  'plan-without-wildcards': 'Leave out `wildcard`, or ask the operator for a higher plan.',
  'plan-too-low': 'Leave out the name, or ask the operator for a higher plan.',
  'key-scope':
    'Use a different key. This key is limited to one tunnel, to an agent\'s tunnels or to administration; "culvert team" needs an owner\'s key.',
  'agent-name':
    "Choose a name that begins with the prefix in the error text, or leave the name out. The operator sets the prefix when the agent's key is created.",
  'agent-access':
    "Protect the tunnel: `--password`, `--auth`, `--token`, `--links`, `--knock`, or `--allow` with networks that exclude most of the internet. An agent's key cannot open a tunnel to everyone, or remove the protection later.",
  'agent-hosts': "Leave out the domain and `--wildcard`, or use a key that is not an agent's.",
  'agent-idle': 'Leave out `--idle`. A client that serves the tunnel can extend it, by up to 1 h from now.',
  'too-many-tunnels': 'Close a tunnel (`culvert list`, `culvert close`), or wait until one expires.',
  'account-suspended': "Ask the relay's operator. The error text contains the reason.",
  'too-many-domains': 'Remove a domain: `culvert domain remove DOMAIN`.',
  'too-many-names': 'Let a kept name go: `culvert name release NAME`.',
  'invalid-name-change': 'The error text names the field and says what it accepts.',
  'tunnel-not-found':
    'The tunnel is closed, has expired, belongs to another account, or never existed. Create it again.',
  'connection-not-found':
    'The visitor has left or has already been served. The client can ignore this error.',
  'tunnel-not-connected': "Open the tunnel's control socket before you open its trunks.",
  'link-not-found':
    'The link has expired, was revoked, or never existed. `culvert links TUNNEL` lists valid links.',
  'agent-not-found': 'The agent was revoked, has not been used for 30 days, or never existed.',
  'knock-not-found': 'The approval request has expired or never existed. The visitor can ask again.',
  'domain-not-found': 'Add the domain first: `culvert domain add DOMAIN`.',
  'name-not-found':
    'Keep the name first: `culvert name keep NAME`. `culvert name list` shows what the account keeps.',
  'no-such-thing': 'Check the id. The lists under `/v1/admin` contain all ids.',
  'invitation-not-found': 'Ask for a new invitation. Each invitation works once.',
  'not-found': 'Check the path. It must match exactly and have no trailing slash.',
  'method-not-allowed': 'Use one of the methods listed in the `Allow` header.',
  taken: 'Choose a different name or subdomain.',
  'name-taken':
    "Choose a different name, or leave it out. This name belongs to another account's tunnel, is another account's subdomain, is still reserved for its previous owner, or is suspended.",
  'name-reserved':
    'Choose a different name. The operator has reserved this name (`CULVERT_RESERVED_NAMES`), or it looks like an id.',
  'domain-taken': "Remove the other account's `TXT` record from your DNS, then add the domain again.",
  'domain-not-verified': 'Create the DNS records, then run `culvert domain verify DOMAIN`.',
  'domain-in-use': 'Close the other tunnel first (`culvert list`, `culvert close`).',
  'domain-fixed': 'Close the tunnel, then create it again with the domain.',
  'port-taken':
    'Leave out `remote_port`, or choose another port of the range that the operator has opened (`CULVERT_TCP_PORTS`). Ports stay with names that are kept or held.',
  'protocol-fixed': 'Close the tunnel, then create it again with the other protocol or port.',
  'protocol-unavailable':
    'Ask the operator: TCP tunnels need `CULVERT_TCP_PORTS`, and TLS tunnels need a relay that serves TLS itself.',
  'invalid-remote-port': "Send a whole number, or leave it out for a port of the relay's choice.",
  'not-for-protocol':
    'Leave out the field: the connections of TLS and TCP tunnels are not read, so of `access` they have `allow` alone.',
  'links-off': 'Turn on signed links with `culvert access TUNNEL --links`.',
  'too-many-links': 'Revoke a link, or wait until the time given in the error text.',
  'too-many-admitted': 'Revoke an approval, or wait until the time given in the error text.',
  'body-too-large': 'Send at most 16 KiB.',
  'upgrade-required':
    'Open a WebSocket (version 13). If you are already doing that, a proxy in front of the relay is probably removing the `Upgrade` header.',
  'rate-limited':
    'Wait for the time given in `Retry-After`. An account can create up to 10 tunnels per minute, with bursts of up to 5.',
  'too-many-wrong-keys':
    'Wait a minute, then try again with the correct key. Each IP address can send up to 30 wrong keys per minute.',
  'too-many-trunks': 'Open fewer trunks. By default, a tunnel can have up to two trunks (`CULVERT_TRUNKS`).',
  'internal-error':
    "This is a bug in the relay. Please report it, together with the response's `X-Request-Id` and the matching line from the relay's log.",
  unavailable:
    'Try again. The relay cannot reach its database or is shutting down. The request changed nothing.',
  'too-many-sockets': 'Try again later. The relay has reached its client connection limit.',
};
