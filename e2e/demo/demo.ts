/**
 * `npm run demo`: a relay, a tunnel and a sample site on this machine, until Ctrl-C.
 *
 *     npm run demo -- [--port N]
 *
 * `--port N` shows the site on that local port instead of the sample site. Every `CULVERT_*` setting of the relay in
 * the environment is honoured; without CULVERT_DATA_DIR the data is kept in a folder that is removed at the end. With
 * CULVERT_RELAY and CULVERT_API_KEY the tunnel is opened at that relay, and none is started.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createKey, type DemoProgram, startProgram, startRelay } from './relay.ts';
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
