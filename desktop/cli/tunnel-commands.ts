/** `culvert http`, `share` and `start`: open tunnels, and serve them until they end. */
import { setFlagsFromString } from 'node:v8';
import { DOMAIN_RULE } from '../../shared/domains.ts';
import { limitOldGeneration, limitYoungGeneration } from '../../shared/heap.ts';
import { nearest } from '../../shared/nearest.ts';
import { HOST_HEADER_RULE, LOCAL_HOST_RULE, NAME_RULE, PORT_RULE } from '../../shared/value-rules.ts';
import { checkLocalHosts, locateFolders } from '../client/config/project-trust.ts';
import { SPEC_DEFAULTS, WAIT_RULE } from '../client/config/tunnel-spec.ts';
import { type ExitCode, UsageError } from '../client/failures.ts';
import { OLD_GENERATION_GROWTH_PERCENT } from '../client/limits.ts';
import { readAccessOptions } from './access-options.ts';
import { type CommandContext, type CommandLine, defineCommand } from './command.ts';
import { ACCESS, EXIT_CODES, ONCE_ONLINE, WHO_MAY_COME_IN } from './options.ts';
import { parseTarget, readOption, readSeconds, type Target, type Values } from './parse.ts';
import type { HttpTunnel, ProjectTunnels } from './run-tunnels.ts';
import type { OnceOnline } from './view/once-online.ts';

const EVENTS = `Events of --json, one per line:
  {"event":"online","tunnel":{…}}    visitors reach the port; the first event, and again after reconnecting;
    with "password" where --password has made one up
  {"event":"reconnecting","attempt":1,"retry_in_ms":250,"message":"…"}
  {"event":"problem","code":"local-refused","message":"…"}    one visitor could not be served, the tunnel stays
    codes: local-refused local-reset local-slow host-blocked visitor-gone data-refused data-failed
           too-many-connections
  {"event":"knock","tunnel":"ID","id":"KNOCK","address":"…","agent":"…","at":"…"}    a visitor waits to be let in:
    "culvert knock ID KNOCK --admit" or --refuse answers, within 5 minutes
  {"event":"expiring","in_seconds":600,"expires_at":"…"}    10 and 2 minutes before the end: "culvert extend ID" extends
  {"event":"offline","reason":"stopped","message":"…"}    always the last event
    reasons: stopped closed expired gone replaced key-refused refused failed
`;

export const httpCommand = defineCommand({
  name: 'http',
  operands: 'PORT',
  summary: 'open a tunnel to a port of this machine; Ctrl-C closes it',
  options: [
    'name',
    'domain',
    'ttl',
    'idle',
    'host-header',
    'local-host',
    'local-https',
    'wait',
    ...WHO_MAY_COME_IN,
    ...ONCE_ONLINE,
    ...ACCESS,
  ],
  examples: ['culvert http 3000', 'culvert http 3000 --name my-app --password'],
  details: `Who may come in: everybody, unless one of --auth, --password, --links and --knock is given; then visitors need one of
those that are. --allow is needed besides. On a terminal, a admits who knocks and x refuses; ? shows all keys.

${EVENTS}
${EXIT_CODES}`,
  read: readHttp,
  run: serve,
});

export const shareCommand = defineCommand({
  name: 'share',
  operands: 'FOLDER',
  summary: 'open a tunnel to the files of a folder, read-only; Ctrl-C closes it',
  options: ['name', 'domain', 'ttl', 'idle', ...WHO_MAY_COME_IN, ...ONCE_ONLINE, ...ACCESS],
  examples: ['culvert share ./public'],
  details: `Visitors get index.html of a folder, or a list of what is in it. Names that begin with a dot are not there for them, nor
are culvert.yml and links that lead out of the folder. Nothing can be changed. Who may come in, and what is printed, is as with "culvert http".

${EXIT_CODES}`,
  read: readShare,
  run: serve,
});

export const startCommand = defineCommand({
  name: 'start',
  operands: '[NAME…]',
  summary: 'open the tunnels of culvert.yml, all or those named; Ctrl-C closes them',
  options: ['config', 'allow-other-hosts', ...ONCE_ONLINE, ...ACCESS],
  examples: ['culvert start', 'culvert start web --open'],
  details: `culvert.yml:
  relay: https://relay.example.com   # optional; never a key, which "culvert login" keeps
  tunnels:
    web:                 # a name for this file, 1-32 letters, digits, hyphens and underscores
      port: 3000         # the only field a tunnel needs; or, in its place,
                         # share: ./public   for the files of a folder, as "culvert share"
      name: my-app       # as --name of "culvert http"
      domain: app.example.com   # of yours, see "culvert help domain"
      ttl: 4h
      idle: true
      host_header: local
      local_host: 192.0.2.7   # another machine: needs --allow-other-hosts
      local_https: true
      wait: 10           # seconds
      auth: "ann:\${ANN_PASSWORD}"   # or a list; who may come in is as in the options of "culvert http",
      password: \${DOOR}  # and may name variables of the environment; true: three words that are made up
      allow: [10.0.0.0/8, 192.0.2.7]
      links: true
      knock: true

The relay of a culvert.yml gets the key of CULVERT_API_KEY or --key only if you name that relay, too (CULVERT_RELAY,
--relay, login). Another user's culvert.yml is used only if --config names it.

Events of --json are those of "culvert http", each with "name", what culvert.yml calls the tunnel; every
tunnel has its own "offline" event. Tunnels are opened one after the other, and wait if the relay limits how
many may be created per minute. When one ends, the others keep running.

Exit codes are those of "culvert http". When tunnels end differently, the worst code counts: 3, 1, 5, 4, 0.
`,
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
    wait: readSeconds('wait', values.wait, WAIT_RULE) ?? SPEC_DEFAULTS.wait,
    madePassword: wanted.madePassword,
  };
  return { tunnel, wanted, onceOnline: onceOnline(values), ...line.access() };
}

/** @throws UsageError */
function readShare(line: CommandLine): HttpTunnel {
  line.atMost(1);
  const [folder = ''] = line.operands;
  if (folder === '') {
    line.checkPassword('FOLDER is missing');
    throw new UsageError('FOLDER is missing: say which folder to share.');
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
    const hint = meant === undefined ? `there are ${labels.join(', ')}` : `did you mean ${meant}?`;
    throw new UsageError(`culvert.yml has no tunnel "${name}"; ${hint}`);
  }
  const chosen = all.filter(({ label }) => operands.length === 0 || operands.includes(label));
  const tunnels = locateFolders(path, chosen);
  if (values.copy === true && tunnels.length > 1)
    throw new UsageError(
      `--copy copies one address: say of which tunnel, as "culvert start ${labels[0]} --copy".`,
    );
  if (values['allow-other-hosts'] !== true) checkLocalHosts({ path, tunnels });
  return {
    project: path,
    tunnels,
    onceOnline: onceOnline(values),
    ...line.access(relay && { path, relay }),
  };
}

function ofAnyTunnel(line: CommandLine) {
  const { name, domain, idle } = line.values;
  return {
    label: undefined,
    name: readOption('name', name, NAME_RULE),
    domain: readOption('domain', domain, DOMAIN_RULE),
    ttl: line.ttl(),
    idle: idle ?? SPEC_DEFAULTS.idle,
  };
}

function readTarget(line: CommandLine): Target {
  line.atMost(1);
  const [target] = line.operands;
  if (target === undefined) {
    line.checkPassword('PORT is missing');
    throw new UsageError(`PORT is missing: give the local port as ${PORT_RULE.accepted}.`);
  }
  const parsed = parseTarget(target);
  if (parsed.host !== 'localhost' && line.values['local-host'] !== undefined)
    throw new UsageError(`--local-host and "${target}" both name a host: leave one of them out.`);
  return parsed;
}

/** `rewrite` is ngrok's word for the Host of the local service itself. */
function hostHeaderMode({ 'host-header': mode }: Values): string | undefined {
  return mode === 'rewrite' ? 'local' : mode;
}

function onceOnline({ open = false, qr = false, copy = false }: Values): OnceOnline {
  return { open, qr, copy };
}
