/**
 * The engine's messages for people: in English, as the command prints them, and with the code and values from which the
 * app makes a message in its user's language.
 */
export interface Message {
  readonly code: MessageCode;
  readonly values: Readonly<Record<string, MessageValue | number>>;
  /** in English */
  readonly text: string;
}

/** A relay's explanation of a refusal, with the code of the error (protocol.md section 2.2). */
export interface Refused {
  readonly refusal: string;
  /** in English */
  readonly text: string;
}

/** What a rule accepts (shared/value-rules.ts), in English. */
export interface Accepted {
  readonly accepted: string;
}

/**
 * A message, a relay's words, or text from elsewhere, such as the system, which is shown unchanged. Several are lines.
 */
export type MessageValue = Message | Refused | Accepted | readonly MessageValue[] | string;

/** @param values for the placeholders of the message */
export function toMessage(code: MessageCode, values: Message['values'] = {}): Message {
  const text = MESSAGES[code].replace(/\{(\w+)\}/g, (_place, name: string) => {
    const value = values[name];
    if (value === undefined) throw new TypeError(`"${code}" has no ${name}`);
    return typeof value === 'number' ? String(value) : textOf(value);
  });
  return { code, values, text };
}

/** In English. */
export function textOf(said: MessageValue): string {
  if (typeof said === 'string') return said;
  if (isLines(said)) return said.map(textOf).join('\n');
  return 'accepted' in said ? said.accepted : said.text;
}

export function isLines(said: MessageValue): said is readonly MessageValue[] {
  return Array.isArray(said);
}

/** A failure with a message for people. */
export class MessageError extends Error {
  readonly said: MessageValue;

  constructor(said: MessageValue, options?: ErrorOptions) {
    super(textOf(said), options);
    this.said = said;
  }
}

/** The message of an error for people; for an error without one, its English text. */
export function messageOf(error: unknown): MessageValue {
  if (error instanceof MessageError) return error.said;
  return error instanceof Error ? error.message : String(error);
}

/** Diagnostics of the path to a relay and back, hop by hop. */
export const DIAGNOSTICS_MESSAGES = {
  'doctor.notTried': 'not tried without "{hop}"',
  'doctor.isAddress': '{host} is an address',
  'doctor.proxyLooksUp': '{host} is looked up by the proxy {proxy}',
  'doctor.addresses': '{host} is {addresses}',
  'doctor.at': '{place}: {why}',
  'doctor.portOf': 'port {port} of {host}: {why}',
  'doctor.dnsFix': "Check the relay's address (from {source}) and this machine's connection.",
  'doctor.overProxy': 'over the proxy {proxy}, with the next hop',
  'doctor.portOpen': 'port {port} takes connections',
  'doctor.connectFix':
    'See that culvert-relay runs there, and that no firewall is between; a proxy goes into HTTPS_PROXY.',
  'doctor.notEncrypted': '{origin} is not encrypted',
  'doctor.certificate': 'the certificate is for {host} and trusted',
  'doctor.notRelay': 'what answers at {origin} does not say that it is a Culvert relay (status {status})',
  'doctor.notRelayFix': 'Check the address; or a proxy in front of the relay does not pass requests on.',
  'doctor.notReady': 'it runs, and is not ready',
  'doctor.notReadyFix': 'Check the log of the relay: its database cannot be reached, or it is shutting down.',
  'doctor.relay': '{origin} is a Culvert relay {version}, up and ready',
  'doctor.relayLogs': 'Check the logs of the relay.',
  'doctor.proxyLogs': 'Check the logs of the proxy {proxy} and the relay.',
  'doctor.noKey': 'there is none for {origin}',
  'doctor.key': 'that of {account} ({plan} plan), from {source}',
  'doctor.badKey': '{why} (from {source})',
  'doctor.keyFix': 'Try again; the relay answers, but not to this.',
  'doctor.upgradeFix':
    'WebSockets do not come through: a proxy on the way or before the relay must pass Upgrade on, with a long timeout.',
  'doctor.noTestTunnel': 'WebSockets reach the relay; no test tunnel: {why}',
  'doctor.testTunnel': 'a test tunnel is online, {slug}',
  'doctor.closedWith': 'closed with {code}',
  'doctor.control': 'control connection: {why}',
  'doctor.noPaths': 'this relay has no path addresses',
  'doctor.answered': 'a request through the tunnel is answered',
  'doctor.addressFix':
    'Visitors do not reach this address: a wildcard DNS record must lead *.{domain} to the relay, with a certificate for it.',
  'doctor.addressFixPath':
    'Visitors do not reach this address: a wildcard DNS record must lead *.{domain} to the relay, with a certificate for it. Until then, hand out {path}.',
  'doctor.leads': '{host} leads to the tunnel',
  'doctor.otherAnswer': '{host} answered with status {status}, {code}',
  'doctor.notByTunnel': '{host} answered with status {status}, not by the tunnel',
  'doctor.withoutTunnel': 'not tried without a test tunnel',
  'doctor.pathsOnly': 'this relay has path addresses only',
  'doctor.browsersOnly': '{host} is this machine in browsers only',
  'doctor.noTrunks': 'this relay takes no trunks',
  'doctor.trunk': 'visitors share connections to the relay',
  'doctor.trunkFix':
    'Visitors are served all the same, each over a connection of its own, which is slower. A proxy on the way or before the relay must pass /ws/trunk on like /ws/data, with a long timeout.',
  'doctor.local': '{service} takes connections',
  'doctor.nothingOnBoth': 'nothing answers on port {port} of 127.0.0.1 and ::1',
  'doctor.nothingOn': 'nothing answers on {service}',
  'doctor.folder': 'the folder {folder} can be read',
  'doctor.folderFix':
    'Put the folder back, connect the drive that it is on, or have somebody let you read it.',
  'doctor.app.source': 'your sign-in',
  'doctor.app.newKey': 'Sign out in the settings, and sign in with a key that is valid.',
  'doctor.app.certificate':
    'Whoever runs the relay has to renew the certificate; if an authority of your own has signed it, name its file in CULVERT_CA and start Culvert again.',
  'doctor.app.noLocal': 'no tunnel was asked about',
  'doctor.app.local': 'Start your server, or expose the port that it prints when it starts.',
} as const;

/** Shared folders. */
export const FOLDER_MESSAGES = {
  'folder.none': '"{folder}" is not a folder.',
  'folder.silent': 'The folder "{folder}" does not answer: the drive or server that it is on may be gone.',
  'folder.unreadable': 'The folder "{folder}" cannot be read ({code}).',
} as const;

/** Connections, relays, and requests that are sent again. */
export const NETWORK_MESSAGES = {
  'network.refused': 'nothing is listening there',
  'network.reset': 'the connection was reset',
  'network.closed': 'the connection was closed',
  'network.noHost': 'there is no such host',
  'network.notLookedUp': 'the name could not be looked up',
  'network.hostUnreachable': 'the host cannot be reached',
  'network.unreachable': 'the network cannot be reached',
  'network.down': 'the network is down',
  'network.silent': 'it did not answer in time',
  'network.otherName': 'its certificate is for another name',
  'network.noTls': 'it does not speak TLS',
  'network.certificateExpired': 'its certificate has expired',
  'network.untrusted': 'its certificate is not signed by a trusted authority',
  'network.proxy': 'the proxy {proxy} cannot be reached: {why}',
  'network.proxyClosed': 'the proxy {proxy} closed the connection',
  'network.noProxy': 'what responds at {proxy} is not an HTTP proxy',
  'network.proxyRefused': 'the proxy {proxy} answered {status} to a connection to {host}',
  'network.tooLarge': 'the answer is too large',
  'network.noWebSocket': 'its answer is not the one of a WebSocket',
  'network.noHttp': 'its answer is not HTTP',
  'relay.answeredStatus': 'the relay answered with status {status}',
  'network.proxyLogin':
    "the proxy {proxy} asks for a login: put it into the proxy's address as http://user:password@{proxy}",
  'network.proxyRefusedLogin': 'the proxy {proxy} refused the user or the password in its address',
  'relay.noData': 'no data connection to {origin}: {why}',
  'network.brokeOff': 'it broke off',
  'network.noJson': 'it sent a message that is no JSON',
  'network.tooSilent': 'it has been silent for too long',
  'network.speaksTls': 'it speaks TLS, so its address begins with https:// (https://{host})',
  'relay.notRelay': 'What responds at {origin} is not a Culvert relay',
  'relay.unreachable': 'The relay at {origin} cannot be reached: {why}',
  'relay.otherRequest': 'The relay sent a response to another request; try again',
  'relay.notUnderstood': 'The relay sent a response that this client does not understand',
  'relay.badField':
    'The relay sent a response that this client does not understand: "{field}" is not what it should be',
  'relay.linkElsewhere': 'The relay sent a link that leads elsewhere',
  'relay.notAddress':
    '"{text}" is not a relay\'s address: give http:// or https://, a host and, if needed, a port, such as https://relay.example.com',
  'relay.moreThanAddress':
    '"{text}" holds more than the address of a relay: give http:// or https://, a host and, if needed, a port, such as https://relay.example.com',
  'relay.noAccess':
    'This relay is too old to restrict who may come into a tunnel, and has to be updated. {outcome}',
  'relay.noDomains': 'This relay is too old for domains of users, and has to be updated. {outcome}',
  'relay.closedAtOnce': 'The tunnel was closed at once',
  'relay.notClosed': 'The tunnel could not be closed, but nobody serves it: {why}',
  'relay.status': 'it answered with status {status}',
  'relay.moved': 'it has another address: {address}',
  'relay.noWebAddress': 'not a web address',
  'relay.refusedOnce': 'it refused the key once, and did not say so again',
  'relay.nothingChanged': 'Nothing has changed',
  'relay.leftOut': 'It left something out of what was asked',
  'replay.tooMany': '{max} requests are being repeated. Try again later.',
  'replay.incomplete': 'Request {id} has not come to its end, so it cannot be repeated.',
  'replay.notComeYet': 'Request {id} has not come yet, so it cannot be edited.',
  'replay.unknown': 'There is no request {id}, or its messages are no longer kept.',
  'replay.webSocket': 'Request {id} opened a WebSocket, which cannot be repeated.',
  'replay.truncated': 'Request {id} cannot be repeated: of its body only {kept} KiB are kept.',
  'replay.localRefused': 'Nothing answers on {service}. Start the service there and try again.',
} as const;

/** `culvert.yml`. Most are shown after the line and the field. */
export const PROJECT_MESSAGES = {
  'project.problem': '{path}:{line}: {problem}',
  'project.fieldProblem': '{path}:{line}: {field}: {problem}',
  'project.sentence': '{clause}.',
  'project.unreadable': '{path} cannot be read: {why}.',
  'project.tooLarge': 'it is larger than {max} bytes',
  'project.repeats': '{path}: it repeats itself too often through aliases.',
  'project.otherOwner':
    '{path} belongs to another user (uid {uid}), and says which of your ports are opened to whom: read it, and if that is what you want run "culvert start --config {path}".',
  'project.takesTunnels': 'it takes the field "tunnels", with a name and a port for each tunnel',
  'project.noTunnel': 'it takes a name and a port for each tunnel, at least one',
  'project.tooMany': 'these are {count}; it takes at most {max} tunnels',
  'project.label': 'is not a name for a tunnel: give 1 to {max} letters, digits, hyphens and underscores',
  'project.takesFields': 'is {value}; it takes the fields {fields}',
  'project.takes': 'is {value}; it takes {accepted}',
  'project.empty': 'empty',
  'project.keyValue': 'an API key, which does not belong in this file',
  'project.noTarget': 'is missing; it takes {accepted}; "share" in its place takes a folder',
  'project.aboutPort': 'is about a port, and this tunnel leads to the folder of "share"',
  'project.unknownField': 'no such field; there are {fields}',
  'project.meantField': 'no such field; did you mean {field}?',
  'project.key':
    'an API key does not belong in this file, which others get to see: run "culvert login" or set CULVERT_API_KEY',
  'project.folderUnreadable': '{path}: {field}: "{folder}" cannot be read ({code}).',
  'project.folderOutside':
    '{path}: {field}: "{folder}" leads out of the folder of the file, which shares what is in it only: "culvert share" takes any folder.',
  'access.takesUsers': 'it takes USER:PASSWORD, or a list of them',
  'access.takesPassword': 'it takes a text, or true for three words that are made up',
  'access.takesNetworks': 'it takes an address or a network, or a list of them',
  'access.takesFlag': 'it takes true or false',
  'access.userTakes': 'the user of USER:PASSWORD takes {accepted}',
  'access.passwordOf': 'the password of {user} takes {accepted}',
  'access.passwordTakes': 'it takes {accepted}',
  'access.manyUsers': 'it takes at most {max} users',
  'access.userTwice': 'there is {user} twice',
  'access.userAlone': 'a user has no password; it takes USER:PASSWORD',
  'access.notNetwork': '{network} is not {accepted}',
  'access.manyNetworks': 'it takes at most {max} addresses and networks',
  'access.unset': 'the variable {name} is not set',
  'access.unsetIn': '{field}: {problem}',
  'access.reference':
    '{reference} takes the name of a variable, such as {example}; {escape} stands for {begin}',
} as const;

/** Requests that users write or import. */
export const REQUEST_MESSAGES = {
  'edit.method': 'The method takes 1 to {max} letters, digits and hyphens, such as POST.',
  'edit.connect': 'The method takes any but CONNECT, which is for proxies.',
  'edit.longPath': 'The path takes {max} characters with its query; this one has {length}.',
  'edit.pathLines': 'The path takes no line break.',
  'edit.path':
    'The path begins with / and takes visible ASCII other than #; write anything else as %, such as %20 for a space.',
  'edit.manyHeaders': 'A request takes {max} headers; this one has {count}.',
  'edit.largeHeaders': 'The headers take {max} KiB together; these have {size} KiB.',
  'edit.ownHeader': 'The header {name} is written by culvert, from the rest of the request.',
  'edit.headerName': 'The name of a header takes letters, digits and hyphens, without spaces; not "{name}".',
  'edit.valueLines': 'The value of {name} takes no line break.',
  'edit.valueControls': 'The value of {name} takes no control characters.',
  'edit.largeBody': 'The body takes {max} KiB; this one has {size} KiB.',
  'edit.noSecretInPath': 'The path says {mark}, and request {id} has no secret there: write it.',
  'edit.noSecretInHeader': 'The value of {name} says {mark}, and request {id} has no secret there: write it.',
  'import.severalCommands': 'There is more than one command; one is taken at a time.',
  'import.openQuote': 'A quote ({quote}) is not closed.',
  'import.largeCharacter': '{escape} takes a character up to 10ffff.',
  'import.shellVariable':
    'An unquoted {character} stands for a variable or a command in a shell. Nothing is run here: write what it stands for, or quote it.',
  'import.shellCommand':
    'An unquoted {character} stands for a command in a shell. Nothing is run here: write what it stands for, or quote it.',
  'import.shellOther':
    'An unquoted {character} stands for something else to do in a shell. Nothing is run here: write what it stands for, or quote it.',
  'import.windowsCommand': 'This is for cmd of Windows: copy it as cURL (bash).',
  'import.notCurl': 'A command that is imported begins with curl.',
  'import.optionFile': '{option} {value} names a file, and no files are read.',
  'import.noAddress': 'The command has no address.',
  'import.severalAddresses': 'The command has several addresses; one request is taken at a time.',
  'import.dataFile': 'The data {value} is in a file, and no files are read: put what is in it in its place.',
  'import.option': '{option} of curl is not taken here.',
  'import.optionForm': '{option} of curl is not taken here: give the body with --data-raw.',
  'import.optionReads': '{option} of curl is not taken here: no files are read.',
  'import.optionNext': '{option} of curl is not taken here: one request is taken at a time.',
  'import.noValue': '{option} of curl has no value.',
  'import.tooMany':
    'There are more than {max} requests, which are taken at a time: export fewer where the HAR was made.',
  'import.leftOut': 'Request {number} is left out: {why}',
  'import.notJson': 'This is not JSON, so it is no HAR.',
  'import.harMissing': 'This is no HAR: {field} is missing.',
  'import.harType': 'This is no HAR: {field} is not of the type {type}.',
} as const;

/** Tunnels: why one is not online, and problems of its visitors and its local service. */
export const TUNNEL_MESSAGES = {
  'tunnel.lost': 'No connection to the relay: {why}.',
  'tunnel.keyExpired': 'The API key has expired.',
  'tunnel.keyRevoked': 'The API key was revoked.',
  'tunnel.accountRemoved': 'The account was removed, and the API key with it.',
  'tunnel.replaced': 'Another client has taken over this tunnel.',
  'tunnel.closed': 'The tunnel was closed.',
  'tunnel.expired': 'The tunnel has expired.',
  'tunnel.gone': 'The tunnel was closed or has expired.',
  'tunnel.domainGone': 'The domain of the tunnel is not yours any more.',
  'tunnel.suspended': 'The account is suspended.',
  'tunnel.suspendedFor': 'The account is suspended: {reason}.',
  'tunnel.draining': 'The relay is shutting down.',
  'tunnel.closedWith': 'The relay closed the connection with code {code}.',
  'tunnel.keyRefused': 'The relay refused the API key: {why}.',
  'tunnel.refusedForNow': 'The relay refused for now: {why}.',
  'tunnel.refused': 'The relay refused the connection: {why}.',
  'tunnel.sleeps': 'This computer is going to sleep.',
  'tunnel.stopped': 'Stopped.',
  'local.noHttps': 'No HTTPS connection to {service}: {why}. The tunnel stays up.',
  'local.refused': 'Nothing answers on {service}. Start the service there; the tunnel stays up.',
  'local.reset':
    'The service on {service} closed a connection without a response. Its own output should say why.',
  'local.slow':
    'A visitor has been waiting for {seconds} s for an answer of the service on {service}. Nothing is cut: it may take as long as it likes.',
  'local.hostBlocked':
    'The service on {service} refuses the host name that visitors use. Start with --host-header local, or allow the name ({setting}).',
  'visitor.tooMany': 'More than {max} connections at once: a visitor was turned away.',
  'visitor.lost': 'A visitor was lost: {why}',
  'visitor.left': 'A visitor left before the connection was open.',
} as const;

/* The engine's English messages, with `{…}` as placeholders. Translations are in the catalogue of the app. */

export const MESSAGES = {
  ...DIAGNOSTICS_MESSAGES,
  ...FOLDER_MESSAGES,
  ...NETWORK_MESSAGES,
  ...PROJECT_MESSAGES,
  ...REQUEST_MESSAGES,
  ...TUNNEL_MESSAGES,
} as const;

export type MessageCode = keyof typeof MESSAGES;
