import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Authority } from '../support/certificates.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { RawConnection } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';

/** A name that only the test's proxy resolves: any request for it has passed it. */
const NAME = 'relay.culvert.invalid';

describe('a client behind a proxy', () => {
  const scope = suiteScope();

  it('reaches API, control and data sockets through it, with its credentials and an authority of CULVERT_CA', async () => {
    const authority = new Authority(scope);
    const { cert, key } = authority.issue(NAME, `*.${NAME}`);
    const settings = { CULVERT_TUNNEL_DOMAIN: NAME, CULVERT_TRUNKS: '0' };
    const relay = await Relay.start(scope, { ...settings, CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key });
    const service = await startEchoService(scope);
    const asked: string[] = [];
    const proxy = createServer().on('connect', (request, client: Socket) => {
      asked.push(`${request.url} ${request.headers['proxy-authorization']}`);
      const target = connect(relay.port, '127.0.0.1');
      client.on('error', () => target.destroy());
      target.on('error', () => client.destroy());
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(target).pipe(client);
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    scope.defer(() => proxy.close());
    const { port } = proxy.address() as AddressInfo;

    const url = `https://${NAME}:${relay.port}`;
    const environment = { https_proxy: `http://user:p%40ss@127.0.0.1:${port}`, CULVERT_CA: authority.path };
    const { tunnel } = await Culvert.start(scope, { url }, relay.bootstrapKey, service.port, [], environment);
    const host = `${tunnel.slug}.${NAME}`;
    const tls = { port: relay.port, host: '127.0.0.1', servername: host, ca: authority.pem };
    const visitor = await RawConnection.openTls(scope, tls);
    assert.equal(readEcho(await visitor.request({ host, target: '/x' })).url, '/x');
    const credentials = Buffer.from('user:p@ss').toString('base64');
    assert.deepEqual([...new Set(asked)], [`${NAME}:${relay.port} Basic ${credentials}`]);
    assert.ok(asked.length >= 3, `${asked.length} connections`);
  });
});
