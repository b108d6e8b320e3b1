/**
 * `npm run demo`: a relay, a tunnel and a sample site on this machine, until Ctrl-C.
 *
 *     npm run demo -- [--port N]
 *
 * `--port N` shows the site on that local port instead of the sample site. Every `CULVERT_*` setting of the relay in
 * the environment is honoured; without CULVERT_DATA_DIR the data is kept in a folder that is removed at the end.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';
import { ApiClient } from '../../desktop/client/relay/api-client.ts';
import { parseRelayAddress } from '../../desktop/client/relay/relay-address.ts';
import { Child } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { CULVERT_SCRIPT, type Environment, RELAY_SCRIPT, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { Scope } from '../support/scope.ts';
import { startSite } from './site.ts';

const DEFAULT_PORT = 8080;
const START_TIMEOUT_MS = 15_000;
/** ms a program has to end by itself. */
const STOP_TIMEOUT_MS = 12_000;
const ACCOUNT = 'demo';
const NEXT = `
With a relay that you or somebody else runs (docs/start/your-own-relay.md):
    curl -fsSL https://relay.example.com/install.sh | sh
    culvert login --relay https://relay.example.com
    culvert http 3000`;

/** @returns the exit code of the client */
async function main(scope: Scope): Promise<number> {
  const { values } = parseArgs({ options: { port: { type: 'string' } } });
  const { relay, environment } = await startRelay(scope);
  const port = values.port ?? String((await startSite(scope)).port);
  console.error('A relay, a tunnel and a site run on this machine until you press Ctrl-C.\n');
  const client = spawn(process.execPath, [CULVERT_SCRIPT, 'http', port], {
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  });
  // Ctrl-C reaches the client as well, which closes the tunnel.
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => client.kill(signal));
  relay.exited.then(
    () => client.kill(),
    () => client.kill(),
  );
  const ended = once(client, 'exit') as Promise<[number | null]>;
  visitOnce(environment).catch(() => undefined);
  const [code] = await ended;
  console.error(NEXT);
  return code ?? 1;
}

/** Visits the tunnel as soon as it is online, so that the view has a request to show. */
async function visitOnce({ CULVERT_RELAY: relay = '', CULVERT_API_KEY: key }: Environment): Promise<void> {
  const address = parseRelayAddress(relay);
  const api = new ApiClient(address, key ?? '');
  const tunnel = await eventually(START_TIMEOUT_MS, async () => {
    const online = (await api.listTunnels()).find((each) => each.online);
    if (online === undefined) throw new Error('no tunnel is online yet');
    return online;
  });
  await visit(address.port, { host: new URL(tunnel.public_url).host, headers: [['User-Agent', 'the demo']] });
}

/**
 * Starts a relay with the settings of the environment, and waits until it accepts requests.
 *
 * @returns also the environment of a client
 */
async function startRelay(scope: Scope): Promise<{ relay: Child; environment: Environment }> {
  const dataDir = process.env['CULVERT_DATA_DIR'] ?? temporaryDirectory(scope);
  const environment = {
    // Its events would be written over the client's view.
    CULVERT_LOG_LEVEL: 'error',
    ...process.env,
    CULVERT_BOOTSTRAP_KEY: process.env['CULVERT_BOOTSTRAP_KEY'] ?? `cvt_${randomBytes(20).toString('hex')}`,
    CULVERT_PORT: process.env['CULVERT_PORT'] ?? String(await choosePort()),
    CULVERT_DATA_DIR: dataDir,
  };
  // Apart, so that it outlives a Ctrl-C until the client has closed the tunnel.
  const relay = new Child(process.execPath, [RELAY_SCRIPT], {
    environment,
    isApart: true,
    showsErrors: true,
  });
  scope.defer(() => relay.end(STOP_TIMEOUT_MS));
  const url = await relay.line((line) => /^listening on (\S+)$/.exec(line)?.[1], START_TIMEOUT_MS);
  // A relay that listens on every address is reached via loopback.
  const reachable = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  return { relay, environment: { CULVERT_RELAY: reachable, CULVERT_API_KEY: await createKey(dataDir) } };
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

const scope = new Scope();
try {
  process.exitCode = await main(scope);
} catch (error) {
  console.error(`The demo could not start: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await scope.end();
}
