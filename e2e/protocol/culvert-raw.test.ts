/** What the owner of a TCP tunnel can do with `culvert`: the PROXY protocol, files, the request log, and agents. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { Culvert, Relay, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { RawConnection } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort, closedPorts, startRawService } from '../support/services/listen.ts';

/** More than the 8 MiB after which a stream gets a connection of its own. */
const UPLOAD_BYTES = 24 * 1024 * 1024;

interface Row {
  readonly method: string;
  readonly target: string;
  readonly connection: string;
  readonly bytes_in: number;
  readonly bytes_out: number;
}

function portOf({ public_url }: Tunnel): number {
  return Number(new URL(public_url).port);
}

describe('culvert tcp', () => {
  const scope = suiteScope();
  let relay: Relay;
  let account: TestAccount;
  let ports: string;
  let runtime: string;
  /** ports that tunnels have */
  const given = new Set<number>();

  before(async () => {
    ports = await closedPorts(8);
    relay = await Relay.start(scope, { CULVERT_TCP_PORTS: ports });
    account = await createAccount(relay, { plan: 'team' });
    runtime = temporaryDirectory(scope);
  });

  async function serve(port: number, ...options: string[]): Promise<Culvert> {
    const words = ['tcp', String(port), ...options];
    const culvert = await Culvert.run(scope, relay, account.key, words, { XDG_RUNTIME_DIR: runtime });
    given.add(portOf(culvert.tunnel));
    return culvert;
  }

  const visit = (tunnel: Tunnel): Promise<RawConnection> => RawConnection.open(scope, portOf(tunnel));

  /** The connections that the command has logged, newest first. */
  async function logged({ tunnel }: Culvert): Promise<readonly Row[]> {
    const words = ['inspect', '--json', '--tunnel', tunnel.id];
    const child = spawnCulvert(scope, words, { XDG_RUNTIME_DIR: runtime });
    assert.equal((await child.exit()).code, 0);
    const [line = ''] = child.lines;
    return (JSON.parse(line) as { readonly requests: readonly Row[] }).requests;
  }

  it('names the visitor to the service with --proxy-protocol, and logs the connection', async () => {
    const service = await startRawService(
      scope,
      (socket) => void socket.once('data', (bytes) => socket.end(bytes)),
    );
    const culvert = await serve(service.port, '--proxy-protocol');
    const visitor = await visit(culvert.tunnel);
    const { localPort = 0, remotePort = 0 } = visitor.socket;
    const expected = Buffer.from('\r\n\r\n\0\r\nQUIT\n!\x11\0\f\x7f\0\0\x01\x7f\0\0\x01....', 'latin1');
    expected.writeUInt16BE(localPort, 24);
    expected.writeUInt16BE(remotePort, 26);
    assert.deepEqual(await visitor.reader.exactly(expected.length), expected);
    visitor.halfClose();
    assert.equal(await visitor.ending, 'end');
    await eventually(20_000, async () => {
      const [row] = await logged(culvert);
      assert.deepEqual(
        [row?.method, row?.target, row?.connection],
        ['TCP', `127.0.0.1:${localPort}`, 'done'],
      );
      // The header is the client's own.
      assert.deepEqual([row?.bytes_in, row?.bytes_out], [0, expected.length]);
    });
  });

  it('carries a large upload to its end, which the service waits for', async () => {
    const service = await startRawService(scope, (socket: Socket) => {
      const hash = createHash('sha256');
      socket.on('data', (bytes) => hash.update(bytes));
      socket.once('end', () => socket.end(hash.digest('hex')));
    });
    const culvert = await serve(service.port);
    const upload = randomBytes(UPLOAD_BYTES);
    const visitor = await visit(culvert.tunnel);
    await visitor.write(upload);
    visitor.halfClose();
    const answer = await visitor.reader.exactly(64);
    assert.equal(String(answer), createHash('sha256').update(upload).digest('hex'));
    assert.equal(await visitor.ending, 'end');
  });

  it('resets visitors while nothing listens, and says so', async () => {
    const port = await closedPort();
    const culvert = await serve(port);
    const problem = culvert.nextEvent('problem');
    const visitor = await visit(culvert.tunnel);
    assert.equal(await visitor.ending, 'reset');
    assert.deepEqual((await problem).code, 'local-refused');
    const [row] = await logged(culvert);
    assert.equal(row?.connection, 'refused');
  });

  it('opens the tunnels of a file at the ports that it names', async () => {
    const service = await startRawService(scope, (socket) => void socket.end('hello'));
    const folder = temporaryDirectory(scope);
    let wanted = Number(ports.split('-')[0]);
    while (given.has(wanted)) wanted += 1;
    const tunnel = `{port: ${service.port}, protocol: tcp, remote_port: ${wanted}, allow: 127.0.0.0/8}`;
    writeFileSync(join(folder, 'culvert.yml'), `tunnels:\n  game: ${tunnel}\n`);
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: account.key, XDG_RUNTIME_DIR: runtime };
    const child = spawnCulvert(scope, ['start', '--json'], environment, undefined, folder);
    await child.printed(/"event":"online"/);
    const visitor = await RawConnection.open(scope, wanted);
    assert.equal(String(await visitor.reader.exactly(5)), 'hello');
    const list = spawnCulvert(scope, ['list'], environment);
    await list.exit();
    assert.match(list.output, new RegExp(`tcp://localhost:${wanted} `));
  });
});
