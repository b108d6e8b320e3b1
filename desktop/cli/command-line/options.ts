/**
 * Every option of `culvert`. The parser, the help, the completion, the manual page and docs/reference/culvert.md use
 * this table; a command lists its options in groups, and can give one a meaning of its own.
 */

interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** whether it may be given several times */
  readonly multiple?: boolean;
  /** the placeholder for the value in the help */
  readonly value?: string;
  /** what it does, in one or two sentences */
  readonly text: string;
}

/** Used by the parser, which derives the types of values from it. */
export const OPTION_TABLE = {
  relay: {
    type: 'string',
    value: 'URL',
    text: 'Address of the relay. Default: CULVERT_RELAY, then the relay you logged in to, then http://localhost:8080.',
  },
  key: {
    type: 'string',
    value: 'KEY',
    text: 'API key. Default: CULVERT_API_KEY, then the key you logged in with. Other users of this machine can see options in the process list.',
  },
  ca: {
    type: 'string',
    value: 'FILE',
    text: 'PEM file with additional certificate authorities to trust. Default: CULVERT_CA.',
  },
  insecure: {
    type: 'boolean',
    text: 'Allow plain HTTP to a relay on another machine. Anyone who can read the network traffic can see the key.',
  },
  'allow-other-hosts': {
    type: 'boolean',
    text: 'Allow culvert.yml to expose ports on other machines (local_host).',
  },
  'take-over': {
    type: 'boolean',
    text: 'Take over your live tunnels that have a name in culvert.yml without asking, and replace their access policies.',
  },
  name: {
    type: 'string',
    value: 'NAME',
    text: 'Name in the address: 2 to 63 lowercase letters, digits and hyphens. Default: a random name.',
  },
  domain: {
    type: 'string',
    value: 'DOMAIN',
    text: 'Use your own domain as the address, or all hosts of one, such as "*.example.com". Verify it first with "culvert domain".',
  },
  wildcard: {
    type: 'boolean',
    text: 'Also use every address that begins with any text and two hyphens, such as https://any--my-app.…',
  },
  ttl: {
    type: 'string',
    value: 'DURATION',
    text: 'How long the tunnel lives, such as 30m, 4h or 1h30m. Default: as long as the command runs.',
  },
  idle: { type: 'boolean', text: "Restart the tunnel's lifetime whenever it has traffic." },
  port: {
    type: 'string',
    value: 'PORT',
    text: 'Port of the window. Default: 4040, or the next free port. 0 picks any free port.',
  },
  'host-header': {
    type: 'string',
    value: 'MODE',
    text: 'Host header that the local service receives: keep (the public host name, the default), local (localhost and the port, which also replace the public address in Origin, Referer and Destination), or a host name, which --local-https also asks for in the TLS handshake.',
  },
  'local-host': {
    type: 'string',
    value: 'HOST',
    text: 'Machine where the local service is running. Default: this machine (127.0.0.1 or ::1).',
  },
  'local-https': {
    type: 'boolean',
    text: 'Connect to the local port over HTTPS. Self-signed certificates are accepted only from this machine.',
  },
  upstream: {
    type: 'string',
    value: 'PROTOCOL',
    text: 'Protocol of the service: http1 (the default), h2c (HTTP/2 without TLS, used by most gRPC servers) or h2 (HTTP/2 over TLS).',
  },
  'remote-port': {
    type: 'string',
    value: 'PORT',
    text: 'Port of the relay, if it is free. Default: one that the relay chooses.',
  },
  'proxy-protocol': {
    type: 'boolean',
    text: "Begin each connection to the local service with a PROXY protocol header (version 2), which contains the visitor's address.",
  },
  wait: {
    type: 'string',
    value: 'SECONDS',
    text: 'How many seconds (0 to 60) requests wait if nothing is listening on the port, for example during a restart. Default: 0.',
  },
  'request-header': {
    type: 'string',
    multiple: true,
    value: 'NAME:VALUE',
    text: 'Set a header of each request that the local service receives. You can repeat this option.',
  },
  'remove-request-header': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    text: 'Remove a header from each request. You can repeat this option.',
  },
  'response-header': {
    type: 'string',
    multiple: true,
    value: 'NAME:VALUE',
    text: 'Set a header of each response that visitors receive. You can repeat this option.',
  },
  'remove-response-header': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    text: 'Remove a header from each response. You can repeat this option.',
  },
  compress: {
    type: 'string',
    value: 'MODE',
    text: 'Compress responses for visitors: auto (the default: on unless the relay is on this machine or in a private network), on or off.',
  },
  'keep-bodies': {
    type: 'string',
    value: 'SIZE',
    text: 'How much of each body the request log keeps, from 64KB to 10MB. The default is 256KB. Larger bodies push out older requests, because the log has at most 50 MB.',
  },
  auth: {
    type: 'string',
    multiple: true,
    value: 'USER[:PASSWORD]',
    text: 'Admit visitors who log in with HTTP Basic. You can repeat this option. If you leave out the password, the command asks for one.',
  },
  password: {
    type: 'string',
    value: '[WORD]',
    text: 'Admit visitors who enter this password (4 to 128 characters). Without WORD, the command generates a three-word password and shows it.',
  },
  allow: {
    type: 'string',
    multiple: true,
    value: 'NET',
    text: 'Admit only visitors from this address or network, such as 192.0.2.7 or 10.0.0.0/8. You can repeat this option.',
  },
  links: { type: 'boolean', text: 'Admit visitors who have a signed link. "culvert link" creates one.' },
  knock: { type: 'boolean', text: 'Require your approval for each visitor.' },
  token: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    text: 'Admit programs that send a token in the header "Authorization: Bearer". The relay creates the token and shows it once. You can repeat this option.',
  },
  'sign-in': {
    type: 'string',
    multiple: true,
    value: 'WHO',
    text: 'Admit people who sign in with the identity provider of the relay: ann@example.com, "*@example.com", group:NAME or "*" for anyone it knows. You can repeat this option.',
  },
  mcp: {
    type: 'boolean',
    text: 'Let agents such as Claude ask for access by OAuth. You approve each of them, or they sign in as the other options say.',
  },
  'revoke-agent': {
    type: 'string',
    value: 'AGENT',
    text: 'Revoke the access of this agent, and disconnect it.',
  },
  open: { type: 'boolean', text: 'Open the address in a browser.' },
  qr: { type: 'boolean', text: 'Show the address as a QR code.' },
  copy: { type: 'boolean', text: "Copy the address to the terminal's clipboard." },
  fail: {
    type: 'string',
    multiple: true,
    value: 'RULE',
    text: 'Respond to requests with an error, such as "POST /hooks 500 x2" for the first two. They do not reach the local service. You can repeat this option.',
  },
  delay: {
    type: 'string',
    multiple: true,
    value: 'RULE',
    text: 'Delay requests, such as "/api 3s" for all of them, by up to 60s. You can repeat this option.',
  },
  ui: {
    type: 'boolean',
    text: 'Show the requests and the settings of the tunnel in a browser, at http://127.0.0.1:4040 or the next free port.',
  },
  host: {
    type: 'string',
    value: 'ADDRESS',
    text: 'IP address to listen on. Default: 127.0.0.1, which only this machine can reach.',
  },
  'insecure-remote': {
    type: 'boolean',
    text: 'Allow --host to be an address that other machines can reach. The connection is not encrypted.',
  },
  'no-open': { type: 'boolean', text: 'Do not open the browser.' },
  note: {
    type: 'string',
    value: 'TEXT',
    text: "The recipient's name, up to 64 characters. The local service receives it with each request.",
  },
  path: { type: 'string', value: 'PATH', text: 'Path and query of the request.' },
  once: { type: 'boolean', text: 'Admit only the first browser that opens the link.' },
  keep: {
    type: 'boolean',
    text: 'Keep the name for your account, with or without a tunnel, until you let it go.',
  },
  until: {
    type: 'string',
    value: 'WHEN',
    text: 'When you expect to be back: a time such as 2030-01-31T09:00:00Z, or a duration such as 2h.',
  },
  back: { type: 'boolean', text: 'Remove the message.' },
  revoke: {
    type: 'string',
    value: 'LINK',
    text: 'Revoke this link, and disconnect the visitors who used it.',
  },
  admit: { type: 'boolean', text: 'Approve the visitor.' },
  refuse: { type: 'boolean', text: 'Deny the visitor.' },
  for: { type: 'string', value: 'DURATION', text: 'How long the approved visitor has access. Default: 1h.' },
  ports: {
    type: 'string',
    value: 'RANGES',
    text: 'Local ports that the agent may use, such as 3000-3999 or 3000,8080-8089. Default: all.',
  },
  'max-ttl': {
    type: 'string',
    value: 'DURATION',
    text: 'Longest remaining lifetime of a tunnel, such as 1h. Default: as long as the command runs.',
  },
  'require-access': { type: 'boolean', text: 'Refuse tunnels that are open to anyone.' },
  'allow-tcp': { type: 'boolean', text: 'Allow TLS and TCP tunnels, which carry any protocol.' },
  ask: {
    type: 'boolean',
    text: 'Ask you before anything becomes public. Each answer applies to one action.',
  },
  config: {
    type: 'string',
    value: 'FILE',
    text: 'Project file that defines the tunnels. Default: the nearest culvert.yml, in this folder or a parent folder.',
  },
  tunnel: { type: 'string', value: 'ID|SLUG', text: 'Which tunnel to inspect, if several are running.' },
  filter: {
    type: 'string',
    value: 'WORDS',
    text: 'Show only requests that contain all of these words across their method, path, status and visitor address.',
  },
  search: {
    type: 'string',
    value: 'WORDS',
    text: 'Show only requests that contain all of these words anywhere, including their headers and bodies. Secrets are never found.',
  },
  reveal: { type: 'boolean', text: 'Also show secrets, such as cookies.' },
  curl: { type: 'boolean', text: 'Print a curl command that sends the request again.' },
  method: { type: 'string', value: 'METHOD', text: 'Change the method, for example to PUT.' },
  header: {
    type: 'string',
    multiple: true,
    value: 'NAME:VALUE',
    text: 'Replace all headers that have this name, or remove them if no value is given. You can repeat this option.',
  },
  sign: {
    type: 'string',
    value: 'SECRET',
    text: 'Sign the webhook again with the secret of its sender.',
  },
  body: {
    type: 'string',
    value: 'TEXT',
    text: 'Change the body; - reads it from standard input.',
  },
  json: { type: 'boolean', text: 'Print the output as JSON, one value per line.' },
  help: { type: 'boolean', short: 'h', text: 'Show this help.' },
  version: { type: 'boolean', short: 'v', text: 'Show the version.' },
} as const satisfies Record<string, Option>;

export type OptionName = keyof typeof OPTION_TABLE;
export const OPTIONS: Readonly<Record<OptionName, Option>> = OPTION_TABLE;
export const OPTION_NAMES = Object.keys(OPTION_TABLE) as OptionName[];

/** The options of a command, by the headings of its help. */
export type OptionGroups = Readonly<Record<string, readonly OptionName[]>>;

/** Options of every command that contacts the relay and prints a result. */
export const COMMON = {
  Relay: ['relay', 'key', 'ca', 'insecure'],
  Output: ['json'],
} as const satisfies OptionGroups;

/** Options of `http`, `share` and `start` about the address. */
export const WHEN_ONLINE = ['open', 'qr', 'copy'] as const;

/** Options of the same commands about the requests that they show. */
export const REQUESTS = ['keep-bodies', 'ui'] as const;

/** Options that set and remove headers. */
export const HEADERS = [
  'request-header',
  'remove-request-header',
  'response-header',
  'remove-response-header',
] as const;

/** Options that make up an access policy. */
export const ACCESS_POLICY = [
  'auth',
  'password',
  'allow',
  'links',
  'knock',
  'token',
  'sign-in',
  'mcp',
] as const;
