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
import { Child } from '../support/child.ts';
import { CULVERT_SCRIPT, type Environment, RELAY_SCRIPT, temporaryDirectory } from '../support/programs.ts';
import { Scope } from '../support/scope.ts';
import { startSite } from './site.ts';

const DEFAULT_PORT = 8080;
const START_TIMEOUT_MS = 15_000;
/** ms a program has to end by itself. */
const STOP_TIMEOUT_MS = 12_000;
const ACCOUNT = 'demo';

/** @returns the exit code of the client */
async function main(scope: Scope): Promise<number> {
  const { values } = parseArgs({ options: { port: { type: 'string' } } });
  const { relay, environment } = await startRelay(scope);
  const port = values.port ?? String((await startSite(scope)).port);
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
  const [code] = (await once(client, 'exit')) as [number | null];
  return code ?? 1;
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
    CULVERT_LOG_LEVEL: 'warn',
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
