/** `culvert run`, `ui` and `mcp`, which run until they are ended. What each of them runs is loaded only then. */
import { isIP } from 'node:net';
import { parseDuration } from '../../../shared/duration.ts';
import { parsePort, PORT_RULE, TTL_RULE } from '../../../shared/value-rules.ts';
import { StoredLoginError } from '../../client/config/stored-login.ts';
import { UsageError } from '../../client/failures.ts';
import { isLoopback } from '../../client/network/dial.ts';
import { type AnyLine, defineCommand } from '../command-line/command.ts';
import { completeLogin } from './login.ts';
import type { PortRange } from '../mcp/bounds.ts';
import type { GivenMcp } from '../mcp/run-mcp.ts';
import { COMMON } from '../command-line/options.ts';
import { readOption } from '../command-line/parse.ts';
import type { RunTunnel } from '../serve/child-command.ts';
import { HTTP_OPTIONS, limitHeap, readService, withPort } from './tunnel-options.ts';
import type { UiOptions } from '../serve/serve-window.ts';
import { WAIT_MAX_SECONDS } from '../../client/config/tunnel-spec.ts';

/* `culvert run`: starts a command with a tunnel to the port that it listens on. */

export const runCommand = defineCommand({
  name: 'run',
  operands: {
    command: {
      shown: '[options] -- COMMAND…',
      count: 'some',
      missing: 'COMMAND is missing. Put it after --, as in "culvert run -- npm run dev".',
      absent: 'COMMAND is missing',
    },
  },
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
  read: (line) => readRun(line, line.operands.command),
  async run(given, context) {
    limitHeap();
    const complete = given.login === undefined ? given : await completeLogin(given, context);
    const { runWithTunnel } = await import('../serve/child-command.ts');
    return runWithTunnel(complete, context);
  },
});

/** @throws UsageError */
function readRun(line: AnyLine, command: readonly string[]): RunTunnel {
  const { values } = line;
  const port = values.port === undefined ? undefined : readPort(values.port);
  const given = readService(line, { host: 'localhost', https: false }, WAIT_MAX_SECONDS);
  if (port !== undefined) withPort(given, port);
  return { ...given, command, port, hasHostHeader: values['host-header'] !== undefined };
}

function readPort(text: string): number {
  readOption('port', text, { accepted: PORT_RULE.accepted, accepts: () => parsePort(text) !== undefined });
  return Number(text);
}

/* `culvert ui`: shows the app's window in a browser. */

export const uiCommand = defineCommand({
  name: 'ui',
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
    const { runUi } = await import('../serve/serve-window.ts');
    return runUi(given, context);
  },
});

/** @throws UsageError */
function readUi(line: AnyLine): UiOptions {
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
    const { refuseMcp, runMcp } = await import('../mcp/run-mcp.ts');
    if (!('failure' in given)) return runMcp(given, context);
    await refuseMcp(given.failure.message);
    throw given.failure;
  },
});

/**
 * @returns the failure if there is no way to a relay, so that the client can be told
 * @throws UsageError for invalid options
 */
function readMcp(line: AnyLine): GivenMcp | { readonly failure: Error } {
  const { ports, ask = false, 'max-ttl': ttl, 'require-access': requireAccess = false } = line.values;
  const maxTtl = ttl === undefined ? undefined : parseDuration(readOption('max-ttl', ttl, TTL_RULE));
  const bounds = { ports: ports === undefined ? undefined : readPorts(ports), maxTtl, requireAccess, ask };
  try {
    return { ...line.access(), bounds };
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
