import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { WebSocket, WebSocketServer } from 'ws';
import { DnsServer } from '../../server/testing/dns-server.ts';
import { createAccount } from '../support/accounts.ts';
import { Authority } from '../support/certificates.ts';
import { within } from '../support/deadline.ts';
import { bringDomain } from '../support/dns-servers.ts';
import { Culvert, Relay, spawnCulvert } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { type Echo, echo, seenField } from '../support/services/echo.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import { behindEachProxy, SHIPPED } from '../support/shipped-proxies.ts';
import { WITH_TRUNKS } from '../support/trunk-world.ts';

/** The files of `server/deploy` in the real proxies. The client also connects through them. */
behindEachProxy('the relay', (startProxy) => {
  const scope = suiteScope();
  let port: number;
  let plain: number;
  let ca: Buffer;
  /** settings with which `culvert` reaches the relay through the proxy */
  let settings: Record<string, string>;
  let host: string;
  let dns: DnsServer;
  let relay: Relay;
  /** port of the local service */
  let local: number;
  let finish: () => void;

  before(async () => {
    const authority = new Authority(scope);
    ca = authority.pem;
    dns = await DnsServer.start();
    scope.defer(() => dns.stop());
    relay = await Relay.start(scope, {
      ...SHIPPED.settings,
      ...WITH_TRUNKS,
      CULVERT_RESOLVER: dns.address,
    });
    port = await closedPort();
    const files = authority.issue(SHIPPED.relayHost, `*.${SHIPPED.tunnelDomain}`, SHIPPED.domain);
    ({ plain } = await startProxy(scope, port, relay.port, files));
    const service = await startHttpService(scope, answer);
    local = service.port;
    new WebSocketServer({ server: service.server }).on('connection', (socket) =>
      socket.on('message', (data: Buffer) => socket.send(data.toString().toUpperCase())),
    );
    // The control socket, trunks, data sockets and API calls also go through the proxy.
    const address = { url: `https://localhost:${port}` };
    const key = relay.bootstrapKey;
    const trusting = { NODE_EXTRA_CA_CERTS: authority.path };
    settings = { CULVERT_RELAY: address.url, CULVERT_API_KEY: key, ...trusting };
    const { tunnel } = await Culvert.start(scope, address, key, service.port, [], trusting);
    host = `${tunnel.slug}.${SHIPPED.tunnelDomain}`;
    assert.equal(tunnel.public_url, `https://${host}`);
  });

  /** Event streams end when the test says so; everything else is echoed. */
  function answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.url !== '/events') return void echo(request, response).catch(() => request.destroy());
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\n\n');
    finish = () => response.end('data: last\n\n');
  }

  async function get(
    path: string,
    headers: Record<string, string> = {},
    servername = host,
  ): Promise<IncomingMessage> {
    const request = httpsRequest({
      host: '127.0.0.1',
      port,
      path,
      headers: { host, ...headers },
      servername,
      ca,
    });
    request.end();
    const [response] = (await within(20_000, 'answer', once(request, 'response'))) as [IncomingMessage];
    return response;
  }

  it('forwards requests unchanged, with the address of the visitor', async () => {
    const response = await get('//a/../b?x=%2F', {
      'x-forwarded-for': '203.0.113.1',
      'X-Forwarded-Proto': 'gopher',
      with_underscore: 'kept',
    });
    const seen = JSON.parse(await text(response)) as Echo;
    assert.equal(seen.url, '//a/../b?x=%2F');
    assert.equal(seenField(seen, 'host'), host);
    assert.equal(seenField(seen, 'x-forwarded-proto'), 'https');
    assert.equal(seenField(seen, 'x-forwarded-host'), host);
    assert.equal(seenField(seen, 'with_underscore'), 'kept');
    // The address of the visitor, then that of the proxy. Claims of the visitor are dropped.
    assert.equal(seenField(seen, 'x-forwarded-for'), '127.0.0.1, 127.0.0.1');
  });

  it('forwards no forged forwarding headers of a visitor', async () => {
    const claims = [
      'Forwarded',
      'Forwarded-For',
      'X-Real-IP',
      'X-Forwarded',
      'X-Forwarded-Port',
      'X-Forwarded-Server',

      'X-Forwarded-Ssl',
      'X-Forwarded-Scheme',
      'X-Forwarded-User',
      'X-Forwarded-Email',
      'X-Forwarded-Prefix',
      'X-Forwarded-Access-Token',
      'X-Forwarded-Client-Cert',
      'X-Forwarded-Tls-Client-Cert',

      'Proxy-Client-IP',
      'WL-Proxy-Client-IP',
      'X-ProxyUser-Client-IP',
      'DO-Connecting-IP',
      'X-Vercel-Forwarded-For',
      'Client-IP',
      'X-Client-IP',
      'X-Cluster-Client-IP',
      'True-Client-IP',
      'CF-Connecting-IP',
      'Fastly-Client-IP',

      'X-Original-Forwarded-For',
      'X_Forwarded_For',
      'X-Forwarded_Proto',
      'X.Forwarded.For',
      'X~Real+IP',
      'Culvert-Visitor',
      'Culvert.Visitor',
      'x_real_ip',
      'HTTP_CLIENT_IP',
      'Proxy',
    ];
    const response = await get('/', Object.fromEntries(claims.map((name) => [name, '6.6.6.6'])));
    const seen = JSON.parse(await text(response)) as Echo;
    assert.doesNotMatch(seen.rawHeaders.join('\n'), /6\.6\.6\.6/);
  });

  it('speaks HTTP/2 with visitors', async () => {
    const session = connectHttp2(`https://${host}`, {
      ca,
      lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
      port,
    });
    const stream = session.request({ ':path': '/two', ':authority': host });
    const seen = JSON.parse(await within(20_000, 'answer', text(stream))) as Echo;
    session.destroy();
    assert.deepEqual([seen.url, seenField(seen, 'host')], ['/two', host]);
  });

  it('passes events on as they arrive', async () => {
    const response = await get('/events');
    response.setEncoding('utf8');
    const [first] = (await within(20_000, 'event', once(response, 'data'))) as [string];
    assert.equal(first, 'data: first\n\n');
    finish();
    assert.equal(await text(response), 'data: last\n\n');
  });

  it('passes WebSockets on', async () => {
    const socket = new WebSocket(`wss://localhost:${port}/`, { headers: { host }, ca });
    scope.defer(() => socket.terminate());
    await within(20_000, 'WebSocket', once(socket, 'open'));
    socket.send('hello');
    const [data] = (await within(20_000, 'message', once(socket, 'message'))) as [Buffer];
    assert.equal(data.toString(), 'HELLO');
  });

  it('passes trunks on', async () => {
    const child = spawnCulvert(scope, ['doctor', '--json'], settings);
    // The wildcard of the tunnels does not resolve here, which doctor reports.
    await child.exit();
    const results = child.lines.map((line) => JSON.parse(line) as { hop: string; result: string });
    assert.deepEqual(
      results.filter(({ hop }) => hop === 'control' || hop === 'trunk').map(({ result }) => result),
      ['ok', 'ok'],
      child.output,
    );
  });

  it('redirects visitors without TLS to https', async () => {
    const { status, head } = await visit(plain, { host, target: '/x?y' });
    const location = head.field('location')?.replace(`:${port}`, '');
    assert.deepEqual([status, location], [308, `https://${host}/x?y`]);
  });

  it('forwards requests for a custom domain, with a certificate for it and for no other', async () => {
    const { domain } = SHIPPED;
    const account = await createAccount(relay);
    await bringDomain(account, dns, domain);
    const address = { url: settings['CULVERT_RELAY'] ?? '' };
    const trusting = { NODE_EXTRA_CA_CERTS: settings['NODE_EXTRA_CA_CERTS'] ?? '' };
    const { tunnel } = await Culvert.start(
      scope,
      address,
      account.key,
      local,
      ['--domain', domain],
      trusting,
    );
    assert.equal(tunnel.public_url, `https://${domain}`);
    const response = await get('/x?y', { host: domain }, domain);
    const seen = JSON.parse(await text(response)) as Echo;
    assert.deepEqual(
      [seen.url, seenField(seen, 'host'), seenField(seen, 'x-forwarded-host')],
      ['/x?y', domain, domain],
    );
    const { status, head } = await visit(plain, { host: domain, target: '/x?y' });
    const location = head.field('location')?.replace(`:${port}`, '');
    assert.deepEqual([status, location], [308, `https://${domain}/x?y`]);
    const stranger = `not.${domain}`;
    await assert.rejects(get('/', { host: stranger }, stranger), isTlsError);
  });
});

/** The proxy has no certificate for the name: it rejects the handshake or presents one for another name. */
function isTlsError(error: Error): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return code === 'EPROTO' || code.startsWith('ERR_SSL_') || code === 'ERR_TLS_CERT_ALTNAME_INVALID';
}
