/**
 * `npm run demo`: a relay, a tunnel and a sample site on this machine, until Ctrl-C.
 *
 *     npm run demo -- [--port N]
 *
 * `--port N` shows the site on that local port instead of the sample site. Every `CULVERT_*` setting of the relay in
 * the environment is honoured; without CULVERT_DATA_DIR the data is kept in a folder that is removed at the end. With
 * CULVERT_RELAY and CULVERT_API_KEY the tunnel is opened at that relay, and none is started.
 */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { isatty } from 'node:tty';
import { parseArgs } from 'node:util';
import { onStopSignals } from '../../shared/stop-signals.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { Child } from '../support/child.ts';
import { canConnect } from '../support/native-server.ts';
import { CULVERT_SCRIPT, type Environment, RELAY_SCRIPT, temporaryDirectory } from '../support/programs.ts';
import { Scope } from '../support/scope.ts';
import { startSite } from './site.ts';

const DEFAULT_PORT = 8080;
const START_TIMEOUT_MS = 15_000;
/** ms a program has to end by itself. */
const STOP_TIMEOUT_MS = 12_000;
const ACCOUNT = 'demo';

async function main(): Promise<number> {
  const interrupted = new Promise<undefined>((resolve) => {
    const end = (): void => resolve(undefined);
    onStopSignals(process, isatty(0), { stop: end, hangUp: end });
  });
  const scope = new Scope();
  try {
    const endings = await start(scope);
    if (endings === undefined) return 2;
    const failure = await Promise.race([interrupted, ...endings]);
    if (failure === undefined) {
      console.log('\nEnding the demo…');
      return 0;
    }
    console.error(`${failure}; the demo ends.`);
    return 1;
  } catch (error) {
    console.error(`The demo could not start: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    await scope.end();
  }
}

/**
 * Starts everything.
 *
 * @returns for each program a promise that settles once it has ended, with a sentence that says how; `undefined` for a
 * wrong command line, after reporting it
 */
async function start(scope: Scope): Promise<Promise<string>[] | undefined> {
  const port = readPort();
  if (port === undefined) return undefined;
  const { CULVERT_RELAY, CULVERT_API_KEY } = process.env;
  if (CULVERT_RELAY !== undefined && CULVERT_API_KEY === undefined) {
    console.error('CULVERT_RELAY is set: set CULVERT_API_KEY to a key of that relay, too.');
    return undefined;
  }
  const own = CULVERT_RELAY === undefined ? await startRelay(scope) : undefined;
  const localPort = port === 0 ? (await startSite(scope)).port : port;
  if (port !== 0 && !(await isListening(port, 'localhost'))) {
    console.log(
      `Nothing is listening on port ${port} yet: visitors see a page that says so until something does.`,
    );
  }
  const client = startProgram(
    scope,
    [CULVERT_SCRIPT, 'http', String(localPort), '--json'],
    own?.environment ?? {},
    (line) => onEvent(line, localPort, port === 0),
  );
  return [...(own === undefined ? [] : [endOf('The relay', own.child)]), endOf('The client', client)];
}

/** The value of `--port`, 0 for none; `undefined` for a wrong command line. */
function readPort(): number | undefined {
  try {
    const { values } = parseArgs({ options: { port: { type: 'string' } } });
    if (values.port === undefined) return 0;
    const port = /^\d{1,5}$/.test(values.port) ? Number(values.port) : 0;
    if (port >= 1 && port <= 65_535) return port;
    console.error('--port must be the local port, a whole number from 1 to 65535.');
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
  }
  return undefined;
}

async function isListening(port: number, host: string): Promise<boolean> {
  return await canConnect(port, host).then(
    () => true,
    () => false,
  );
}

/**
 * Starts a relay with the settings of the environment, and waits until it accepts requests.
 *
 * @returns also the environment of a client
 */
async function startRelay(scope: Scope): Promise<{ child: Child; environment: Environment }> {
  const dataDir = process.env['CULVERT_DATA_DIR'] ?? temporaryDirectory(scope);
  const child = startProgram(scope, [RELAY_SCRIPT], {
    CULVERT_BOOTSTRAP_KEY: process.env['CULVERT_BOOTSTRAP_KEY'] ?? `cvt_${randomBytes(20).toString('hex')}`,
    CULVERT_PORT: process.env['CULVERT_PORT'] ?? String(await choosePort()),
    CULVERT_DATA_DIR: dataDir,
  });
  const url = await child.line((line) => /^listening on (\S+)$/.exec(line)?.[1], START_TIMEOUT_MS);
  // A relay that listens on every address is reached via loopback.
  const reachable = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  return { child, environment: { CULVERT_RELAY: reachable, CULVERT_API_KEY: await createKey(dataDir) } };
}

/** The default port, or 0 for a free one if another program is using it. */
function choosePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(0));
    probe.listen(DEFAULT_PORT, process.env['CULVERT_HOST'] ?? '127.0.0.1', () =>
      probe.close(() => resolve(DEFAULT_PORT)),
    );
  });
}

/**
 * Creates a key of the account `demo`, with an account subdomain. The account is created on first use of a data folder.
 */
async function createKey(dataDir: string): Promise<string> {
  const administer = async (...args: string[]): Promise<string> => {
    const environment = { ...process.env, CULVERT_DATA_DIR: dataDir };
    const child = new Child(process.execPath, [RELAY_SCRIPT, ...args, '--json'], { environment });
    await child.finished(STOP_TIMEOUT_MS);
    return child.lines.join('\n');
  };
  const keyOf = async (): Promise<string> => {
    const printed = await administer('key', 'create', '--account', ACCOUNT);
    return (JSON.parse(printed) as { key: string }).key;
  };
  return await keyOf().catch(async () => {
    await administer('account', 'create', '--name', ACCOUNT, '--plan', 'dev', '--subdomain', ACCOUNT);
    return await keyOf();
  });
}

/**
 * Starts a Node program that Ctrl-C in a terminal does not reach: only the demo is told, and it ends the client before
 * the relay. Its standard error is shown as it is.
 *
 * @param onLine called for each line of its standard output
 */
function startProgram(
  scope: Scope,
  args: readonly string[],
  environment: Environment,
  onLine?: (line: string) => void,
): Child {
  const child = new Child(process.execPath, args, {
    environment: { ...process.env, ...environment },
    isApart: true,
    showsErrors: true,
    ...(onLine && { onLine }),
  });
  scope.defer(() => child.end(STOP_TIMEOUT_MS));
  return child;
}

async function endOf(name: string, child: Child): Promise<string> {
  const { code, signal } = await child.exited;
  return `${name} ended with ${signal ?? `exit code ${code}`}`;
}

let introduced = false;

/** Shows an event of `culvert http --json` to a person. */
function onEvent(line: string, localPort: number, isSample: boolean): void {
  const event = JSON.parse(line) as { event: string; tunnel?: Tunnel; message?: string };
  if (event.event === 'online' && event.tunnel !== undefined && !introduced) {
    introduced = true;
    introduce(event.tunnel, localPort, isSample);
  } else if (event.event === 'online') {
    console.log('Online again.');
  } else if (event.message !== undefined && event.event !== 'offline') {
    console.log(event.message);
  }
}

function introduce({ urls, expires_at }: Tunnel, localPort: number, isSample: boolean): void {
  const site = isSample ? ' (the sample site)' : '';
  console.log(`
The tunnel is open. Visitors of any of these addresses reach port ${localPort} of this machine${site}:

  subdomain          ${urls.subdomain}
  path               ${urls.path ?? 'none: the relay has no path form'}
  account subdomain  ${urls.account ?? 'none: the account has no subdomain'}

Browsers and curl find *.localhost by themselves; a program that does not can use the path.
It expires at ${expires_at}. Press Ctrl-C to end the demo.
`);
}

process.exitCode = await main();
