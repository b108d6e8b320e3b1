import type { ApiErrorEntry } from '../../shared/errors.ts';
import type { ValueRule } from '../../shared/value-rules.ts';

/** A message for people: its code, and the values from which {@link inLanguage} makes a text in a language. */
export interface Message {
  readonly code: MessageCode;
  readonly values: Readonly<Record<string, MessageValue | number>>;
}

/** A relay's explanation of a refusal, in English, with what it is made of (protocol.md section 2.2). */
export type Refused = Pick<ApiErrorEntry, 'text' | 'values'> & { readonly refusal: string };

/** What a rule accepts, in English. */
export type Accepted = Pick<ValueRule, 'accepted' | 'code'>;

/**
 * A message, a relay's words, or text from elsewhere, such as the system, which is shown unchanged. Several are lines.
 */
export type MessageValue = Message | Refused | Accepted | readonly MessageValue[] | string;

/** @param values for the placeholders of the message */
export function toMessage(code: MessageCode, values: Message['values'] = {}): Message {
  for (const [, name = ''] of MESSAGES[code].matchAll(PLACES))
    if (values[name] === undefined) throw new TypeError(`"${code}" has no ${name}`);
  return { code, values };
}

const PLACES = /\{(\w+)\}/g;

/** The texts of a language. */
export interface Language {
  message(code: MessageCode, values: Readonly<Record<string, string | number>>): string;
  refused(refusal: Refused): string;
  accepted(rule: Accepted): string;
}

const ENGLISH: Language = {
  message: (code, values) => MESSAGES[code].replace(PLACES, (_place, name: string) => String(values[name])),
  refused: ({ text }) => text,
  accepted: ({ accepted }) => accepted,
};

/** In English, which the command and the library speak. */
export function textOf(said: MessageValue): string {
  return inLanguage(said, ENGLISH);
}

/** Puts into words whatever the engine says. */
export function inLanguage(said: MessageValue, language: Language): string {
  if (typeof said === 'string') return said;
  if (isLines(said)) return said.map((line) => inLanguage(line, language)).join('\n');
  if ('accepted' in said) return language.accepted(said);
  if ('refusal' in said) return language.refused(said);
  const values = Object.entries(said.values).map(
    ([name, value]) => [name, typeof value === 'number' ? value : inLanguage(value, language)] as const,
  );
  return language.message(said.code, Object.fromEntries(values));
}

export function isLines(said: MessageValue): said is readonly MessageValue[] {
  return Array.isArray(said);
}

/** A failure with a message for people. */
export class MessageError extends Error {
  readonly said: MessageValue;
  /** stable, such as `no-folder`; only of a failure that is expected of a call */
  readonly code: string | undefined;
  /** the field of a form that it belongs to */
  readonly field: string | undefined;

  constructor(
    said: MessageValue,
    { code, field, ...options }: ErrorOptions & { code?: string | undefined; field?: string } = {},
  ) {
    super(textOf(said), options);
    this.said = said;
    this.code = code;
    this.field = field;
  }
}

/** The message of an error for people; for an error without one, its English text. */
export function messageOf(error: unknown): MessageValue {
  if (error instanceof MessageError) return error.said;
  return error instanceof Error ? error.message : String(error);
}

/** Failed calls of a relay, what can be done about them, and other failures of calls. */
const FAILURE_MESSAGES = {
  'failure.rejected': 'The relay rejected the request: {why}.',
  'failure.trouble': 'The relay cannot do this right now: {why}.',
  'failure.notRelay': 'The server responded with status {status}, but not as a Culvert relay.',
  'failure.advised': '{what} {advice}',
  'failure.signedOut': 'You are signed out. Sign in first.',
  'failure.notSaved': 'Culvert cannot save its settings: {why}.',
  'advice.again': 'Try again in {seconds} s.',
  'advice.againInMinute': 'Try again in a minute.',
  'advice.keepsTrying': 'Culvert keeps trying.',
  'advice.askOperator': "Ask the relay's operator, or check the address.",
  'advice.address': 'Check the address.',
  'advice.addressAndNetwork': 'Check the address and your network.',
  'advice.key': "Check that you copied all of it, or ask the relay's operator for a new one.",
  'advice.reservedName': 'The relay reserves it. Choose another name, or leave it out for a random one.',
  'advice.takenPort': 'Choose another port, or leave it out for one that the relay chooses.',
  'advice.noProtocol': "The relay's operator has to turn on such tunnels.",
  'advice.takenName':
    'Another account is using it, or the relay reserves it, as it does with www and api. Choose another name, or leave it out for a random one.',
  'advice.noName': 'Leave the name out for a random one.',
  'advice.usedName': 'Stop that tunnel first, or choose another name.',
  'advice.startAgain': 'It was closed or has expired. Start it again.',
  'advice.sender': 'Ask its sender for a new one.',
} as const;

/** Diagnostics of the path to a relay and back, hop by hop. */
const DIAGNOSTICS_MESSAGES = {
  'doctor.notTried': 'not checked, because an earlier step failed',
  'doctor.isAddress': '{host} is an IP address',
  'doctor.proxyLooksUp': 'the proxy {proxy} looks up {host}',
  'doctor.addresses': '{host} resolves to {addresses}',
  'doctor.at': '{place}: {why}',
  'doctor.portOf': 'port {port} on {host}: {why}',
  'doctor.dnsFix': "Check the relay's address (from {source}) and this machine's network connection.",
  'doctor.overProxy': 'uses the proxy {proxy}, which is checked in the next step',
  'doctor.portOpen': 'port {port} accepts connections',
  'doctor.connectFix':
    'Check that culvert-relay is running there and that no firewall blocks the port. If you need a proxy, set HTTPS_PROXY.',
  'doctor.notEncrypted': '{origin} is not encrypted',
  'doctor.certificate': 'the certificate is for {host} and is trusted',
  'doctor.notRelay': 'the server at {origin} did not identify itself as a Culvert relay (status {status})',
  'doctor.notRelayFix':
    'Check the address. If a proxy is in front of the relay, make sure that it forwards requests.',
  'doctor.notReady': 'the relay is running but not ready',
  'doctor.notReadyFix':
    "Check the relay's log: the relay either cannot reach its database or is shutting down.",
  'doctor.relay': '{origin} is running Culvert relay {version} and is ready',
  'doctor.relayLogs': "Check the relay's logs.",
  'doctor.proxyLogs': 'Check the logs of the proxy {proxy} and the relay.',
  'doctor.noKey': 'no API key for {origin}',
  'doctor.key': 'the key belongs to {account} ({plan} plan) and comes from {source}',
  'doctor.badKey': '{why} (from {source})',
  'doctor.keyFix': 'The relay can be reached, but it did not respond to this request. Try again.',
  'doctor.upgradeFix':
    'WebSocket connections do not get through. Every proxy between this machine and the relay must forward the Upgrade header and have a long timeout.',
  'doctor.noTestTunnel': 'WebSockets reach the relay, but there is no test tunnel: {why}',
  'doctor.testTunnel': 'the test tunnel {slug} is online',
  'doctor.closedWith': 'closed with code {code}',
  'doctor.control': 'control connection: {why}',
  'doctor.noPaths': 'this relay does not support path addresses',
  'doctor.answered': 'a request through the tunnel got a response',
  'doctor.addressFix':
    'Visitors cannot reach this address. A wildcard DNS record must point *.{domain} to the relay, which needs a certificate for it.',
  'doctor.addressFixPath':
    'Visitors cannot reach this address. A wildcard DNS record must point *.{domain} to the relay, which needs a certificate for it. Until then, share {path}.',
  'doctor.leads': '{host} reaches the tunnel',
  'doctor.otherAnswer': '{host} responded with status {status}, {code}',
  'doctor.notByTunnel': '{host} responded with status {status}, but the response is not from the tunnel',
  'doctor.withoutTunnel': 'not checked without a test tunnel',
  'doctor.pathsOnly': 'this relay supports only path addresses',
  'doctor.browsersOnly': 'only browsers resolve {host} to this machine',
  'doctor.noTrunks': 'this relay does not support shared connections',
  'doctor.trunk': 'visitors share connections to the relay',
  'doctor.trunkFix':
    'Visitors are still served, but each over a separate connection, which is slower. Every proxy between this machine and the relay must forward /ws/trunk in the same way as /ws/data and have a long timeout.',
  'doctor.compressed':
    'on (auto), because the relay is neither on this machine nor on a private network: {host}',
  'doctor.uncompressedLoopback': 'off (auto), because the relay is on this machine: {host}',
  'doctor.uncompressedRaw': 'off, because TLS and TCP tunnels are not compressed',
  'doctor.uncompressedPrivate': 'off (auto), because the relay is on a private network: {host}',
  'doctor.tcpFast': 'congestion control {name}, which stays fast on lines that lose packets',
  'doctor.tcpSlow':
    'congestion control {name}, which is slow on lines that lose packets; to change it, run "sysctl -w net.ipv4.tcp_congestion_control=bbr"',
  'doctor.tcpUnknown': 'this system does not report its congestion control',
  'doctor.local': '{service} accepts connections',
  'doctor.localRaw': '{service} accepts connections; the check of a TLS or TCP tunnel sends nothing',
  'doctor.nothingOnBoth': 'nothing responds on port {port} at 127.0.0.1 or ::1',
  'doctor.notHttp2': 'the service at {service} does not speak HTTP/2',
  'doctor.notHttp2Fix':
    'Leave out --upstream if the service speaks HTTP/1.1. Use h2c for HTTP/2 without TLS, or h2 for HTTP/2 over TLS.',
  'doctor.nothingOn': 'nothing responds at {service}',
  'doctor.folder': 'the folder {folder} can be read',
  'doctor.folderFix': 'Restore the folder, connect its drive, or make sure that you are allowed to read it.',
  'doctor.app.source': 'your sign-in',
  'doctor.app.newKey': 'Sign out in the settings, then sign in with a valid key.',
  'doctor.app.certificate':
    "The relay's operator must renew the certificate. If it was signed by a private certificate authority, set CULVERT_CA to that authority's certificate file and restart Culvert.",
  'doctor.app.noLocal': 'no tunnel was selected',
  'doctor.app.local': 'Start your server, or expose the port that it prints when it starts.',
} as const;

/** Shared folders. */
const FOLDER_MESSAGES = {
  'folder.none': '"{folder}" is not a folder.',
  'folder.silent': 'The folder "{folder}" is not responding. Its drive or server may be disconnected.',
  'folder.unreadable': 'The folder "{folder}" cannot be read ({code}).',
} as const;

/** Connections, relays, and requests that are sent again. */
const NETWORK_MESSAGES = {
  'network.refused': 'nothing is listening there',
  'network.reset': 'the connection was reset',
  'network.closed': 'the connection was closed',
  'network.noHost': 'the host name does not exist',
  'network.notLookedUp': 'the host name could not be looked up',
  'network.hostUnreachable': 'the host cannot be reached',
  'network.unreachable': 'the network cannot be reached',
  'network.down': 'the network is down',
  'network.silent': 'it did not respond in time',
  'network.forbidden': 'this system does not allow the connection; a firewall may be the reason',
  'network.noFiles':
    'Culvert has reached its limit of open files; raise the hard limit ("ulimit -Hn" shows it, LimitNOFILE= in a systemd unit) and restart Culvert',
  'network.noFilesLeft': 'this system has reached its limit of open files (fs.file-max on Linux)',
  'network.tlsRefused': 'it refused the TLS handshake ({alert})',
  'network.tlsClosed': 'it refused the TLS handshake by closing the connection',
  'network.otherName': 'its certificate is for a different host name',
  'network.noTls': 'it does not speak TLS',
  'network.certificateExpired': 'its certificate has expired',
  'network.certificateEarly': 'its certificate is not valid yet',
  'network.clockAhead':
    "{why}, but this computer's clock is {by} ahead of the relay's: check the date and time of this computer",
  'network.clockBehind':
    "{why}, but this computer's clock is {by} behind the relay's: check the date and time of this computer",
  'network.minutes': '{count} minutes',
  'network.hours': '{count} hours',
  'network.days': '{count} days',
  'network.untrusted': 'its certificate is not signed by a trusted authority',
  'network.proxy': 'the proxy {proxy} cannot be reached: {why}',
  'network.proxyClosed': 'the proxy {proxy} closed the connection',
  'network.noProxy': 'the server at {proxy} is not an HTTP proxy',
  'network.proxyRefused': 'the proxy {proxy} refused a connection to {host} with status {status}',
  'network.tooLarge': 'the response is too large',
  'network.noWebSocket': 'the response is not a WebSocket handshake',
  'network.noHttp': 'the response is not HTTP',
  'relay.answeredStatus': 'the relay responded with status {status}',
  'network.proxyLogin':
    'the proxy {proxy} requires a login: add it to the proxy address, as in http://user:password@{proxy}',
  'network.proxyRefusedLogin': 'the proxy {proxy} rejected the user name or password in its address',
  'relay.noData': 'no data connection to {origin} could be opened: {why}',
  'network.brokeOff': 'the connection was lost',
  'network.noJson': 'it sent a message that is not JSON',
  'network.tooSilent': 'it sent nothing for too long',
  'network.speaksTls': 'it uses TLS, so its address must begin with https:// (https://{host})',
  'relay.notRelay': 'The server at {origin} is not a Culvert relay',
  'relay.unreachable': 'The relay at {origin} cannot be reached: {why}',
  'relay.otherRequest': 'The relay sent the response to a different request; try again',
  'relay.notUnderstood': 'The relay sent a response that this client does not understand',
  'relay.badField': 'The relay sent a response that this client does not understand: "{field}" is invalid',
  'relay.linkElsewhere': 'The relay sent a link that points somewhere else',
  'relay.notAddress':
    '"{text}" is not the address of a relay. An address consists of http:// or https://, a host and, if needed, a port, as in https://relay.example.com',
  'relay.moreThanAddress':
    '"{text}" contains more than the address of a relay. An address consists of http:// or https://, a host and, if needed, a port, as in https://relay.example.com',
  'relay.noAccess': 'This relay cannot restrict access to a tunnel. {outcome}',
  'relay.noOnce':
    'This relay cannot create links for one browser. The link that it created instead was revoked',
  'relay.noNames': 'This relay cannot keep names. Remove keep and away from culvert.yml to open the tunnel',
  'relay.noProtocol':
    'The relay does not support tunnels with the protocol {protocol}, and opened a tunnel of HTTP instead. {outcome}.',
  'relay.noDomains': 'This relay does not support custom domains. Nothing has changed',
  'relay.closedAtOnce': 'The tunnel was closed immediately',
  'relay.notClosed': 'The tunnel could not be closed, but no client is serving it: {why}',
  'relay.createLimit': 'the account has created too many tunnels within a minute',
  'relay.status': 'it responded with status {status}',
  'relay.moved': 'it redirects to {address}',
  'relay.noWebAddress': 'not a web address',
  'relay.refusedOnce': 'it rejected the key once, but accepted it on the second try',
  'relay.leftOut': "The relay's response is incomplete",
  'replay.tooMany': '{max} requests are already being replayed. Try again later.',
  'replay.incomplete': 'Request {id} has not fully arrived, so it cannot be replayed.',
  'replay.notComeYet': 'Request {id} has not arrived yet, so it cannot be edited.',
  'replay.gone': 'There is no request {id}, or it is no longer available.',
  'replay.unknown': 'There is no request {id}, or its messages are no longer available.',
  'replay.raw': 'Connection {id} cannot be sent again: it carries bytes instead of a request.',
  'replay.webSocket': 'Request {id} opened a WebSocket, so it cannot be replayed.',
  'replay.truncated': 'Request {id} cannot be replayed, because only {kept} KiB of its body was recorded.',
  'replay.redacted':
    'Request {id} was imported with {mark} instead of a secret, so it was not sent. Edit it, enter the secret and send it.',
  'replay.noWebhook': 'Request {id} cannot be signed, because it is not from a known sender: {senders}.',
  'replay.noSecret': 'There is no secret to sign this request with. Add the secret first.',
  'replay.cannotSign':
    'Culvert cannot sign this request: it has no signature header from a service whose secret you have added. Put the header back, or send the request without signing it.',
  'har.tooLarge':
    'A HAR file can be at most {max} MiB, and only the first {count} of these requests fit within that limit. Narrow your search.',
  'har.nothing': 'These requests are no longer available.',
  'replay.localRefused': 'Nothing is listening on {service}. Start the service there and try again.',
} as const;

/** `culvert.yml`. Most are shown after the line and the field. */
const PROJECT_MESSAGES = {
  'project.problem': '{path}:{line}: {problem}',
  'project.fieldProblem': '{path}:{line}: {field}: {problem}',
  'project.sentence': '{clause}.',
  'project.unreadable': '{path} cannot be read: {why}.',
  'project.tooLarge': 'it is larger than {max} bytes',
  'project.repeats': '{path}: the file uses too many YAML aliases.',
  'project.otherOwner':
    '{path} belongs to another user (uid {uid}) and defines which of your ports are exposed and who can reach them. Read it first. If you agree, run "culvert start --config {path}".',
  'project.takesTunnels': 'the file must have a "tunnels" field with a name and a port for each tunnel',
  'project.noTunnel': 'must define at least one tunnel, each with a name and a port',
  'project.list':
    'is a list, but must be a mapping: write "web:" above the fields of the tunnel instead of "- name: web"',
  'project.listAlone':
    'the file is a list, but must have a "tunnels" field with a name and a port for each tunnel',
  'project.documents': 'a second YAML document begins here (---), but the file can have only one',
  'project.toml':
    'the file is TOML, not YAML. culvert.yml has a "tunnels" field with a name and a port for each tunnel',
  'project.foreign':
    'belongs to the configuration of {program}. culvert.yml has a "tunnels" field with a name and a port for each tunnel',
  'project.utf16': 'it is encoded in UTF-16. Save it as UTF-8',
  'project.yaml': '{path} has the wrong name. Rename it to {name}, or use "culvert start --config {path}".',
  'project.takesFilled': '{given} stands for {value}, but must be {accepted}',
  'project.tooMany': 'has {count} tunnels, but the maximum is {max}',
  'project.label': 'is not a valid tunnel name. Use 1 to {max} letters, digits, hyphens and underscores',
  'project.takesFields': 'is {value}, but must be a mapping with these fields: {fields}',
  'project.takes': 'is {value}, but must be {accepted}',
  'project.empty': 'empty',
  'project.keyValue': 'an API key, which does not belong in this file',
  'project.noTarget': 'is missing. It must be {accepted}. To share a folder, use "share" instead',
  'project.h2cHttps': 'h2c is HTTP/2 without TLS: use h2 for a port that speaks HTTPS',
  'project.awayNeedsKeep': 'cannot be false for a tunnel with away, because only kept names have a message',
  'project.keepNeedsName': 'needs name, the name to keep: {accepted}',
  'project.hostsNeedWildcard': 'cannot be false for a tunnel with hosts',
  'project.aboutPort': 'applies to a port, but this tunnel shares a folder',
  'project.notForProtocol': 'is not available for a tunnel with protocol {protocol}',
  'project.onlyTcp': 'is available only for a tunnel with protocol tcp',
  'project.onlyRaw': 'is available only for a tunnel with protocol tls or tcp',
  'project.unknownField': 'is unknown. The fields are {fields}',
  'project.meantField': 'is unknown. Did you mean {field}?',
  'project.key':
    'an API key does not belong in this file, because other people can read the file. Run "culvert login" or set CULVERT_API_KEY',
  'project.folderUnreadable': '{path}: {field}: "{folder}" cannot be read ({code}).',
  'project.folderOutside':
    '{path}: {field}: "{folder}" is outside the folder that contains the file. Only folders inside it can be shared. To share any other folder, use "culvert share".',
  'access.takesUsers': 'must be USER:PASSWORD, or a list of them',
  'access.takesPassword': 'must be a string, or true to generate a password of three words',
  'access.takesNetworks': 'must be an address or a range, or a list of them',
  'access.takesFlag': 'must be true or false',
  'access.takesTokens': 'must be the name of a token, a list of names, or names with their tokens',
  'access.userTakes': 'the user in USER:PASSWORD must be {accepted}',
  'access.passwordOf': 'the password of {user} must be {accepted}',
  'access.passwordTakes': 'the password must be {accepted}',
  'access.manyUsers': 'can have at most {max} users',
  'access.userTwice': 'the user {user} appears twice',
  'access.userAlone': 'must be USER:PASSWORD, but the password is missing',
  'access.notNetwork': '{network} is not {accepted}',
  'access.manyNetworks': 'can have at most {max} addresses and ranges',
  'access.tokenName': '{name} is not {accepted}',
  'access.tokenTakes': 'the token {name} must be {accepted}',
  'access.manyTokens': 'can have at most {max} tokens',
  'access.tokenTwice': 'the token {name} appears twice',
  'access.takesSignIn': 'must be an e-mail address, *@ and a domain, group:NAME, * or a list of them',
  'access.notSignIn': '{rule} does not say who may sign in. Use {accepted}',
  'access.manySignIn': 'can have at most {max} rules',
  'access.unset': 'the variable {name} is not set',
  'access.publicSecret': 'the variable {name} may hold a secret, but names and domains are public',
  'access.unsetIn': '{field}: {problem}',
  'access.reference':
    '{reference} must contain the name of a variable, as in {example}. Use {escape} to write a literal {begin}',
} as const;

/** Requests that users write or import. */
const REQUEST_MESSAGES = {
  'edit.method': 'The method must be 1 to {max} letters, digits and hyphens, such as POST.',
  'edit.connect': 'The method cannot be CONNECT, which only proxies use.',
  'edit.longPath': 'The path can have at most {max} characters, including its query. This one has {length}.',
  'edit.pathLines': 'The path cannot contain a line break.',
  'edit.path':
    'The path must begin with / and contain only visible ASCII characters other than #. Percent-encode anything else: write %20 for a space.',
  'edit.manyHeaders': 'A request can have at most {max} headers. This one has {count}.',
  'edit.largeHeaders': 'The headers can total at most {max} KiB. These total {size} KiB.',
  'edit.ownHeader': 'Culvert sets the header {name} itself, based on the rest of the request.',
  'edit.headerName': '"{name}" is not a valid header name. Use letters, digits and hyphens, without spaces.',
  'edit.valueLines': 'The value of {name} cannot contain a line break.',
  'edit.valueControls': 'The value of {name} cannot contain control characters.',
  'edit.largeBody': 'The body can be at most {max} KiB. This one is {size} KiB.',
  'edit.noSecretInPath': 'The path contains {mark}, but request {id} has no secret there. Enter the secret.',
  'edit.noSecretInHeader':
    'The value of {name} contains {mark}, but request {id} has no secret there. Enter the secret.',
  'import.severalCommands': 'This is more than one command. Import one command at a time.',
  'import.openQuote': 'A quotation mark ({quote}) is not closed.',
  'import.largeCharacter': '{escape} is not a valid character code: the maximum is 10ffff.',
  'import.shellVariable':
    'In a shell, an unquoted {character} refers to a variable or a command. Culvert does not run a shell, so write the value instead, or quote the character.',
  'import.shellCommand':
    'In a shell, an unquoted {character} runs a command. Culvert does not run a shell, so replace the command with its output, or quote the character.',
  'import.shellOther':
    'In a shell, an unquoted {character} has a special meaning. Culvert does not run a shell, so write the value instead, or quote the character.',
  'import.windowsCommand':
    'This command is for the Windows command prompt (cmd). Copy the request as cURL (bash) instead.',
  'import.notCurl': 'The command must begin with curl.',
  'import.optionFile': '{option} {value} refers to a file, but Culvert does not read files.',
  'import.noAddress': 'The command contains no URL.',
  'import.severalAddresses': 'The command contains several URLs. Import one request at a time.',
  'import.dataFile':
    'The data {value} refers to a file, but Culvert does not read files. Replace it with the content of the file.',
  'import.option': 'The curl option {option} is not supported.',
  'import.optionForm': 'The curl option {option} is not supported. Use --data-raw for the body.',
  'import.optionReads': 'The curl option {option} is not supported, because Culvert does not read files.',
  'import.optionNext': 'The curl option {option} is not supported. Import one request at a time.',
  'import.noValue': 'The curl option {option} has no value.',
  'import.tooMany': 'The file has more than {max} requests, which is the maximum. Export fewer requests.',
  'import.leftOut': 'Request {number} was left out: {why}',
  'import.notJson': 'This is not a HAR file: it is not JSON.',
  'import.harMissing': 'This is not a HAR file: {field} is missing.',
  'import.harType': 'This is not a HAR file: {field} is not of type {type}.',
} as const;

/** Tunnels that other processes of this user serve. */
const INSPECT_MESSAGES = {
  'inspect.ended': 'The culvert process has ended.',
  'inspect.silent': 'The culvert process does not respond.',
  'inspect.tunnelEnded': 'This tunnel has ended.',
  'inspect.otherVersion':
    'A tunnel on this machine cannot be inspected, because a culvert process of another version serves it: {version}, and this is {own}. Restart that process, or inspect it with its own version.',
} as const;

/** Tunnels: why one is not online, and problems of its visitors and its local service. */
const TUNNEL_MESSAGES = {
  'tunnel.lost': 'No connection to the relay: {why}.',
  'tunnel.keyExpired': 'The API key has expired.',
  'tunnel.keyRevoked': 'The API key was revoked.',
  'tunnel.accountRemoved': 'The account was deleted, along with its API key.',
  'tunnel.replaced': 'Another client has taken over this tunnel.',
  'tunnel.closed': 'The tunnel was closed.',
  'tunnel.expired': 'The tunnel has expired.',
  'tunnel.gone': 'The tunnel was closed or has expired.',
  'tunnel.domainGone': "The tunnel's domain is no longer yours.",
  'tunnel.suspended': 'The account is suspended.',
  'tunnel.suspendedFor': 'The account is suspended: {reason}.',
  'tunnel.draining': 'The relay is shutting down.',
  'tunnel.closedWith': 'The relay closed the connection with code {code}.',
  'tunnel.keyRefused': 'The relay rejected the API key: {why}.',
  'tunnel.refusedForNow': 'The relay is not accepting the connection at the moment: {why}.',
  'tunnel.refused': 'The relay rejected the connection: {why}.',
  'tunnel.sleeps': 'This computer is going to sleep.',
  'tunnel.stopped': 'Stopped.',
  'ended.youStopped': 'You stopped the tunnel.',
  'ended.youPaused': 'You paused the tunnel.',
  'ended.youSignedOut': 'You signed out.',
  'ended.quit': 'Culvert was quit.',
  'ended.notSaved': 'The change could not be saved.',
  'folder.notServed': 'The folder cannot be shared: {why}.',
  'folder.notShared': 'The folder {folder} is not shared at the moment. Start the tunnel and try again.',
  'name.online': 'Another client is serving your tunnel "{name}"',
  'name.access': 'Your tunnel "{name}" is open with a different access policy, and no client is serving it',
  'name.program': 'You already have a tunnel "{name}", which was not opened here',
  'local.failed': 'Cannot connect to {service}: {why}.',
  'local.noPorts': 'all local ports of this machine are in use',
  'local.refused': 'Nothing is listening on {service}. Start the service there; the tunnel stays open.',
  'local.reset':
    'The service at {service} closed a connection without a response. Its output may show the reason.',
  'path.cookie':
    'The cookie "{cookie}" was left out, because browsers accept __Host- cookies only for a whole host, and tunnels in the path form share one. Use the subdomain address of the tunnel.',
  'local.malformed':
    'The service at {service} sent something that is not HTTP, so a visitor got an error. The refused line: {line}',
  'local.notHttp2':
    'The service at {service} does not speak HTTP/2 as --upstream {upstream} requires. Leave out --upstream if the service speaks HTTP/1.1. Use h2c for HTTP/2 without TLS, or h2 for HTTP/2 over TLS.',
  'local.noWebSocket':
    'A visitor tried to open a WebSocket, which a tunnel with --upstream {upstream} cannot carry. Open another tunnel without --upstream for WebSockets.',
  'local.busy':
    'The service at {service} allows no more simultaneous HTTP/2 requests, so a visitor was turned away.',
  'local.slow':
    'A visitor has been waiting for {seconds} s for a response from the service at {service}. Culvert keeps the connection open, because the service can take as long as it needs.',
  'local.hostBlocked':
    'The service at {service} rejects the host name that visitors use. Start with --host-header local, or allow the name ({setting}).',
  'visitor.tooMany':
    'A visitor was turned away because more than {max} connections were open at the same time.',
  'visitor.lost': 'The connection to a visitor was lost: {why}',
  'visitor.left': 'A visitor left before the connection was established.',
} as const;

/* The engine's English messages, with `{…}` as placeholders. Translations are in the catalogue of the app. */

/** What an agent wants its owner to allow (client/owner-questions.ts); each completes "an agent wants to". */
export const QUESTION_MESSAGES = {
  'question.open': 'open a tunnel to port {port}, {access}',
  'question.openNamed': 'open the tunnel {name} to port {port}, {access}',
  'question.openRaw': 'open a {protocol} tunnel to port {port}, {access}',
  'question.access': 'change who can visit the tunnel {slug} to port {port}: {access}',
  'question.extend': 'extend the tunnel {slug} to port {port}',
  'question.extendBy': 'extend the tunnel {slug} to port {port} by {ttl}',
  'question.link': 'create a link that gives access to the tunnel {slug} to port {port}',
  'question.admit': 'admit the visitor at {address} to the tunnel {slug} to port {port}',
  'question.anyone': 'open to anyone',
  'question.visitors': 'for visitors with: {ways}',
  'policy.login': 'login ({names})',
  'policy.password': 'password',
  'policy.link': 'signed link',
  'policy.approval': 'your approval',
  'policy.token': 'token ({names})',
  'policy.signIn': 'sign-in ({names})',
  'policy.agents': 'approved agents',
  'policy.or': '{first} or {second}',
  'policy.from': 'only from {networks}',
  'policy.waysFrom': '{ways}, only from {networks}',
  'policy.more': '{first} and {count} more',
} as const;

export const MESSAGES = {
  ...DIAGNOSTICS_MESSAGES,
  ...FAILURE_MESSAGES,
  ...FOLDER_MESSAGES,
  ...INSPECT_MESSAGES,
  ...NETWORK_MESSAGES,
  ...PROJECT_MESSAGES,
  ...QUESTION_MESSAGES,
  ...REQUEST_MESSAGES,
  ...TUNNEL_MESSAGES,
} as const;

export type MessageCode = keyof typeof MESSAGES;
