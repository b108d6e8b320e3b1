/** `culvert run`, `service`, `ui` and `mcp`, which run until they are ended. What each of them runs is loaded only then. */
import { existsSync, realpathSync } from 'node:fs';
import { isIP } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { parseDuration } from '../../shared/duration.ts';
import { parsePort, PORT_RULE, TTL_RULE } from '../../shared/value-rules.ts';
import { StoredLoginError } from '../client/config/stored-login.ts';
import { UsageError } from '../client/failures.ts';
import { WAIT_MAX_SECONDS } from '../client/limits.ts';
import { isLoopback } from '../client/network/dial.ts';
import { type CommandLine, defineCommand } from './command-line/command.ts';
import { completeLogin } from './commands/login.ts';
import type { PortRange } from './mcp/bounds.ts';
import type { GivenMcp } from './mcp/run-mcp.ts';
import { COMMON } from './command-line/options.ts';
import { readOption } from './command-line/parse.ts';
import type { RunTunnel } from './run-service.ts';
import type { ServiceOrder } from './service/installed-service.ts';
import { HTTP_OPTIONS, limitHeap, readHttpTunnel, readStart } from './commands/http.ts';
import type { UiOptions } from './ui-run.ts';

/* `culvert run`: starts a command with a tunnel to the port that it listens on. */

/** Stands for a port that is not known yet. */
const LATER = 0;

export const runCommand = defineCommand({
  name: 'run',
  operands: '[options] -- COMMAND…',
  summary: 'Start a command with a tunnel to its port',
  options: { Command: ['port'], ...HTTP_OPTIONS },
  meanings: {
    name: "Name in the address. Default: the package's name and the branch, if your plan allows names and the name is free; otherwise a random name.",
    wait: `How many seconds (0 to ${WAIT_MAX_SECONDS}) requests wait if nothing is listening on the port, for example while the command starts. Default: ${WAIT_MAX_SECONDS}.`,
    json: 'Print one line of JSON on standard error when visitors can reach the tunnel.',
  },
  examples: {
    'culvert run -- npm run dev': 'start a development server with a public address',
    'culvert run --port 8000 -- python3 -m http.server 8000': 'start a server that listens on a fixed port',
    'culvert run --password -- npm run dev': 'protect the address with a generated password',
  },
  details: `
    The command opens the tunnel first, and then starts COMMAND with the port to listen on in PORT, the public address in
    CULVERT_URL, and its host name in CULVERT_HOST. Servers that read other variables get them as well: Nuxt and Flask
    for the port, Vite, Astro, SvelteKit, Nuxt and Rails for the hosts that they accept. Vite, Astro, Angular, React
    Router, Storybook, webpack and Django read no variable for the port, so it is added to their arguments, also if a
    simple script of package.json starts them. A port that the arguments already name is used as it is. webpack gets the
    host as an argument. Django, Storybook and the development server of Next.js get the Host header "localhost",
    as with --host-header local.

    COMMAND keeps the terminal, its input and its output. Culvert prints its own lines on standard error. When COMMAND ends,
    the tunnel is closed. Signals such as Ctrl-C are passed on to COMMAND and to everything that it has started,
    except SIGHUP without a terminal, so that nohup works. After SIGTERM or SIGHUP, it has 10 seconds to end before it is killed. If the tunnel ends first, COMMAND continues.

    The exit code is that of COMMAND; after a signal it is 128 and the number of the signal. If COMMAND cannot be started, it is 127
    or 126. If the tunnel cannot be opened, COMMAND is not started, and the exit code is the same as for "culvert http".`,
  sections: {
    'Line of --json': `{"event":"online","url":"https://…","port":3000,"tunnel":{…}}
    Contains "password" if --password generated one.
`,
  },
  read: readRun,
  async run(given, context) {
    limitHeap();
    const complete = given.login === undefined ? given : await completeLogin(given, context);
    const { runWithTunnel } = await import('./run-service.ts');
    return runWithTunnel(complete, context);
  },
});

/** @throws UsageError */
function readRun(line: CommandLine): RunTunnel {
  const { operands: command, values } = line;
  if (command[0] === undefined || command[0] === '') {
    line.checkPassword('COMMAND is missing');
    throw new UsageError('COMMAND is missing. Put it after --, as in "culvert run -- npm run dev".');
  }
  const port = values.port === undefined ? undefined : readPort(values.port);
  const target = { port: port ?? LATER, host: 'localhost', https: false };
  const given = readHttpTunnel(line, target, WAIT_MAX_SECONDS);
  return { ...given, command, port, hasHostHeader: values['host-header'] !== undefined };
}

function readPort(text: string): number {
  readOption('port', text, { accepted: PORT_RULE.accepted, accepts: () => parsePort(text) !== undefined });
  return Number(text);
}

/* `culvert service`: the tunnels of a `culvert.yml` as a service of the user's system. */

export const serviceCommand = defineCommand({
  name: 'service',
  operands: 'install [NAME…] | status | uninstall',
  words: ['install', 'status', 'uninstall'],
  summary: 'Keep the tunnels of culvert.yml open in the background',
  options: {
    Project: ['config', 'allow-other-hosts', 'take-over'],
    Relay: ['relay', 'ca', 'insecure'],
    Output: ['json'],
  },
  meanings: {
    relay:
      'Address of the relay. Default: CULVERT_RELAY, then "relay" in culvert.yml, then the relay you logged in to.',
  },
  examples: {
    'culvert service install': 'start every tunnel in the nearest culvert.yml, now and after each restart',
    'culvert service install web': 'start only the tunnel "web"',
    'culvert service status': 'show whether the service is running, and where its log is',
    'culvert service uninstall': 'stop the service and remove it',
  },
  details: `
    The service runs as you, with systemd on Linux, launchd on macOS and the Task Scheduler on Windows. Each culvert.yml
    has a service of its own. On Linux it starts with the machine, on macOS when you log in. On Windows it starts with
    the machine if you install it in a terminal that runs as administrator, otherwise when you log in.

    The service uses the API key that "culvert login" stored. It keeps the variables that culvert.yml uses,
    CULVERT_RELAY, CULVERT_CA and the proxy settings as they are when you install it, in a file that only you can read.

    Unlike "culvert start", the service keeps trying if there is no network, the relay is down or another client serves a tunnel.
    A name in culvert.yml that one of your live tunnels has is treated as by "culvert start" without a terminal.
    It does not reopen a tunnel that was closed with "culvert close", or whose "ttl" has passed. To restart the service,
    for example after you change culvert.yml or update Culvert, run "culvert service install" again.

    "status" exits with code 1 if the service is not running. If a project no longer exists, use --config with the path that it
    had. The service itself runs "culvert service run".`,
  read: readService,
  async run(given, context) {
    if (given.action === 'run') limitHeap();
    const { runService } = await import('./service/installed-service.ts');
    return runService(given, context);
  },
});

/** @throws UsageError, ProjectFileError */
function readService(line: CommandLine): ServiceOrder {
  const { values } = line;
  const [action = '', ...names] = line.operands;
  const json = values.json ?? false;
  if (action === 'run') {
    line.atMost(2);
    return { action, name: names[0] ?? '' };
  }
  if (action === 'install') return readInstall(line, names);
  if (action !== 'status' && action !== 'uninstall')
    throw new UsageError(
      action === ''
        ? 'Use install, status or uninstall.'
        : `Unknown command "service ${action}". Use install, status or uninstall.`,
    );
  line.atMost(1);
  return { action, project: locateProject(values.config), json };
}

/** @throws UsageError, ProjectFileError */
function readInstall(line: CommandLine, names: readonly string[]): ServiceOrder {
  const { values, files } = line;
  const { env } = line.accessSources();
  const used = new Set<string>();
  const watched = new Proxy(env, {
    get(target, name) {
      if (typeof name === 'string') used.add(name);
      return Reflect.get(target, name) as unknown;
    },
  });
  const given = readStart(line, names, (path) => files.readProject(path, watched));
  const { config, relay, ca, insecure, 'allow-other-hosts': otherHosts, 'take-over': takeOver } = values;
  const project = absolute(given.project);
  return {
    action: 'install',
    project,
    tunnels: given.tunnels.map(({ label, name, domain }) => ({
      label,
      isNamed: (name ?? domain) !== undefined,
    })),
    relay: given.relay,
    start: [
      // Without it, the file has to belong to the user.
      ...(config === undefined ? [] : [`--config=${project}`]),
      ...(relay === undefined ? [] : [`--relay=${relay}`]),
      ...(ca === undefined ? [] : [`--ca=${resolve(ca)}`]),
      ...(insecure === true ? ['--insecure'] : []),
      ...(otherHosts === true ? ['--allow-other-hosts'] : []),
      ...(takeOver === true ? ['--take-over'] : []),
      ...names,
    ],
    used: [...used],
    env,
    json: values.json ?? false,
  };
}

/** Of a file that may no longer exist. @returns `undefined` if none is named, and none is in this folder or above it */
function locateProject(config: string | undefined): string | undefined {
  if (config !== undefined) return absolute(resolve(config));
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const file = join(folder, 'culvert.yml');
    if (existsSync(file)) return absolute(file);
    if (dirname(folder) === folder) return undefined;
  }
}

/** One path for each file, also if a link points to its folder. */
function absolute(file: string): string {
  try {
    return join(realpathSync.native(dirname(file)), basename(file));
  } catch {
    return resolve(file);
  }
}

/* `culvert ui`: shows the app's window in a browser. */

export const uiCommand = defineCommand({
  name: 'ui',
  operands: '',
  summary: "Show the app's window in a browser",
  options: { Window: ['port', 'no-open', 'host', 'insecure-remote'] },
  examples: {
    'culvert ui': 'open the window in your browser',
    'culvert ui --no-open': 'only print the link',
    'culvert ui --port 4050': 'use another port',
  },
  details: `
    The window creates tunnels, shows their requests and changes their access, like the desktop app. It uses the
    app's tunnels, settings and key, so only one of the two can run at a time. If the app was never used, the window
    signs in with what "culvert login" stored.

    The link works once and for one browser. To get another one, run "culvert ui" again in a second terminal. Only
    a browser that has opened a link can use the window; other users of this machine cannot.

    To see a server's window on your machine, run "ssh -L 4040:127.0.0.1:4040 server culvert ui".

    The tunnels stay open until you press Ctrl-C. If tunnels are online, the command asks what should happen to them.`,
  read: readUi,
  async run(given, context) {
    const { runUi } = await import('./ui-run.ts');
    return runUi(given, context);
  },
});

/** @throws UsageError */
function readUi(line: CommandLine): UiOptions {
  line.atMost(0);
  const { port, host = '127.0.0.1', 'no-open': isQuiet = false, 'insecure-remote': isRemote } = line.values;
  const number = port === '0' ? 0 : port === undefined ? undefined : parsePort(port);
  if (port !== undefined && number === undefined)
    throw new UsageError(`--port "${port}" is not valid. It must be 0 or ${PORT_RULE.accepted}.`);
  if (isIP(host) === 0)
    throw new UsageError(`--host "${host}" is not valid. It must be an IP address such as 127.0.0.1.`);
  if (!isLoopback(host) && isRemote !== true)
    throw new UsageError(
      `--host ${host} would let other machines reach the window, without encryption. ` +
        'Use "ssh -L 4040:127.0.0.1:4040" instead, or allow it with --insecure-remote.',
    );
  return { port: number, host, isQuiet };
}

/* `culvert mcp`: a server for agents. */

export const mcpCommand = defineCommand({
  name: 'mcp',
  operands: '',
  summary: 'Let an AI agent open tunnels, within bounds (MCP server)',
  options: { Bounds: ['ports', 'max-ttl', 'require-access', 'ask'], Relay: COMMON.Relay },
  examples: {
    'culvert mcp': 'serve an agent without bounds',
    'culvert mcp --ports 3000-3999 --max-ttl 1h': 'allow tunnels to these ports only, for at most an hour',
    'culvert mcp --require-access': 'refuse tunnels that are open to everyone',
    'culvert mcp --ask': 'ask you before anything becomes public',
  },
  details: `
    An MCP client, such as a coding agent, starts this command, and talks to it over standard input and output. The agent
    can open, extend and close tunnels, set who can visit them, create links and tokens, answer approval requests, wait
    for requests, show, replay and edit them, and find out why a tunnel does not work. It can use only the tunnels that
    it has opened itself. They are closed when the client closes standard input. "culvert inspect" shows their requests.

    --ports takes ports and ranges, separated by commas. With --max-ttl, a tunnel never has more than that time left. With
    --require-access, each tunnel needs a password, links, approvals or tokens; a list of networks alone is not enough.

    With --ask, you approve each new tunnel, extension, change of access, link, token and visitor by itself: in the desktop
    app, in the terminal of "culvert ui" if the app is not running, or else in the terminal that the client was started
    from. Without your answer, it is refused after 5 minutes.`,
  read: readMcp,
  async run(given, context) {
    limitHeap();
    const { refuseMcp, runMcp } = await import('./mcp/run-mcp.ts');
    if (!('failure' in given)) return runMcp(given, context);
    await refuseMcp(given.failure.message);
    throw given.failure;
  },
});

/**
 * @returns the failure if there is no way to a relay, so that the client can be told
 * @throws UsageError for invalid options
 */
function readMcp(line: CommandLine): GivenMcp | { readonly failure: Error } {
  const { ports, ask = false, 'max-ttl': ttl, 'require-access': requireAccess = false } = line.values;
  const maxTtl = ttl === undefined ? undefined : parseDuration(readOption('max-ttl', ttl, TTL_RULE));
  const bounds = { ports: ports === undefined ? undefined : readPorts(ports), maxTtl, requireAccess, ask };
  line.atMost(0);
  try {
    return { ...line.accessAlone(), bounds };
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof StoredLoginError)) throw error;
    return { failure: error };
  }
}

/** @throws UsageError */
function readPorts(text: string): readonly PortRange[] {
  return text.split(',').map((range) => {
    const [first = '', last = first, ...more] = range.trim().split('-');
    const [from, to] = [parsePort(first), parsePort(last)];
    if (from !== undefined && to !== undefined && from <= to && more.length === 0) return { from, to };
    throw new UsageError(
      `--ports "${text}" is not valid. It must be ports or ranges, separated by commas, such as 3000-3999,8080. Each port is ${PORT_RULE.accepted}.`,
    );
  });
}
