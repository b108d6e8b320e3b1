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
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Tunnel } from '../../shared/tunnel.ts';
import { Child } from '../support/child.ts';
import { startSite } from './site.ts';

const CLIENT_PROGRAM = join(import.meta.dirname, '../../dist/desktop/cli.js');

/** Cleanup at the end, in reverse order. */
const cleanups: (() => Promise<unknown> | void)[] = [];

async function main(): Promise<number> {
  const interrupted = new Promise<undefined>((resolve) => {
    process.on('SIGINT', () => resolve(undefined));
    process.on('SIGTERM', () => resolve(undefined));
  });
  try {
    const children = await start();
    if (children === undefined) return 2;
    const failure = await Promise.race([interrupted, ...children.map((child) => child.ended)]);
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
    for (const cleanup of cleanups.toReversed()) await cleanup();
  }
}

/** Starts everything; `undefined` for a wrong command line, after reporting it. */
async function start(): Promise<DemoProgram[] | undefined> {
  const port = readPort();
  if (port === undefined) return undefined;
  const relay = process.env['CULVERT_RELAY'];
  const key = process.env['CULVERT_API_KEY'];
  if (relay !== undefined && key === undefined) {
    console.error('CULVERT_RELAY is set: set CULVERT_API_KEY to a key of that relay, too.');
    return undefined;
  }
  const children: DemoProgram[] = [];
  const access = relay === undefined ? await ownRelay(children) : { relay, key };
  const localPort = port === 0 ? await sampleSite() : port;
  if (port !== 0 && !(await isListening(port))) {
    console.log(
      `Nothing is listening on port ${port} yet: visitors see a page that says so until something does.`,
    );
  }
  const env = { CULVERT_RELAY: access.relay, CULVERT_API_KEY: access.key };
  const client = startProgram(
    'The client',
    [CLIENT_PROGRAM, 'http', String(localPort), '--json'],
    env,
    (line) => onEvent(line, localPort, port === 0),
  );
  cleanups.push(() => client.stop());
  return [...children, client];
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

async function ownRelay(children: DemoProgram[]): Promise<{ relay: string; key: string }> {
  const dataDir = process.env['CULVERT_DATA_DIR'] ?? (await temporaryFolder());
  const { child, url } = await startRelay(dataDir);
  cleanups.push(() => child.stop());
  children.push(child);
  return { relay: url, key: await createKey(dataDir) };
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'culvert-demo-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function sampleSite(): Promise<number> {
  const { port, server } = await startSite();
  cleanups.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return port;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: 'localhost', port, timeout: 1000 });
    const answer = (listening: boolean): void => {
      socket.destroy();
      resolve(listening);
    };
    socket.once('connect', () => answer(true));
    socket.once('timeout', () => answer(false));
    socket.once('error', () => answer(false));
  });
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

const RELAY_PROGRAM = join(import.meta.dirname, '../../dist/server/cli.js');
const DEFAULT_PORT = 8080;
const START_TIMEOUT_MS = 15_000;
const ACCOUNT = 'demo';

interface DemoRelay {
  readonly child: DemoProgram;
  /** address for the client */
  readonly url: string;
}

/**
 * Starts the relay with the settings of the environment, and waits until it accepts requests.
 *
 * @throws Error when it ends or is not ready within {@link START_TIMEOUT_MS}; it is ended then
 */
async function startRelay(dataDir: string): Promise<DemoRelay> {
  const env = {
    CULVERT_BOOTSTRAP_KEY: process.env['CULVERT_BOOTSTRAP_KEY'] ?? `cvt_${randomBytes(20).toString('hex')}`,
    CULVERT_PORT: process.env['CULVERT_PORT'] ?? String(await choosePort()),
    CULVERT_DATA_DIR: dataDir,
  };
  let onReady: ((url: string) => void) | undefined;
  const ready = new Promise<string>((resolve) => (onReady = resolve));
  const child = startProgram('The relay', [RELAY_PROGRAM], env, (line) => {
    const url = /^listening on (\S+)$/.exec(line)?.[1];
    if (url !== undefined) onReady?.(reachable(url));
  });
  const failed = child.ended.then((how) => Promise.reject(new Error(how)));
  try {
    return { child, url: await withTimeout(Promise.race([ready, failed])) };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

/**
 * Creates a key of the account `demo`, with an account subdomain. The account is created on first use of a data folder.
 */
async function createKey(dataDir: string): Promise<string> {
  const env = { CULVERT_DATA_DIR: dataDir };
  const createKeyArgs = [RELAY_PROGRAM, 'key', 'create', '--account', ACCOUNT, '--json'];
  const account = ['--name', ACCOUNT, '--plan', 'dev', '--subdomain', ACCOUNT, '--json'];
  let answer: string;
  try {
    answer = await runToEnd(createKeyArgs, env);
  } catch {
    await runToEnd([RELAY_PROGRAM, 'account', 'create', ...account], env);
    answer = await runToEnd(createKeyArgs, env);
  }
  return (JSON.parse(answer) as { key: string }).key;
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

/** A relay that listens on every address is reached via loopback. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

async function withTimeout<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('The relay did not start in time')), START_TIMEOUT_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** ms a program has to end by itself. */
const STOP_TIMEOUT_MS = 12_000;

/** A program of the demo. */
interface DemoProgram {
  /** Settles once the program has ended, with a sentence that says how. */
  readonly ended: Promise<string>;
  /** Asks the program to end, and ends it if it does not. */
  stop(): Promise<void>;
}

/**
 * Starts a Node program that Ctrl-C in a terminal does not reach: only the demo is told, and it ends the client before
 * the relay. Its standard error is shown as it is.
 *
 * @param onLine called for each line of its standard output
 */
function startProgram(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  onLine: (line: string) => void,
): DemoProgram {
  const environment = { ...process.env, ...env };
  const child = new Child(process.execPath, args, { environment, onLine, isApart: true, showsErrors: true });
  const ended = child.exited.then(
    ({ code, signal }) => `${name} ended with ${signal ?? `exit code ${code}`}`,
    (error: unknown) => `${name} could not be started: ${String(error)}`,
  );
  return { ended, stop: () => child.end(STOP_TIMEOUT_MS) };
}

/** Runs a program to its end and returns its standard output; throws with its standard error if it fails. */
async function runToEnd(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const child = new Child(process.execPath, args, { environment: { ...process.env, ...env } });
  try {
    const { code } = await child.exit(STOP_TIMEOUT_MS);
    if (code !== 0) throw new Error(child.stderr.trim());
    return child.lines.join('\n');
  } finally {
    child.kill('SIGKILL');
  }
}
