/** Attempts to crash or exhaust `culvert`: visitors who leave, addresses that are slow to parse, and a relay that lies. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { eventually } from '../../support/deadline.ts';
import { hostOf } from '../../support/manual-client.ts';
import { openFilesOf } from '../../support/processes.ts';
import { newApiKey, spawnCulvert, temporaryDirectory } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { formatRequest, RawConnection, visit } from '../../support/raw-http.ts';
import { relaySuite } from '../../support/relay-suite.ts';
import { type Scope, suiteScope } from '../../support/scope.ts';
import { SEED } from './attack.ts';

const RESETS = 1000;
const ADDRESSES = 100;
const MESSAGES = 1000;
/** Turns of this process's event loop after which visitors leave. They cover each step of a response. */
const TURNS = 40;
/** Below the limit of the relay. */
const ADDRESS_CHARS = 7000;
/** ms for an answer on a busy machine, and until idle local connections are closed. */
const PATIENCE_MS = 30_000;

describe('a shared folder', () => {
  const { scope, relay } = relaySuite({ CULVERT_ADDRESS_CONNECTIONS: '100000' });

  /** @param environment of the program, besides its key */
  async function share(environment: Readonly<Record<string, string>> = {}) {
    const folder = temporaryDirectory(scope);
    writeFileSync(join(folder, 'small.txt'), 'small');
    writeFileSync(join(folder, 'large.bin'), Buffer.alloc(4 * 1024 * 1024));
    const child = spawnCulvert(scope, ['share', folder, '--json'], {
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: relay.bootstrapKey,
      ...environment,
    });
    const { tunnel } = await child.line((line) => JSON.parse(line) as { tunnel: Tunnel });
    return { child, host: hostOf(tunnel, relay) };
  }

  it(`holds nothing of ${RESETS} visitors who reset their connections at any moment, and serves the next`, async () => {
    const { child, host } = await share();
    const descriptors = (): number => openFilesOf(child.pid).length;
    const served = async (): Promise<void> =>
      assert.equal((await visit(relay.port, { host, target: '/small.txt' })).text, 'small', child.stderr);
    const wave = async (): Promise<void> => {
      await Promise.all(
        Array.from({ length: TURNS }, async (_, turns) => {
          const visitor = await RawConnection.open(scope, relay.port);
          const target = turns % 2 === 0 ? '/small.txt' : '/large.bin';
          await visitor.write(formatRequest({ host, target }));
          for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          visitor.reset();
        }),
      );
    };
    // From now on, trunks and local connections exist.
    await wave();
    await served();
    let base = Infinity;
    await eventually(PATIENCE_MS, () => {
      const before = base;
      base = descriptors();
      assert.equal(base, before);
    });
    for (let visits = TURNS; visits < RESETS; visits += TURNS) await wave();
    await served();
    await eventually(PATIENCE_MS, () =>
      assert.ok(descriptors() <= base, `${descriptors()} descriptors, ${base} before`),
    );
  });

  it(`shows ${ADDRESSES} addresses that are slow to redact, as a terminal and the app do all the time`, async () => {
    const place = temporaryDirectory(scope);
    const runtime = { XDG_RUNTIME_DIR: place, TMPDIR: place };
    const { child, host } = await share(runtime);
    const random = new Random(SEED);
    for (let sent = 1; sent <= ADDRESSES; sent += 1) {
      const piece = random.pick(['?', '&a', ';', '?a=', '//', '//@', 'eyJ', 'eyJ.', '=', 'Bearer:']);
      const target = `/small.txt?${piece.repeat(ADDRESS_CHARS / piece.length)}`;
      assert.equal((await visit(relay.port, { host, target })).status, 200, piece);
      if (sent % 50 !== 0) continue;
      const list = spawnCulvert(scope, ['inspect', '--json'], runtime);
      assert.equal((await list.exit(PATIENCE_MS)).code, 0, list.stderr);
    }
    assert.ok(!child.hasExited, child.stderr);
  });
});

describe('a client of a hostile relay', () => {
  const scope = suiteScope();

  it(`bears ${MESSAGES} invalid messages, and still serves announced visitors`, async () => {
    const relay = await startHostileRelay(scope);
    const random = new Random(SEED);
    const child = spawnCulvert(scope, ['http', '9', '--json'], {
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: newApiKey(),
    });
    const open = (): Promise<WebSocket> =>
      eventually(PATIENCE_MS, () => {
        const { control } = relay;
        assert.ok(control !== undefined && control.readyState === control.OPEN, child.stderr);
        return control;
      });
    for (let sent = 1; sent <= MESSAGES; sent += 1) {
      (await open()).send(JSON.stringify(oddMessage(random)));
      if (sent % 250 !== 0) continue;
      const id = randomUUID();
      (await open()).send(JSON.stringify({ type: 'connection', id }));
      await eventually(PATIENCE_MS, () =>
        assert.ok(relay.accepted.has(id), `visitor after ${sent} messages`),
      );
    }
    assert.ok(!child.hasExited, child.stderr);
  });
});

function oddMessage(random: Random): unknown {
  const odd = random.pick<unknown>([
    '\ud800',
    '',
    '../x',
    '?a&b',
    'x'.repeat(700),
    '\r\n',
    null,
    7,
    [],
    {},
    true,
  ]);
  const type = random.pick<unknown>(['connection', 'knock', 'drain!', '__proto__', odd]);
  const address = random.pick<unknown>(['192.0.2.7', odd]);
  const fields = { id: odd, address, agent: odd, at: random.pick<unknown>(['9999-99-99', odd]) };
  return random.pick<unknown>([
    odd,
    [odd],
    { type, ...fields },
    { type, id: odd },
    { ...fields, type: [type] },
  ]);
}

interface HostileRelay {
  readonly url: string;
  /** the control socket that was opened last */
  control: WebSocket | undefined;
  /** ids of the visitors for whom the client has opened a data socket */
  readonly accepted: ReadonlySet<string>;
}

async function startHostileRelay(scope: Scope): Promise<HostileRelay> {
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer((request, response) => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const tunnel = {
      id: randomUUID(),
      slug: 'shop',
      client_id: 'one',
      local_port: 9,
      name: '',
      ttl: '1h0m0s',
      mode: 'relay',
      created_at: at,
      expires_at: at,
      idle_ttl: false,
      bytes_in: 0,
      bytes_out: 0,
      requests: 0,
      public_url: relay.url,
      urls: { subdomain: relay.url },
    };
    request.resume();
    response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(tunnel));
  });
  const accepted = new Set<string>();
  server.on('upgrade', (request: IncomingMessage, socket, head) => {
    socket.on('error', () => socket.destroy());
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
    if (pathname === '/ws/trunk')
      return void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    sockets.handleUpgrade(request, socket, head, (opened) => {
      opened.on('error', () => opened.terminate());
      if (pathname === '/ws/control') relay.control = opened;
      else {
        accepted.add(searchParams.get('id') ?? '');
        opened.close();
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  scope.defer(() => {
    for (const client of sockets.clients) client.terminate();
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const relay: HostileRelay = { url, control: undefined, accepted };
  return relay;
}
