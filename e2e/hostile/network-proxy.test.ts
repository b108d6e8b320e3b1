import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { Authority } from '../support/certificates.ts';
import { assertAtLimit, timed } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, Relay, spawnCulvert } from '../support/programs.ts';
import { RawConnection, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { concurrentTests, type Scope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import type { HttpService } from '../support/services/listen.ts';

/** A name that only the test's proxies resolve: any request for it has passed one. */
const NAME = 'relay.culvert.invalid';
/** To the client, the relay is not on this machine. */
const INSECURE = '--insecure';

/** A corporate proxy: CONNECT and nothing else (RFC 9110 section 9.3.6). */
class ConnectProxy {
  readonly port: number;
  /** `host:port` of each request, in order */
  readonly asked: string[];

  private constructor(port: number, asked: string[]) {
    this.port = port;
    this.asked = asked;
  }

  /**
   * Starts a proxy that resolves every name to this machine.
   *
   * @param credentials `user:password` that it requires
   * @param isHanging whether it accepts requests and never responds
   */
  static async start(
    scope: Scope,
    { credentials, isHanging = false }: { credentials?: string; isHanging?: boolean } = {},
  ): Promise<ConnectProxy> {
    const asked: string[] = [];
    const sockets = new Set<Socket>();
    const server = createServer();
    const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
    server.on('connect', (request, client: Socket) => {
      asked.push(request.url ?? '');
      client.on('error', () => {});
      sockets.add(client);
      if (isHanging) return;
      if (request.headers['proxy-authorization'] !== expected)
        return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
      const target = connectPlain(Number(request.url?.split(':').at(-1)), '127.0.0.1');
      target.on('error', () => client.destroy());
      target.once('connect', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(target).pipe(client);
      });
      client.once('close', () => target.destroy());
      target.once('close', () => client.destroy());
    });
    scope.defer(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ConnectProxy((server.address() as { port: number }).port, asked);
  }

  /** Its address, in the form of `HTTPS_PROXY`. */
  url(credentials?: string): string {
    return `http://${credentials === undefined ? '' : `${credentials}@`}127.0.0.1:${this.port}`;
  }
}

describe('a client behind a proxy', function () {
  const { scope, relay, pool } = sharedRelaySuite();
  let service: HttpService;

  before(async () => {
    service = await startEchoService(scope);
  });

  const together = concurrentTests();
  const address = (): string => `http://${NAME}:${relay.port}`;

  together('reaches API, control and data sockets through it, with its credentials', async () => {
    const { key } = await pool.take();
    const proxy = await ConnectProxy.start(scope, { credentials: 'user:p@ss' });
    const environment = { HTTP_PROXY: proxy.url('user:p%40ss') };
    const { tunnel } = await Culvert.start(
      scope,
      { url: address() },
      key,
      service.port,
      [INSECURE],
      environment,
    );
    const host = hostOf(tunnel, relay);
    const seen = await Promise.all(
      Array.from({ length: 12 }, (_, n) => visit(relay.port, { host, target: `/${n}` })),
    );
    assert.deepEqual(
      seen.map((response) => readEcho(response).url),
      seen.map((_, n) => `/${n}`),
    );
    assert.ok(proxy.asked.length > 12, `${proxy.asked.length} connections`);
    assert.deepEqual([...new Set(proxy.asked)], [`${NAME}:${relay.port}`]);
  });

  together('uses TLS to its relay through it, with an authority of CULVERT_CA', async () => {
    const authority = new Authority(scope);
    const { cert, key: certKey } = authority.issue(NAME);
    const secure = await Relay.start(scope, { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: certKey });
    const proxy = await ConnectProxy.start(scope);
    const environment = { https_proxy: proxy.url(), CULVERT_CA: authority.path };
    const url = `https://${NAME}:${secure.port}`;
    const key = secure.bootstrapKey;
    const { tunnel } = await Culvert.start(scope, { url }, key, service.port, [], environment);
    const socket = connect({
      port: secure.port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: authority.pem,
    });
    scope.defer(() => socket.destroy());
    await once(socket, 'secureConnect');
    const answer = await RawConnection.over(socket).request({ host: hostOf(tunnel, secure), target: '/tls' });
    assert.equal(readEcho(answer).url, '/tls');
    // The control socket, the API and at least one data socket.
    assert.ok(proxy.asked.length >= 3);
    const untrusting = spawnCulvert(scope, ['list'], {
      CULVERT_RELAY: url,
      CULVERT_API_KEY: key,
      https_proxy: proxy.url(),
    });
    assert.equal((await untrusting.exit()).code, 1);
    assert.match(untrusting.stderr, /not signed by a trusted authority/);
  });

  together('reports what is wrong with the proxy', async () => {
    const { key } = await pool.take();
    const proxy = await ConnectProxy.start(scope, { credentials: 'user:pass' });
    const run = async (httpProxy: string): Promise<string> => {
      const environment = { CULVERT_RELAY: address(), CULVERT_API_KEY: key, HTTP_PROXY: httpProxy };
      const child = spawnCulvert(scope, ['list', INSECURE], environment);
      assert.notEqual((await child.exit()).code, 0);
      return child.stderr;
    };
    assert.match(await run(proxy.url()), /requires a login: .*http:\/\/user:password@/);
    assert.match(await run(proxy.url('user:wrong')), /rejected the user name or password/);
    assert.match(await run('socks5://u:secret@127.0.0.1:1080'), /HTTP_PROXY is not a valid proxy address/);
    assert.doesNotMatch(await run('socks5://u:secret@127.0.0.1:1080'), /secret/);
  });

  together('gives up after 10 s on a proxy that does not answer', async () => {
    const { key } = await pool.take();
    const proxy = await ConnectProxy.start(scope, { isHanging: true });
    const environment = { CULVERT_RELAY: address(), CULVERT_API_KEY: key, HTTP_PROXY: proxy.url() };
    const child = spawnCulvert(scope, ['list', INSECURE], environment);
    const { value, ms } = await timed(() => child.exit());
    assert.equal(value.code, 1);
    assert.match(child.stderr, /did not respond in time/);
    assertAtLimit(ms, 10_000);
  });

  together('bypasses it for a relay on this machine, and if NO_PROXY says so', async () => {
    const { key } = await pool.take();
    const environment = { HTTP_PROXY: 'http://127.0.0.1:9', CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
    const child = spawnCulvert(scope, ['list'], environment);
    assert.equal((await child.exit()).code, 0);
    const direct = { ...environment, CULVERT_RELAY: address(), NO_PROXY: 'culvert.invalid' };
    const unknown = spawnCulvert(scope, ['list', INSECURE], direct);
    assert.equal((await unknown.exit()).code, 1);
    assert.match(unknown.stderr, /the host name does not exist|could not be looked up/);
  });
});
