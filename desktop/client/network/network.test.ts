import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import {
  startProxy,
  CERTIFICATE,
  closedPort,
  closeServers,
  startTcp,
  startTls,
} from '../../testing/servers.ts';
import { parseRelayAddress } from '../relay/relay-address.ts';
import { Network, parseNoProxy } from './network.ts';
import type { NetworkSettings } from './proxy-dial.ts';

const ca = CERTIFICATE;

/** Connects to a relay, under a name for which a proxy is used. */
function connect(settings: NetworkSettings, url: string, address?: string): Promise<Socket> {
  return new Promise((connected, failed) => {
    new Network(settings).connect(parseRelayAddress(url), { address }, { connected, failed });
  });
}

async function greeting(socket: Socket): Promise<string> {
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return bytes.toString();
}

const hello = (socket: Socket): void =>
  void socket.on('data', (bytes) => socket.end(`hello ${String(bytes)}`));

/** Sends something, since with TLS and HTTP the client speaks first. */
async function ask(socket: Socket): Promise<string> {
  socket.write('you');
  return greeting(socket);
}

describe('Network', () => {
  afterEach(closeServers);

  it('connects directly', async () => {
    const port = await startTcp(hello);
    assert.equal(await ask(await connect({}, `http://localhost:${port}`)), 'hello you');
  });

  it('uses the given address, and checks the certificate for the name', async () => {
    const port = await startTls(hello);
    assert.equal(await ask(await connect({ ca }, `https://localhost:${port}`, '127.0.0.1')), 'hello you');
    await assert.rejects(connect({ ca }, `https://relay.test:${port}`, '127.0.0.1'), {
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  it('trusts no authorities but the given ones', async () => {
    const port = await startTls(hello);
    await assert.rejects(connect({}, `https://localhost:${port}`), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    assert.equal(await ask(await connect({ ca }, `https://127.0.0.1:${port}`)), 'hello you');
  });

  it('never reaches this machine through a proxy', async () => {
    const port = await startTcp(hello);
    const proxy = `http://127.0.0.1:${await closedPort()}`;
    assert.equal(await ask(await connect({ httpProxy: proxy }, `http://127.0.0.1:${port}`)), 'hello you');
    const network = new Network({ httpProxy: proxy });
    assert.equal(network.proxyFor(parseRelayAddress('http://localhost')), undefined);
    assert.equal(network.proxyFor(parseRelayAddress('http://relay.test')), proxy.slice('http://'.length));
    assert.equal(network.proxyFor(parseRelayAddress('https://relay.test')), undefined);
  });

  it('fails for a proxy that it cannot use only if it would use it', async () => {
    const port = await startTcp(hello);
    const settings = { httpProxy: 'socks5://p:1', httpProxyFrom: 'ALL_PROXY' };
    assert.equal(await ask(await connect(settings, `http://127.0.0.1:${port}`)), 'hello you');
    assert.throws(
      () => new Network(settings).proxyFor(parseRelayAddress('http://relay.test')),
      /ALL_PROXY is not a valid proxy address/,
    );
    await assert.rejects(connect(settings, 'http://relay.test'), /ALL_PROXY is not a valid/);
  });

  describe('through a proxy', () => {
    it('lets the proxy look up the name, and sends it the credentials of its address', async () => {
      const port = await startTcp(hello);
      const proxy = await startProxy((authorization) =>
        authorization === 'Basic dTpw' ? undefined : 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
      );
      const url = `http://relay.test:${port}`;
      const at = (user: string): NetworkSettings => ({ httpProxy: `http://${user}127.0.0.1:${proxy.port}` });
      assert.equal(await ask(await connect(at('u:p@'), url, '127.0.0.9')), 'hello you');
      assert.deepEqual(proxy.asked, [{ authority: `relay.test:${port}`, authorization: 'Basic dTpw' }]);
      await assert.rejects(connect(at(''), url), /requires a login: .*http:\/\/user:password@127/);
      await assert.rejects(connect(at('u:x@'), url), /rejected the user name or password/);
    });

    it('speaks TLS to the relay, which the proxy cannot impersonate', async () => {
      const port = await startTls(hello);
      const proxy = await startProxy();
      const settings = { httpsProxy: `http://127.0.0.1:${proxy.port}` };
      // The certificate is for localhost.
      const error = { code: 'ERR_TLS_CERT_ALTNAME_INVALID' };
      await assert.rejects(connect({ ...settings, ca }, `https://relay.test:${port}`), error);
      await assert.rejects(connect(settings, `https://relay.test:${port}`), { code: /SELF_SIGNED/ });
    });

    it('supports a proxy with TLS, and closes its connection', async () => {
      const closed: Promise<unknown>[] = [];
      const port = await startTcp((socket) => {
        closed.push(once(socket, 'close'));
        hello(socket);
      });
      const proxy = await startProxy(undefined, startTls);
      const settings = { ca, httpProxy: `https://localhost:${proxy.port}` };
      const socket = await connect(settings, `http://relay.test:${port}`);
      assert.equal(await ask(socket), 'hello you');
      await Promise.all(closed);
    });

    const refused = /^the proxy 127\.0\.0\.1:\d+ refused a connection to relay.* with status 403/;
    for (const [name, answer, message] of [
      ['refuses', 'HTTP/1.1 403 Forbidden\r\n\r\n', refused],
      ['asks for a login on a page', 'HTTP/1.1 407 No\r\nContent-Length: 5\r\n\r\nLogin', /requires a login/],
      ['refuses with a page', 'HTTP/1.1 503 No\r\n\r\n<h1>Sorry</h1>', /with status 503/],
      ['sends a page', 'HTTP/1.1 200 OK\r\n\r\n<h1>', /is not an HTTP proxy/],
      ['is not a proxy', 'SSH-2.0\r\n\r\n', /is not an HTTP proxy/],
      ['answers without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`, /is not an HTTP proxy/],
      ['closes', '\r', /closed the connection|is not an HTTP proxy/],
      ['is not running', undefined, /proxy .* cannot be reached: nothing is listening/],
    ] as const)
      it(`fails when it ${name}`, async () => {
        const port = answer === undefined ? await closedPort() : (await startProxy(() => answer)).port;
        const settings = { httpProxy: `http://127.0.0.1:${port}` };
        await assert.rejects(connect(settings, 'http://relay.test'), { message });
      });

    for (const secure of [false, true]) {
      it(`disconnects from a proxy that hangs${secure ? ' within TLS' : ''} when the attempt is cancelled`, async () => {
        const hung = await startTcp(() => {});
        const ended: Promise<unknown>[] = [];
        const started = Promise.withResolvers<void>();
        const answer = (): string | undefined => {
          started.resolve();
          return secure ? undefined : '';
        };
        const proxy = await startProxy(answer, (onConnection) =>
          startTcp((socket) => {
            ended.push(once(socket, 'close'));
            onConnection(socket);
          }),
        );
        const address = `http://127.0.0.1:${proxy.port}`;
        const network = new Network(secure ? { httpsProxy: address } : { httpProxy: address });
        const relay = parseRelayAddress(`${secure ? 'https' : 'http'}://relay.test:${hung}`);
        const silent = { connected: () => assert.fail(), failed: () => assert.fail() };
        const attempt = network.connect(relay, {}, silent);
        await started.promise;
        attempt.cancel();
        await Promise.all(ended);
      });
    }
  });
});

describe('parseNoProxy', () => {
  const rows: readonly [isDirect: boolean, text: string, host: string, port: number][] = [
    [true, '', 'localhost', 80],
    [true, '', 'relay.localhost', 80],
    [true, '', '127.0.0.1', 80],
    [true, '', '127.8.9.10', 80],
    [true, '', '::1', 80],
    [true, '*', 'relay.example.com', 443],
    [true, 'example.com', 'example.com', 443],
    [true, 'example.com', 'relay.example.com', 443],
    [true, '.example.com', 'relay.example.com', 443],
    [true, '*.example.com', 'relay.example.com', 443],
    [true, 'Example.COM', 'Relay.example.com', 443],
    [true, 'other.com, example.com', 'example.com', 443],
    [true, 'other.com example.com', 'example.com', 443],
    [true, 'example.com:443', 'example.com', 443],
    [true, '10.0.0.1', '10.0.0.1', 443],
    [true, '10.0.0.0/8', '10.1.2.3', 443],
    [true, '2001:db8::1', '2001:db8::1', 443],
    [true, '[2001:db8::1]:443', '2001:db8::1', 443],
    [true, '2001:db8::/32', '2001:db8::5', 443],
    [false, '', 'relay.example.com', 443],
    [false, '', 'localhost.example.com', 443],
    [false, '', '128.0.0.1', 443],
    [false, 'example.com', 'badexample.com', 443],
    [false, 'example.com:8443', 'example.com', 443],
    [false, '10.0.0.0/8', '11.1.2.3', 443],
    [false, '10.0.0.0/99', '10.1.2.3', 443],
    [false, 'not an address/8', '10.1.2.3', 443],
  ];
  for (const [isDirect, text, host, port] of rows)
    it(`reaches ${host}:${port} ${isDirect ? 'directly' : 'through the proxy'} with "${text}"`, () =>
      assert.equal(parseNoProxy(text)(host, port), isDirect));
});
