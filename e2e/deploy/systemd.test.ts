import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Api } from '../support/api.ts';
import { eventually } from '../support/deadline.ts';
import {
  newApiKey,
  RELAY_SCRIPT,
  RelayProgram,
  spawnRelay,
  temporaryDirectory,
} from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';

const START_MS = 60_000;
/** Prints each message that arrives on a datagram socket, as a line. */
const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('ready', flush=True)
while True: print(s.recv(4096).decode().replace('\\n', ' '), flush=True)
`;

describe('a relay that is started by a service manager', () => {
  const scope = suiteScope();

  it('serves on the listener that it was given, where connections wait while it is restarted', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as { port: number };
    const { _handle: handle } = listener as unknown as { readonly _handle: { readonly fd: number } };
    const key = newApiKey();
    // A shell holds descriptor 3, as systemd does, and starts one relay after the other.
    const relay = ['/bin/sh', '-c', 'LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=visitors exec "$@"', 'sh'];
    const program = [...relay, process.execPath, RELAY_SCRIPT, 'serve'];
    const manager = spawn('/bin/sh', ['-c', '"$@"; sleep 1; "$@"', 'sh', ...program], {
      env: {
        ...process.env,
        CULVERT_DATA_DIR: temporaryDirectory(scope),
        CULVERT_BOOTSTRAP_KEY: key,
        CULVERT_PORT: String(port),
        CULVERT_LOG_LEVEL: 'error',
      },
      stdio: ['ignore', 'ignore', 'inherit', handle.fd],
    });
    // From here on only the shell and the relay have the listener.
    listener.close();
    scope.defer(() => manager.kill('SIGKILL'));
    const running = (): number => {
      const [pid = ''] = readFileSync(`/proc/${manager.pid}/task/${manager.pid}/children`, 'utf8').split(' ');
      return Number(pid);
    };
    assert.deepEqual(await new Api({ port }, key).list(), []);
    const first = running();
    process.kill(first, 'SIGTERM');
    await eventually(START_MS, () => assert.notEqual(running(), first));
    // Nobody accepts connections at this moment.
    assert.deepEqual(await new Api({ port }, key).list(), []);
    process.kill(running(), 'SIGTERM');
    assert.deepEqual(await once(manager, 'exit'), [0, null]);
  });

  it('is started by the first visitor with systemd-socket-activate', async () => {
    const port = await closedPort();
    const environment = { CULVERT_DATA_DIR: temporaryDirectory(scope), CULVERT_PORT: String(port) };
    const args = ['-l', `127.0.0.1:${port}`];
    for (const [name, value] of Object.entries(environment)) args.push('-E', `${name}=${value}`);
    const child = spawn('systemd-socket-activate', [...args, process.execPath, RELAY_SCRIPT, 'serve'], {
      stdio: 'ignore',
    });
    scope.defer(() => child.kill('SIGKILL'));
    const { status } = await eventually(START_MS, () =>
      visit(port, { host: 'localhost', target: '/healthz' }),
    );
    assert.equal(status, 200);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });

  it('reports when it is ready; its replacement becomes the main process, and the command ends', async () => {
    const path = join(temporaryDirectory(scope), 'notify');
    const receiver = spawn('python3', ['-c', RECEIVER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    scope.defer(() => receiver.kill('SIGKILL'));
    const told: string[] = [];
    createInterface(receiver.stdout).on('line', (line) => void told.push(line));
    await eventually(START_MS, () => assert.deepEqual(told, ['ready']));

    const relay = await RelayProgram.start(scope, { NOTIFY_SOCKET: path });
    await eventually(START_MS, () =>
      assert.ok(
        told.some((line) => line.includes(`READY=1 MAINPID=${relay.child.pid}`)),
        told.join('\n'),
      ),
    );
    const command = spawn(process.execPath, [RELAY_SCRIPT, 'serve', '--replace', '--detach'], {
      env: {
        ...process.env,
        ...relay.databaseSettings,
        CULVERT_PORT: String(relay.port),
        NOTIFY_SOCKET: path,
      },
      // The new relay keeps these descriptors as long as it runs.
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [line] = (await once(createInterface(command.stdout), 'line')) as [string];
    assert.equal(line, `listening on http://127.0.0.1:${relay.port}`);
    if (command.exitCode === null) await once(command, 'exit');
    assert.equal(command.exitCode, 0);
    assert.deepEqual(await relay.child.exit(START_MS), { code: 0, signal: null });
    const pids = told.flatMap((each) => /MAINPID=(\d+)/.exec(each)?.[1] ?? []).map(Number);
    const next = pids.at(-1) ?? 0;
    scope.defer(() => process.kill(next, 'SIGKILL'));
    assert.notEqual(next, relay.child.pid);
    await new Api(relay, relay.bootstrapKey).list();
  });

  it('with --detach ends with code 1 if the relay cannot serve', async () => {
    const relay = await RelayProgram.start(scope);
    const command = spawnRelay(scope, ['serve', '--detach'], {
      ...relay.databaseSettings,
      CULVERT_PORT: String(relay.port),
    });
    assert.deepEqual(await command.exit(START_MS), { code: 1, signal: null });
    assert.match(command.stderr, /another relay is using the database/);
  });
});
