/** Every option of `culvert`, and those that several commands accept. Both the help and the reader use this table. */

interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** whether it may be given several times */
  readonly multiple?: boolean;
  /** the placeholder for the value in the help */
  readonly value?: string;
  readonly text: string;
}

/** Used by the parser, which derives the types of values from it. */
export const OPTION_TABLE = {
  relay: {
    type: 'string',
    value: 'URL',
    text: 'address of the relay (or CULVERT_RELAY; else the one signed in to, else http://localhost:8080)',
  },
  key: {
    type: 'string',
    value: 'KEY',
    text: 'API key (or CULVERT_API_KEY, which other users of this machine cannot see; else the one signed in with)',
  },
  ca: {
    type: 'string',
    value: 'FILE',
    text: 'certificates (PEM) of authorities to trust in addition to the usual ones (or CULVERT_CA)',
  },
  insecure: {
    type: 'boolean',
    text: 'send the key unencrypted (http://) to a relay on another machine; others on the way can read it',
  },
  'allow-other-hosts': {
    type: 'boolean',
    text: 'accept a local_host in culvert.yml that is another machine',
  },
  name: {
    type: 'string',
    value: 'N',
    text: 'the name in the address: 2-63 lowercase letters, digits and hyphens',
  },
  domain: {
    type: 'string',
    value: 'DOMAIN',
    text: 'a domain of yours that the tunnel has for its address, once "culvert domain" has verified it',
  },
  ttl: { type: 'string', value: 'D', text: 'time to live: a duration such as 30m, 4h or 1h30m' },
  idle: { type: 'boolean', text: 'restart the time to live with every request and byte' },
  'host-header': {
    type: 'string',
    value: 'MODE',
    text: 'the Host that the service sees: keep (the address visitors use), local (localhost and the port), or a name',
  },
  'local-host': {
    type: 'string',
    value: 'HOST',
    text: 'the machine that has the port (default: this one, 127.0.0.1 or ::1)',
  },
  'local-https': {
    type: 'boolean',
    text: 'the port speaks HTTPS; self-signed certificates are accepted, from this machine only',
  },
  wait: {
    type: 'string',
    value: 'S',
    text: 'seconds that visitors wait while nothing listens on the port, as when a server restarts (default 0)',
  },
  auth: {
    type: 'string',
    multiple: true,
    value: 'USER[:PASSWORD]',
    text: 'let in who logs in so (HTTP Basic); may be repeated. Without a password you are asked for it',
  },
  password: {
    type: 'string',
    value: '[WORD]',
    text: 'let in who types this word, 4 to 128 characters, into a page; without WORD, three words that are made up and shown',
  },
  allow: {
    type: 'string',
    multiple: true,
    value: 'NET',
    text: 'let in only who comes from this address or network, such as 192.0.2.7 or 10.0.0.0/8; may be repeated',
  },
  links: { type: 'boolean', text: 'let in who has a signed link, which "culvert link" makes' },
  knock: { type: 'boolean', text: 'let in whom you admit, one by one, when they knock' },
  open: {
    type: 'boolean',
    text: 'open the address in a browser once visitors reach it; with "access": let in everybody again',
  },
  qr: { type: 'boolean', text: 'show the address as a QR code once visitors reach it' },
  copy: { type: 'boolean', text: 'copy the address to the clipboard of the terminal once visitors reach it' },
  note: { type: 'string', value: 'N', text: 'who the link is for, up to 64 characters; the service is told' },
  path: {
    type: 'string',
    value: 'P',
    text: "where the link leads, such as /cart?step=2; the tunnel's start page without. inspect edit: path and query to send",
  },
  revoke: { type: 'string', value: 'LINK', text: 'end this link, and the visits of who has come with it' },
  admit: { type: 'boolean', text: 'let the visitor in' },
  refuse: { type: 'boolean', text: 'do not let the visitor in' },
  for: { type: 'string', value: 'D', text: 'how long the visitor is let in, such as 8h (default: an hour)' },
  config: {
    type: 'string',
    value: 'FILE',
    text: 'the file with the tunnels (default: the nearest culvert.yml, in this folder or above)',
  },
  tunnel: { type: 'string', value: 'ID|SLUG', text: 'which tunnel, if several are served' },
  filter: {
    type: 'string',
    value: 'WORDS',
    text: 'list only requests with all of these words in method, path, status or visitor',
  },
  reveal: { type: 'boolean', text: 'also show the values of secrets, such as cookies' },
  curl: { type: 'boolean', text: 'inspect show: print a curl command that sends the request again' },
  method: { type: 'string', value: 'M', text: 'inspect edit: the method to send, such as PUT' },
  header: {
    type: 'string',
    multiple: true,
    value: 'NAME:VALUE',
    text: 'inspect edit: a header to send in place of those of that name; without a value, none. May be repeated',
  },
  body: {
    type: 'string',
    value: 'TEXT',
    text: 'inspect edit: the body to send; - reads it from standard input',
  },
  json: { type: 'boolean', text: 'print JSON, one value per line' },
  help: { type: 'boolean', short: 'h', text: 'show the help of a command' },
  version: { type: 'boolean', short: 'v', text: 'show the version' },
} as const satisfies Record<string, Option>;

export type OptionName = keyof typeof OPTION_TABLE;
export const OPTIONS: Readonly<Record<OptionName, Option>> = OPTION_TABLE;
export const OPTION_NAMES = Object.keys(OPTION_TABLE) as OptionName[];

/* Options of several commands. */

export const ACCESS = ['relay', 'key', 'ca', 'insecure', 'json'] as const;
export const WHO_MAY_COME_IN = ['auth', 'password', 'allow', 'links', 'knock'] as const;
export const ONCE_ONLINE = ['open', 'qr', 'copy'] as const;

export const EXIT_CODES = `Exit codes:
  0 ended by Ctrl-C, or done   1 failed   2 wrong usage   3 API key refused
  4 tunnel closed or expired   5 taken over by another client
`;
