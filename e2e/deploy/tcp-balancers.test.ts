import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { WebSocket, WebSocketServer } from 'ws';
import { Authority, Pebble } from '../support/certificates.ts';
import { eventually, within } from '../support/deadline.ts';
import { createNamed, shake } from '../support/certified-relay.ts';
import { openHttp2, request } from '../support/http2.ts';
import { runNginx } from '../support/native-server.ts';
import { Culvert, Relay, RelayProgram, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { RawConnection, visit } from '../support/raw-http.ts';
import { type Scope, suiteScope } from '../support/scope.ts';
import { type Echo, echo, readEcho, seenField } from '../support/services/echo.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import { startTcpBalancer } from '../support/shipped-proxies.ts';
import { WITH_TRUNKS } from '../support/trunk-world.ts';

/** An address that only the balancer sees. */
const VISITOR = '127.0.0.5';
/** One whose connections are not the balancer's. */
const DIRECT = '127.0.0.6';
const CONNECTIONS_MAX = 5;

/** Starts a balancer on a port, in front of a relay on another. */
type Start = (scope: Scope, port: number, relayPort: number) => Promise<unknown>;

function haproxy(sends: string): Start {
  return async (scope, port, relayPort) =>
    await startTcpBalancer(scope, port, relayPort, 1, (file) => file.replace('send-proxy-v2', sends));
}

const BALANCERS: Readonly<Record<string, Start>> = {
  'HAProxy with the shipped configuration': haproxy('send-proxy-v2'),
  'HAProxy with version 1': haproxy('send-proxy'),
  'HAProxy with extensions and a checksum': haproxy(
    'send-proxy-v2 proxy-v2-options crc32c,unique-id,authority,ssl',
  ),
  'nginx stream': (scope, port, relayPort) =>
    runNginx(
      scope,
      port,
      '',
      `server { listen 127.0.0.1:${port}; proxy_pass 127.0.0.1:${relayPort}; proxy_protocol on; tcp_nodelay on; proxy_timeout 1d; }`,
    ),
  'a balancer that sends its header byte by byte': startByteByByte,
};

async function startByteByByte(scope: Scope, port: number, relayPort: number): Promise<void> {
  const server = createServer({ noDelay: true }, (visitor) => void pass(visitor, relayPort));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  scope.defer(() => server.close());
}

async function pass(visitor: Socket, relayPort: number): Promise<void> {
  const relay = connect({ port: relayPort, host: '127.0.0.1', noDelay: true });
  for (const [one, other] of [
    [visitor, relay],
    [relay, visitor],
  ] as const)
    one.on('error', () => {}).on('close', () => other.destroy());
  for (const byte of `PROXY TCP4 ${visitor.remoteAddress} 127.0.0.1 ${visitor.remotePort} 443\r\n`) {
    relay.write(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  visitor.pipe(relay).pipe(visitor);
}

for (const [name, start] of Object.entries(BALANCERS))
  describe(`a relay with its own TLS behind ${name}`, () => {
    const scope = suiteScope();
    let authority: Authority;
    let relay: Relay;
    let port: number;
    let host: string;
    let log: string;
    let settings: Record<string, string>;

    before(async () => {
      authority = new Authority(scope);
      const { cert, key } = authority.issue('*.tunnels.test');
      log = join(temporaryDirectory(scope), 'access.log');
      port = await closedPort();
      relay = await Relay.start(scope, {
        ...WITH_TRUNKS,
        CULVERT_TLS_CERT: cert,
        CULVERT_TLS_KEY: key,
        CULVERT_PUBLIC_URL: `https://localhost:${port}`,
        CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
        CULVERT_ACCESS_LOG: log,
        CULVERT_ADDRESS_CONNECTIONS: String(CONNECTIONS_MAX),
        CULVERT_TRUST_PROXY: '127.0.0.1',
        CULVERT_PROXY_PROTOCOL: 'on',
      });
      await start(scope, port, relay.port);
      const { port: local, server } = await startHttpService(scope, (asked, response) => {
        if (asked.url === '/held') response.writeHead(200, { 'content-length': '2' }).write('h');
        else echo(asked, response).catch(() => asked.destroy());
      });
      new WebSocketServer({ server }).on('connection', (socket, { headers }) =>
        socket.send(String(headers['x-forwarded-for'])),
      );
      settings = {
        CULVERT_RELAY: `https://localhost:${port}`,
        CULVERT_API_KEY: relay.bootstrapKey,
        NODE_EXTRA_CA_CERTS: authority.path,
      };
      const url = settings['CULVERT_RELAY'] ?? '';
      const { tunnel } = await Culvert.start(scope, { url }, relay.bootstrapKey, local, [], settings);
      host = `${tunnel.slug}.tunnels.test`;
    });

    async function visitor(localAddress = VISITOR, to = port): Promise<RawConnection> {
      const tcp = connect({ port: to, host: '127.0.0.1', localAddress });
      const socket = connectTls({ socket: tcp, servername: host, ca: authority.pem });
      scope.defer(() => socket.destroy());
      await within(20_000, 'handshake', once(socket, 'secureConnect'));
      return RawConnection.over(socket);
    }

    it('forwards the address of the visitor, and not what the visitor claims', async () => {
      const connection = await visitor();
      for (const target of ['/first', '/second']) {
        const response = await connection.request({
          host,
          target,
          headers: [
            ['X-Forwarded-For', '6.6.6.6'],
            ['X-Forwarded-Proto', 'gopher'],
          ],
        });
        const seen = readEcho(response);
        assert.deepEqual(
          [seenField(seen, 'x-forwarded-for'), seenField(seen, 'x-forwarded-proto')],
          [VISITOR, 'https'],
        );
      }
    });

    it('forwards it over HTTP/2', async () => {
      const session = await openHttp2(scope, {
        port,
        ca: authority.pem,
        servername: host,
        localAddress: VISITOR,
      });
      const { text } = await request(session, { ':path': '/two', ':authority': host });
      assert.equal(seenField(JSON.parse(text) as Echo, 'x-forwarded-for'), VISITOR);
      session.destroy();
    });

    it('forwards it with a WebSocket', async () => {
      const socket = new WebSocket(`wss://localhost:${port}/`, {
        headers: { host },
        ca: authority.pem,
        localAddress: VISITOR,
      });
      scope.defer(() => socket.terminate());
      const [data] = (await within(20_000, 'message', once(socket, 'message'))) as [Buffer];
      assert.equal(data.toString(), VISITOR);
    });

    it('logs it', async () => {
      await (await visitor()).request({ host, target: '/logged' });
      const line = await eventually(20_000, () => {
        const lines = readFileSync(log, 'utf8').split('\n');
        return lines.find((each) => each.includes('"/logged"')) ?? assert.fail('not logged yet');
      });
      assert.equal((JSON.parse(line) as { address: string }).address, VISITOR);
    });

    it('limits each address by itself', async () => {
      const busy = '127.0.0.7';
      for (let count = 0; count < CONNECTIONS_MAX; count += 1) {
        const connection = await visitor(busy);
        await connection.write(`GET /held HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        assert.equal((await connection.finalHead()).status, 200);
      }
      assert.equal((await (await visitor(busy)).request({ host })).status, 429);
      assert.equal((await (await visitor('127.0.0.8')).request({ host })).status, 200);
    });

    it('passes control sockets and trunks on', async () => {
      const child = spawnCulvert(scope, ['doctor', '--json'], settings);
      await child.exit();
      const results = child.lines.map((line) => JSON.parse(line) as { hop: string; result: string });
      assert.deepEqual(
        results.filter(({ hop }) => hop === 'control' || hop === 'trunk').map(({ result }) => result),
        ['ok', 'ok'],
        child.output,
      );
    });

    it('still accepts visitors that connect to it directly', async () => {
      const seen = readEcho(await (await visitor(DIRECT, relay.port)).request({ host }));
      assert.equal(seenField(seen, 'x-forwarded-for'), DIRECT);
    });
  });

describe('a relay that obtains its own certificates behind HAProxy with the shipped configuration', () => {
  const scope = suiteScope();
  const OWN = 'relay.test';

  it('is validated through it, and redirects visitors without TLS', async () => {
    const pebble = await Pebble.start(scope);
    const [relayPort, httpPort] = [await closedPort(), await closedPort()];
    await startTcpBalancer(scope, pebble.tlsPort, relayPort, httpPort, (file) =>
      file.replace(/(frontend http\n +bind 127\.0\.0\.1:)\d+/, `$1${pebble.httpPort}`),
    );
    const relay = await RelayProgram.start(scope, {
      ...pebble.settings,
      CULVERT_PORT: String(relayPort),
      CULVERT_HTTP_PORT: String(httpPort),
      CULVERT_PUBLIC_URL: `https://${OWN}:${pebble.tlsPort}`,
      CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
      CULVERT_TRUST_PROXY: '127.0.0.1',
      CULVERT_PROXY_PROTOCOL: 'on',
    });
    const root = await pebble.root();
    await eventually(60_000, async () => {
      assert.ok((await shake(pebble.tlsPort, OWN, root)).authorized);
    });
    await createNamed(pebble.tlsPort, OWN, relay.bootstrapKey, 'shop', root);
    const { authorized, certificate } = await shake(pebble.tlsPort, 'shop.tunnels.test', root);
    assert.deepEqual([authorized, certificate.subjectaltname], [true, 'DNS:shop.tunnels.test']);
    const { status, head } = await visit(pebble.httpPort, { host: 'shop.tunnels.test', target: '/x' });
    assert.deepEqual(
      [status, head.field('location')],
      [308, `https://shop.tunnels.test:${pebble.tlsPort}/x`],
    );
  }).timeout(180_000);
});

describe('the PROXY protocol (CULVERT_PROXY_PROTOCOL)', () => {
  const scope = suiteScope();
  const HEADER = `PROXY TCP4 ${VISITOR} 127.0.0.1 1 80\r\n`;
  const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
  let relay: Relay;

  before(async () => {
    relay = await Relay.start(scope, { CULVERT_TRUST_PROXY: '127.0.0.1', CULVERT_PROXY_PROTOCOL: 'on' });
  });

  it('closes connections of a trusted proxy without it, and answers nothing', async () => {
    for (const bytes of [REQUEST, 'PROXY TCP4 1.2.3.4\r\n', '\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0']) {
      const connection = await RawConnection.open(scope, relay.port);
      await connection.write(bytes);
      await connection.ending;
      assert.equal(connection.socket.bytesRead, 0);
    }
  });

  it('refuses it from anybody else as a malformed request', async () => {
    const forger = await RawConnection.open(scope, relay.port, undefined, DIRECT);
    await forger.write(HEADER + REQUEST);
    const { status, head } = await forger.response();
    assert.deepEqual([status, head.field('culvert-error')], [400, 'bad-request']);
  });

  it('refuses a second header', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    await connection.write(HEADER + HEADER + REQUEST);
    assert.equal((await connection.response()).status, 400);
  });

  it('does not believe the forwarded fields of a health check (LOCAL), or of an unknown source', async () => {
    const site = await startHttpService(scope, (asked, response) => void echo(asked, response));
    const { tunnel } = await Culvert.start(scope, await directTo(relay), relay.bootstrapKey, site.port);
    const host = `${tunnel.slug}.localhost`;
    for (const header of ['PROXY UNKNOWN\r\n', '\r\n\r\n\0\r\nQUIT\n\x20\0\0\0']) {
      const connection = await RawConnection.open(scope, relay.port);
      await connection.write(header);
      const response = await connection.request({ host, headers: [['X-Forwarded-For', '6.6.6.6']] });
      assert.equal(seenField(readEcho(response), 'x-forwarded-for'), '127.0.0.1');
    }
  });

  it('does not apply to other ports', async () => {
    const port = await closedPort();
    const other = await Relay.start(scope, {
      CULVERT_TRUST_PROXY: '127.0.0.1',
      CULVERT_PROXY_PROTOCOL: 'on',
      CULVERT_METRICS_PORT: String(port),
    });
    assert.match((await visit(port, { host: 'localhost', target: '/metrics' })).text, /culvert_/);
    await other.stop();
  });

  /** The relay through a balancer: this machine is trusted, so its connections need a header. */
  async function directTo({ port }: Relay): Promise<{ readonly url: string }> {
    const balancer = await closedPort();
    await startByteByByte(scope, balancer, port);
    return { url: `http://localhost:${balancer}` };
  }
});
