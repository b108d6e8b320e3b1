/** `culvert http`, `share` and `start`: open tunnels, and serve them until they end. */
import { setFlagsFromString } from 'node:v8';
import { DOMAIN_RULE } from '../../../shared/domains.ts';
import { limitOldGeneration, limitYoungGeneration } from '../../../shared/heap.ts';
import { nearest } from '../../../shared/help-text.ts';
import { isWildcardDomain } from '../../../shared/wildcard-hosts.ts';
import {
  COMPRESS_RULE,
  type CompressMode,
  HOST_HEADER_RULE,
  LOCAL_HOST_RULE,
  NAME_RULE,
  PORT_RULE,
} from '../../../shared/value-rules.ts';
import { checkLocalHosts, locateFolders } from '../../client/config/project-trust.ts';
import {
  KEEP_BODIES_RULE,
  parseSize,
  SPEC_DEFAULTS,
  type TunnelSpec,
  WAIT_RULE,
} from '../../client/config/tunnel-spec.ts';
import { type ExitCode, UsageError } from '../../client/failures.ts';
import { OLD_GENERATION_GROWTH_PERCENT } from '../../client/limits.ts';
import { isLoopback } from '../../client/network/dial.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import { readAccessOptions } from '../command-line/access-options.ts';
import { type CommandContext, type CommandLine, defineCommand, type Files } from '../command-line/command.ts';
import { completeLogin, readAccessOrLogin } from './login.ts';
import { EXIT_CODES } from '../command-line/help.ts';
import { ACCESS_POLICY, COMMON, HEADERS, REQUESTS, WHEN_ONLINE } from '../command-line/options.ts';
import {
  parseTarget,
  readHeaders,
  readOption,
  readSeconds,
  readUpstream,
  type Target,
  type Values,
} from '../command-line/parse.ts';
import type { HttpTunnel, ProjectTunnels } from '../run-tunnels.ts';
import type { OnceOnline } from '../view/once-online.ts';

const EVENTS = `{"event":"online","tunnel":{…}}
    Visitors can reach the port. This event is sent first and after each reconnect. It contains "password" if
    --password generated one. The first one contains the new tokens of --token, as "access.tokens[].token".
{"event":"reconnecting","attempt":1,"retry_in_ms":250,"message":"…"}
    The connection to the relay was lost.
{"event":"problem","code":"local-refused","message":"…"}
    A visitor could not be served, but the tunnel stays open. Codes: local-refused, local-reset, local-malformed,
    local-not-http2, local-no-websocket, local-busy, local-slow, host-blocked, path-cookie, visitor-gone,
    data-refused, data-failed, too-many-connections.
{"event":"knock","tunnel":"ID","id":"KNOCK","address":"…","agent":"…","at":"…"}
    A visitor is asking for access and will wait for up to 5 minutes. To respond, run
    "culvert knock ID KNOCK --admit" or --refuse.
{"event":"expiring","in_seconds":600,"expires_at":"…"}
    The tunnel will expire soon. This event is sent 10 minutes and 2 minutes before the tunnel expires. It contains
    "message" if the command tries to extend the tunnel and that fails; otherwise run "culvert extend ID".
{"event":"offline","reason":"stopped","message":"…"}
    The tunnel is offline and no more events will follow. Reasons: stopped, closed, expired, gone, replaced,
    key-refused, refused, failed.
`;

const ADDRESS = ['name', 'domain', 'wildcard', 'ttl', 'idle'] as const;

const LOCAL_SERVICE = ['host-header', 'local-host', 'local-https', 'upstream', 'wait', 'compress'] as const;

/** Options of the commands that forward to a local port. */
export const HTTP_OPTIONS = {
  Address: ADDRESS,
  'Local service': LOCAL_SERVICE,
  Headers: HEADERS,
  Access: ACCESS_POLICY,
  'When online': WHEN_ONLINE,
  Requests: REQUESTS,
  ...COMMON,
};

export const httpCommand = defineCommand({
  name: 'http',
  operands: 'PORT',
  summary: 'Open a tunnel to a local port',
  options: HTTP_OPTIONS,
  examples: {
    'culvert http 3000': 'open a tunnel with a random name',
    'culvert 3000': 'do the same with a shorter command',
    'culvert http 3000 --name my-app': 'use https://my-app.… as the address, if your plan allows names',
    'culvert http 3000 --password': 'protect it with a generated password',
    'culvert http 3000 --token agent': 'admit only programs that send a token',
    'culvert http 3000 --auth ann --allow 10.0.0.0/8': 'require a login and allow only one network',
    'culvert http 5173 --host-header local':
      'open a tunnel to a development server that rejects unknown hosts',
    'culvert http https://localhost:8443': 'forward to a local port that uses HTTPS',
    'culvert http 50051 --upstream h2c': 'open a tunnel to a gRPC server',
    'culvert http 3000 --response-header X-Frame-Options:DENY': 'set a header of every response',
    'culvert http 3000 --relay https://relay.example.com': "ask for this relay's API key first, and store it",
  },
  details: `
    The tunnel stays open until you press Ctrl-C, which closes it. Instead of PORT, you can give the address
    that a development server prints, such as http://localhost:3000.

    By default, anyone with the address can visit the tunnel. If you combine --auth, --password, --links, --knock and
    --token, visitors need to satisfy only one of them. --allow applies in addition. If you use --password without a value, put it last.

    If you already have a live tunnel with the name in --name, the command takes over that tunnel and keeps its
    address. If another client is serving that tunnel, the command asks first; if it is not running in a terminal, it
    exits with code 1.

    Unless you give --ttl or --idle, the command extends the tunnel before it expires, for as long as it runs.

    Before the first tunnel, --relay can be the address of a relay or an invitation. In a terminal, the command asks for the
    key or accepts the invitation, and stores the key like "culvert login".

    In a terminal, press ? to see the keyboard shortcuts. With --ui, or after you press w, the command shows its
    requests in a browser. The link works once; only a browser that has opened a link can use the window.`,
  sections: { 'Events of --json, one per line': EVENTS, 'Exit codes': EXIT_CODES },
  read: readHttp,
  run: serve,
});

export const shareCommand = defineCommand({
  name: 'share',
  operands: 'FOLDER',
  summary: "Share a folder's files through a tunnel, read-only",
  options: {
    Address: ADDRESS,
    Files: ['compress'],
    Headers: HEADERS,
    Access: ACCESS_POLICY,
    'When online': WHEN_ONLINE,
    Requests: REQUESTS,
    ...COMMON,
  },
  examples: {
    'culvert share .': 'share this folder',
    'culvert share ./public --name preview --password':
      'share a folder under a chosen name, with a generated password',
  },
  details: `
    The command shares the folder until you press Ctrl-C. For each folder, visitors see its index.html or a list of
    its files. They cannot change anything. Files and folders whose names begin with a dot, culvert.yml, and links that point outside the folder are hidden from visitors.

    Access options, events and exit codes are the same as for "culvert http".`,
  read: readShare,
  run: serve,
});

export const startCommand = defineCommand({
  name: 'start',
  operands: '[NAME…]',
  summary: 'Open the tunnels defined in culvert.yml',
  options: {
    Project: ['config', 'allow-other-hosts', 'take-over'],
    'When online': WHEN_ONLINE,
    Requests: REQUESTS,
    ...COMMON,
  },
  meanings: {
    relay:
      'Address of the relay. Default: CULVERT_RELAY, then "relay" in culvert.yml, then the relay you logged in to.',
    open: 'Open each address in a browser.',
    qr: 'Show each address as a QR code.',
    copy: "Copy the address to the terminal's clipboard. This works only with a single tunnel.",
    ui: 'Show the requests and the settings of the tunnels in a browser, at http://127.0.0.1:4040 or the next free port.',
  },
  examples: {
    'culvert start': 'open every tunnel in the nearest culvert.yml',
    'culvert start web': 'open only the tunnel "web"',
    'culvert start web --open': 'open that tunnel and show it in a browser',
  },
  details: `
    The tunnels stay open until you press Ctrl-C, which closes them. The command opens them one after another, and
    waits if the relay limits how many tunnels you can create per minute. If one tunnel closes, the others stay open.

    If you already have a live tunnel with a name in culvert.yml, the command takes over that tunnel if no client is
    serving it and it has the same access policy or none. Otherwise, the command asks first; if it is not running in
    a terminal, it exits with code 1 unless you use --take-over. Because a relay shows no passwords, policies with "auth" or "password" never count
    as the same.

    The key from CULVERT_API_KEY or --key is sent to the relay in culvert.yml only if you also specify that relay with
    CULVERT_RELAY, --relay or "culvert login". If culvert.yml belongs to another user, the command uses it only with
    --config.

    With --json, the command prints the same events as "culvert http", each with the "name" of its tunnel. Every
    tunnel has its own "offline" event. If tunnels end with different exit codes, the command exits with whichever of them comes first in this list: 3, 1, 5, 4, 0.`,
  sections: {
    'culvert.yml': `relay: https://relay.example.com   # optional. The key does not belong here: "culvert login" stores it
tunnels:
  web:                      # the tunnel's label: 1 to 32 letters, digits, hyphens and underscores
    port: 3000              # the only required field
    name: my-app            # this and all following fields work like the options of "culvert http"
    domain: app.example.com
    wildcard: true
    hosts: { api: 3001, "*": 3000 }   # ports for hosts such as https://api--my-app.…; includes wildcard
    ttl: 4h
    idle: true
    host_header: local
    local_host: 192.0.2.7   # forwards to another machine; requires --allow-other-hosts
    local_https: true
    upstream: h2            # or h2c, for HTTP/2 without TLS
    wait: 10
    compress: off           # auto, on or off
    keep_bodies: 1MB
    request_header: ["X-Env: dev"]   # one header or a list
    remove_request_header: Cookie    # one name or a list
    response_header: "X-Frame-Options: DENY"
    remove_response_header: [Server, X-Powered-By]
    auth: "ann:\${ANN_PASSWORD}"   # one user or a list; can contain environment variables
    password: \${PASSWORD}    # or true to generate a password
    allow: [10.0.0.0/8, 192.0.2.7]
    links: true
    knock: true
    tokens: [ci, agent: "\${AGENT_TOKEN}"]   # names; the relay makes a token that has no value
  docs:
    share: ./public         # shares a folder instead of a port, like "culvert share"
`,
  },
  read: (line) => readStart(line),
  run: serve,
});

/** The limits of the heap come before anything else is loaded. */
export function limitHeap(): void {
  limitYoungGeneration(process, setFlagsFromString);
  limitOldGeneration(OLD_GENERATION_GROWTH_PERCENT, process.execArgv, setFlagsFromString);
}

async function serve(given: HttpTunnel | ProjectTunnels, context: CommandContext): Promise<ExitCode> {
  limitHeap();
  const complete = 'project' in given ? given : await completeLogin(given, context);
  const { openTunnels } = await import('../run-tunnels.ts');
  return openTunnels(complete, context);
}

/** @throws UsageError */
function readHttp(line: CommandLine): HttpTunnel {
  return readHttpTunnel(line, readTarget(line), SPEC_DEFAULTS.wait);
}

/**
 * A tunnel to a local service, from the options of `http`.
 *
 * @param wait seconds to wait for the port, without `--wait`
 * @throws UsageError
 */
export function readHttpTunnel(line: CommandLine, { port, host, https }: Target, wait: number): HttpTunnel {
  const { values } = line;
  const wanted = readAccessOptions(values);
  const tunnel = {
    ...SPEC_DEFAULTS,
    ...ofAnyTunnel(line),
    port,
    hostHeader:
      readOption('host-header', hostHeaderMode(values), HOST_HEADER_RULE) ?? SPEC_DEFAULTS.hostHeader,
    localHost: readOption('local-host', values['local-host'], LOCAL_HOST_RULE) ?? host,
    localHttps: values['local-https'] ?? https,
    upstream: readUpstream(values, https),
    wait: readSeconds('wait', values.wait, WAIT_RULE) ?? wait,
    madePassword: wanted.madePassword,
  };
  const access = readAccessOrLogin(line.accessSources());
  refuseRelayPort(access.relay, tunnel);
  return { tunnel, wanted, onceOnline: onceOnline(values), ui: values.ui ?? false, ...access };
}

/**
 * Visitors of such a tunnel would reach the relay instead of a service of the user.
 *
 * @throws UsageError
 */
export function refuseRelayPort(
  relay: RelayAddress,
  { folder, localHost, port, hosts }: Pick<TunnelSpec, 'folder' | 'localHost' | 'port' | 'hosts'>,
): void {
  const ports = [port, ...Object.values(hosts ?? {})];
  if (folder !== undefined || !ports.includes(relay.port)) return;
  if (!isLoopback(relay.hostname) || !isLoopback(localHost)) return;
  throw new UsageError(`Port ${relay.port} is the relay's own port. Specify the port of your local service.`);
}

/** @throws UsageError */
function readShare(line: CommandLine): HttpTunnel {
  line.atMost(1);
  const [folder = ''] = line.operands;
  if (folder === '') {
    line.checkPassword('FOLDER is missing');
    throw new UsageError('FOLDER is missing. Specify the folder to share.');
  }
  const wanted = readAccessOptions(line.values);
  const { madePassword } = wanted;
  const tunnel = { ...SPEC_DEFAULTS, ...ofAnyTunnel(line), port: 0, folder, madePassword };
  const access = readAccessOrLogin(line.accessSources());
  return { tunnel, wanted, onceOnline: onceOnline(line.values), ui: line.values.ui ?? false, ...access };
}

/**
 * The tunnels of a `culvert.yml`, or some of them by name.
 *
 * @param readProject reads the file that `--config` names, or the nearest
 * @throws UsageError, ProjectFileError
 */
export function readStart(
  line: CommandLine,
  operands = line.operands,
  readProject: Files['readProject'] = (path) => line.files.readProject(path),
): ProjectTunnels {
  const { values } = line;
  const { path, relay, tunnels: all } = readProject(values.config);
  const labels = all.map(({ label }) => label);
  for (const name of operands) {
    if (labels.includes(name)) continue;
    const meant = nearest(name, labels);
    const hint = meant === undefined ? `Its tunnels are ${labels.join(', ')}.` : `Did you mean ${meant}?`;
    throw new UsageError(`culvert.yml has no tunnel named "${name}". ${hint}`);
  }
  const chosen = all.filter(({ label }) => operands.length === 0 || operands.includes(label));
  const keepBodies = readKeepBodies(values);
  const tunnels = locateFolders(path, chosen).map((tunnel) => ({
    ...tunnel,
    keepBodies: keepBodies ?? tunnel.keepBodies,
  }));
  if (values.copy === true && tunnels.length > 1)
    throw new UsageError(
      `--copy can copy only one address. Specify the tunnel, as in "culvert start ${labels[0]} --copy".`,
    );
  if (values['allow-other-hosts'] !== true) checkLocalHosts({ path, tunnels });
  const access = line.access(relay && { path, relay });
  for (const tunnel of tunnels) refuseRelayPort(access.relay, tunnel);
  return {
    project: path,
    takesOver: values['take-over'] ?? false,
    tunnels,
    onceOnline: onceOnline(values),
    ui: values.ui ?? false,
    ...access,
  };
}

function ofAnyTunnel(line: CommandLine) {
  const { name, idle, compress } = line.values;
  const domain = readOption('domain', line.values.domain, DOMAIN_RULE);
  return {
    label: undefined,
    name: readOption('name', name, NAME_RULE),
    domain,
    wildcard: line.values.wildcard ?? isWildcardDomain(domain ?? ''),
    hosts: undefined,
    ttl: line.ttl(),
    idle: idle ?? SPEC_DEFAULTS.idle,
    compress: readCompressMode(compress) ?? SPEC_DEFAULTS.compress,
    headers: readHeaders(line.values),
    keepBodies: readKeepBodies(line.values) ?? SPEC_DEFAULTS.keepBodies,
  };
}

function readTarget(line: CommandLine): Target {
  line.atMost(1);
  const [target] = line.operands;
  if (target === undefined) {
    line.checkPassword('PORT is missing');
    throw new UsageError(`PORT is missing. The local port must be ${PORT_RULE.accepted}.`);
  }
  const parsed = parseTarget(target);
  if (parsed.host !== 'localhost' && line.values['local-host'] !== undefined)
    throw new UsageError(`--local-host and "${target}" both name a host. Leave one of them out.`);
  return parsed;
}

/** @throws UsageError */
function readCompressMode(mode: string | undefined): CompressMode | undefined {
  return readOption('compress', mode, COMPRESS_RULE) as CompressMode | undefined;
}

/** @returns bytes. @throws UsageError */
function readKeepBodies({ 'keep-bodies': size }: Values): number | undefined {
  return parseSize(readOption('keep-bodies', size, KEEP_BODIES_RULE) ?? '');
}

/** `rewrite` is ngrok's word for the Host of the local service itself. */
function hostHeaderMode({ 'host-header': mode }: Values): string | undefined {
  return mode === 'rewrite' ? 'local' : mode;
}

function onceOnline({ open = false, qr = false, copy = false }: Values): OnceOnline {
  return { open, qr, copy };
}
