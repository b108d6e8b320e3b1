/** `culvert http`, `share` and `start`: open tunnels, and serve them until they end. */
import { setFlagsFromString } from 'node:v8';
import { DOMAIN_RULE } from '../../shared/domains.ts';
import { limitOldGeneration, limitYoungGeneration } from '../../shared/heap.ts';
import { nearest } from '../../shared/nearest.ts';
import {
  COMPRESS_RULE,
  type CompressMode,
  HOST_HEADER_RULE,
  LOCAL_HOST_RULE,
  NAME_RULE,
  PORT_RULE,
} from '../../shared/value-rules.ts';
import { checkLocalHosts, locateFolders } from '../client/config/project-trust.ts';
import { SPEC_DEFAULTS, type TunnelSpec, WAIT_RULE } from '../client/config/tunnel-spec.ts';
import { type ExitCode, UsageError } from '../client/failures.ts';
import { OLD_GENERATION_GROWTH_PERCENT } from '../client/limits.ts';
import { isLoopback } from '../client/network/dial.ts';
import type { RelayAddress } from '../client/relay/relay-address.ts';
import { readAccessOptions } from './access-options.ts';
import { type CommandContext, type CommandLine, defineCommand } from './command.ts';
import { EXIT_CODES } from './help.ts';
import { ACCESS_POLICY, COMMON, WHEN_ONLINE } from './options.ts';
import { parseTarget, readOption, readSeconds, readUpstream, type Target, type Values } from './parse.ts';
import type { HttpTunnel, ProjectTunnels } from './run-tunnels.ts';
import type { OnceOnline } from './view/once-online.ts';

const EVENTS = `{"event":"online","tunnel":{…}}
    Visitors can reach the port. Sent first and after each reconnect. Contains "password" if --password generated one.
{"event":"reconnecting","attempt":1,"retry_in_ms":250,"message":"…"}
    The connection to the relay was lost.
{"event":"problem","code":"local-refused","message":"…"}
    One visitor could not be served; the tunnel stays open. Codes: local-refused, local-reset, local-not-http2,
    local-no-websocket, local-busy, local-slow, host-blocked, visitor-gone, data-refused, data-failed,
    too-many-connections.
{"event":"knock","tunnel":"ID","id":"KNOCK","address":"…","agent":"…","at":"…"}
    A visitor asks for access and waits for 5 minutes: "culvert knock ID KNOCK --admit" or --refuse.
{"event":"expiring","in_seconds":600,"expires_at":"…"}
    Sent 10 and 2 minutes before the tunnel expires. Extend it with "culvert extend ID".
{"event":"offline","reason":"stopped","message":"…"}
    The last event. Reasons: stopped, closed, expired, gone, replaced, key-refused, refused, failed.
`;

const ADDRESS = ['name', 'domain', 'ttl', 'idle'] as const;

export const httpCommand = defineCommand({
  name: 'http',
  operands: 'PORT',
  summary: 'Open a tunnel to a local port',
  options: {
    Address: ADDRESS,
    'Local service': ['host-header', 'local-host', 'local-https', 'upstream', 'wait', 'compress'],
    Access: ACCESS_POLICY,
    'When online': WHEN_ONLINE,
    ...COMMON,
  },
  examples: {
    'culvert http 3000': 'open a tunnel with a random name',
    'culvert 3000': 'the same, shorter',
    'culvert http 3000 --name my-app': 'use https://my-app.… if your plan allows names',
    'culvert http 3000 --password': 'protect it with a generated password',
    'culvert http 3000 --auth ann --allow 10.0.0.0/8': 'require a login, from one network only',
    'culvert http 5173 --host-header local': 'for development servers that reject unknown hosts',
    'culvert http https://localhost:8443': 'forward to a port that speaks HTTPS',
    'culvert http 50051 --upstream h2c': 'forward to a gRPC server',
  },
  details: `
    The command serves the tunnel until you press Ctrl-C, which closes it. PORT can also be an address that a
    development server prints, such as http://localhost:3000.

    By default, anyone with the address can visit the tunnel. If you set several of --auth, --password, --links and
    --knock, visitors need one of them. --allow applies in addition. If you use --password without WORD, make it the
    last option.

    If you already have a live tunnel with the name given by --name, the command serves that tunnel at the same
    address. If another client is serving it, the command asks first; without a terminal, it exits with code 1.

    In a terminal, press ? to see the keyboard shortcuts.`,
  sections: { 'Events of --json, one per line': EVENTS, 'Exit codes': EXIT_CODES },
  read: readHttp,
  run: serve,
});

export const shareCommand = defineCommand({
  name: 'share',
  operands: 'FOLDER',
  summary: 'Open a tunnel to the files of a folder, read-only',
  options: {
    Address: ADDRESS,
    Files: ['compress'],
    Access: ACCESS_POLICY,
    'When online': WHEN_ONLINE,
    ...COMMON,
  },
  examples: {
    'culvert share .': 'share this folder',
    'culvert share ./public --name preview --password':
      'share a folder under a name, with a generated password',
  },
  details: `
    The command shares the folder until you press Ctrl-C. Visitors get the index.html of a folder, or a list of its
    files. They cannot change anything, and they cannot see names that begin with a dot, culvert.yml, or links that
    point outside the folder.

    Access options, events and exit codes are the same as for "culvert http".`,
  read: readShare,
  run: serve,
});

export const startCommand = defineCommand({
  name: 'start',
  operands: '[NAME…]',
  summary: 'Open the tunnels defined in culvert.yml',
  options: {
    Project: ['config', 'allow-other-hosts'],
    'When online': WHEN_ONLINE,
    ...COMMON,
  },
  meanings: {
    relay:
      'Address of the relay. Default: CULVERT_RELAY, then "relay" in culvert.yml, then the relay you logged in to.',
    open: 'Open each address in a browser.',
    qr: 'Show each address as a QR code.',
    copy: "Copy the address to the terminal's clipboard. Works for a single tunnel only.",
  },
  examples: {
    'culvert start': 'open every tunnel of the nearest culvert.yml',
    'culvert start web': 'open one of them',
    'culvert start web --open': 'and show it in a browser',
  },
  details: `
    The command serves the tunnels until you press Ctrl-C, which closes them. It opens them one after the other, and
    waits if the relay limits how many you can create per minute. If one ends, the others keep running.

    The key from CULVERT_API_KEY or --key is sent to the relay in culvert.yml only if you also specify that relay
    with CULVERT_RELAY, --relay or "culvert login". A culvert.yml that belongs to another user is used only with
    --config.

    With --json, the command prints the same events as "culvert http", each with a "name". Every tunnel has its own
    "offline" event. If tunnels end with different exit codes, the command exits with the first of these that
    occurred: 3, 1, 5, 4, 0.`,
  sections: {
    'culvert.yml': `relay: https://relay.example.com   # optional; never a key, which "culvert login" stores
tunnels:
  web:                        # a label: 1 to 32 letters, digits, hyphens and underscores
    port: 3000                # the only required field
    name: my-app              # the fields below are options of "culvert http"
    domain: app.example.com
    ttl: 4h
    idle: true
    host_header: local
    local_host: 192.0.2.7     # another machine: needs --allow-other-hosts
    local_https: true
    upstream: h2              # or h2c, for HTTP/2 without TLS
    wait: 10
    compress: off             # auto, on or off
    auth: "ann:\${ANN_PASSWORD}"   # or a list; can contain environment variables
    password: \${PASSWORD}    # or true for a generated one
    allow: [10.0.0.0/8, 192.0.2.7]
    links: true
    knock: true
  docs:
    share: ./public           # a folder instead of a port, as "culvert share"
`,
  },
  read: readStart,
  run: serve,
});

/** The limits of the heap come before anything else is loaded. */
async function serve(given: HttpTunnel | ProjectTunnels, context: CommandContext): Promise<ExitCode> {
  limitYoungGeneration(process, setFlagsFromString);
  limitOldGeneration(OLD_GENERATION_GROWTH_PERCENT, process.execArgv, setFlagsFromString);
  const { openTunnels } = await import('./run-tunnels.ts');
  return openTunnels(given, context);
}

/** @throws UsageError */
function readHttp(line: CommandLine): HttpTunnel {
  const { values } = line;
  const wanted = readAccessOptions(values);
  const { port, host, https } = readTarget(line);
  const tunnel = {
    ...SPEC_DEFAULTS,
    ...ofAnyTunnel(line),
    port,
    hostHeader:
      readOption('host-header', hostHeaderMode(values), HOST_HEADER_RULE) ?? SPEC_DEFAULTS.hostHeader,
    localHost: readOption('local-host', values['local-host'], LOCAL_HOST_RULE) ?? host,
    localHttps: values['local-https'] ?? https,
    upstream: readUpstream(values, https),
    wait: readSeconds('wait', values.wait, WAIT_RULE) ?? SPEC_DEFAULTS.wait,
    madePassword: wanted.madePassword,
  };
  const access = line.access();
  refuseRelayPort(access.relay, tunnel);
  return { tunnel, wanted, onceOnline: onceOnline(values), ...access };
}

/**
 * Visitors of such a tunnel would reach the relay instead of a service of the user.
 *
 * @throws UsageError
 */
function refuseRelayPort(
  relay: RelayAddress,
  { folder, localHost, port }: Pick<TunnelSpec, 'folder' | 'localHost' | 'port'>,
): void {
  if (folder !== undefined || port !== relay.port) return;
  if (!isLoopback(relay.hostname) || !isLoopback(localHost)) return;
  throw new UsageError(`Port ${port} is the port of the relay itself. Give the port of your local service.`);
}

/** @throws UsageError */
function readShare(line: CommandLine): HttpTunnel {
  line.atMost(1);
  const [folder = ''] = line.operands;
  if (folder === '') {
    line.checkPassword('FOLDER is missing');
    throw new UsageError('FOLDER is missing. Give the folder to share.');
  }
  const wanted = readAccessOptions(line.values);
  const { madePassword } = wanted;
  const tunnel = { ...SPEC_DEFAULTS, ...ofAnyTunnel(line), port: 0, folder, madePassword };
  return { tunnel, wanted, onceOnline: onceOnline(line.values), ...line.access() };
}

/** @throws UsageError, ProjectFileError */
function readStart(line: CommandLine): ProjectTunnels {
  const { operands, values, files } = line;
  const { path, relay, tunnels: all } = files.readProject(values.config);
  const labels = all.map(({ label }) => label);
  for (const name of operands) {
    if (labels.includes(name)) continue;
    const meant = nearest(name, labels);
    const hint = meant === undefined ? `It has ${labels.join(', ')}.` : `Did you mean ${meant}?`;
    throw new UsageError(`culvert.yml has no tunnel "${name}". ${hint}`);
  }
  const chosen = all.filter(({ label }) => operands.length === 0 || operands.includes(label));
  const tunnels = locateFolders(path, chosen);
  if (values.copy === true && tunnels.length > 1)
    throw new UsageError(
      `--copy copies one address. Name the tunnel, as in "culvert start ${labels[0]} --copy".`,
    );
  if (values['allow-other-hosts'] !== true) checkLocalHosts({ path, tunnels });
  const access = line.access(relay && { path, relay });
  for (const tunnel of tunnels) refuseRelayPort(access.relay, tunnel);
  return { project: path, tunnels, onceOnline: onceOnline(values), ...access };
}

function ofAnyTunnel(line: CommandLine) {
  const { name, domain, idle, compress } = line.values;
  return {
    label: undefined,
    name: readOption('name', name, NAME_RULE),
    domain: readOption('domain', domain, DOMAIN_RULE),
    ttl: line.ttl(),
    idle: idle ?? SPEC_DEFAULTS.idle,
    compress: readCompressMode(compress) ?? SPEC_DEFAULTS.compress,
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

/** `rewrite` is ngrok's word for the Host of the local service itself. */
function hostHeaderMode({ 'host-header': mode }: Values): string | undefined {
  return mode === 'rewrite' ? 'local' : mode;
}

function onceOnline({ open = false, qr = false, copy = false }: Values): OnceOnline {
  return { open, qr, copy };
}
