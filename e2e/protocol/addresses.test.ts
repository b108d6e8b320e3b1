import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Relay, spawnCulvert } from '../support/programs.ts';
import { RawConnection, type Response, visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { type Echo, readEcho, startEchoService } from '../support/services/echo.ts';
import type { HttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

function assertUnknown(answer: Response): void {
  assert.deepEqual([answer.status, answer.head.field('culvert-error')], [404, 'tunnel-unknown']);
}

describe('the addresses of a tunnel (protocol.md section 4.1)', () => {
  const { scope, relay } = relaySuite();
  let service: HttpService;
  let acme: TestAccount;
  let slug: string;

  before(async () => {
    service = await startEchoService(scope);
    [acme] = await Promise.all([
      createAccount(relay, { subdomain: 'acme' }),
      createAccount(relay, { subdomain: 'other' }),
    ]);
    const request = { local_port: service.port, name: 'shop' };
    ({ slug } = (await SpecClient.start(scope, relay, acme.key, request)).tunnel);
  });

  async function get(host: string, target = '/'): Promise<Response> {
    return await visit(relay.port, { host, target });
  }

  async function seen(host: string, target: string): Promise<Echo> {
    return readEcho(await get(host, target));
  }

  describe('the subdomain and the account subdomain', () => {
    it('reach the tunnel, and no other host does', async () => {
      for (const host of ['shop.localhost', `SHOP.LocalHost.:${relay.port}`, 'Shop.ACME.localhost.:1'])
        assert.equal((await seen(host, '/a/b?c=d')).url, '/a/b?c=d', host);
      for (const host of ['nobody.localhost', 'acme.localhost', 'shop.other.localhost', 'x.shop.localhost'])
        assertUnknown(await get(host));
    });

    it('forward the path unchanged, even one that looks like the path form', async () => {
      for (const target of ['/t/other', '/v1/tunnels', '/healthz', '/ws/data?id=1', '//x/../y;z=%2F?%20']) {
        const echo = await seen('shop.localhost', target);
        assert.equal(echo.url, target);
      }
    });

    it('give an account without a subdomain no third form', async () => {
      const plain = await createAccount(relay);
      const tunnel = await plain.api.create({ local_port: service.port, name: 'plain-one' });
      assert.deepEqual(Object.keys(tunnel.urls).sort(), ['path', 'subdomain']);
      assertUnknown(await get('plain-one.acme.localhost'));
    });
  });

  describe('the path', () => {
    it('is forwarded without its prefix, and unchanged otherwise', async () => {
      for (const [target, handedOn] of [
        ['/t/shop', '/'],
        ['/t/shop?x=y', '/?x=y'],
        ['/t/shop/../%2e%2e//%2F', '/../%2e%2e//%2F'],
        ['/t/shop/v1/tunnels', '/v1/tunnels'],
      ] as const)
        assert.equal((await seen(`localhost:${relay.port}`, target)).url, handedOn);
    });

    it('is of no tunnel, or not of this form, if it is spelled differently', async () => {
      for (const target of ['/t/shopx', '/t/SHOP', '/t/shop%2Fx', '/t/nobody'])
        assertUnknown(await get(`localhost:${relay.port}`, target));
      for (const target of ['/T/shop', '//t/shop', '/x/../t/shop', '/%74/shop']) {
        const { status, text } = await get(`localhost:${relay.port}`, target);
        assert.deepEqual([status, JSON.parse(text)], [404, { error: 'not found', code: 'not-found' }]);
      }
    });
  });

  describe("the relay's own addresses", () => {
    it('are all that are not below the tunnel domain', async () => {
      for (const host of [
        'LOCALHOST.:1',
        '127.0.0.1',
        `[::1]:${relay.port}`,
        'example.com',
        'shop.xlocalhost',
      ])
        assert.equal((await get(host, '/healthz')).status, 200, host);
    });

    it('an HTTP/1.0 request without Host is for the relay', async () => {
      const connection = await RawConnection.open(scope, relay.port);
      await connection.write('GET /healthz HTTP/1.0\r\n\r\n');
      assert.equal((await connection.response()).status, 200);
      assert.equal(await connection.ending, 'end');
    });

    it('an HTTP/1.0 request reaches the path form only with a Host', async () => {
      for (const [field, status] of [
        ['', 421],
        ['Host: localhost\r\n', 200],
      ] as const) {
        const connection = await RawConnection.open(scope, relay.port);
        await connection.write(`GET /t/shop/old HTTP/1.0\r\n${field}\r\n`);
        assert.equal((await connection.response()).status, status);
      }
    });
  });

  describe('the tunnel object', () => {
    it('prefers the account subdomain for the public URL', async () => {
      const [tunnel] = await acme.api.list();
      assert.deepEqual(tunnel?.urls, {
        subdomain: `http://${slug}.localhost:${relay.port}`,
        path: `http://localhost:${relay.port}/t/${slug}`,
        account: `http://${slug}.acme.localhost:${relay.port}`,
      });
      assert.equal(tunnel?.public_url, tunnel?.urls.account);
    });
  });

  describe('for a relay without the path form', () => {
    let other: Relay;
    let account: TestAccount;
    let tunnel: Tunnel;

    before(async () => {
      other = await Relay.start(scope, { CULVERT_PATH_FORM: 'off' });
      account = await createAccount(other);
      // A client written from protocol.md alone.
      ({ tunnel } = await SpecClient.start(scope, other, account.key, {
        local_port: service.port,
        name: 'shop',
      }));
    });

    it('are only the other two', async () => {
      const [{ urls, public_url } = tunnel] = await account.api.list();
      assert.deepEqual(urls, { subdomain: `http://shop.localhost:${other.port}` });
      assert.equal(public_url, urls.subdomain);
      assert.equal((await visit(other.port, { host: 'shop.localhost', target: '/t/shop/' })).status, 200);
    });

    it('are not a fault for culvert doctor', async () => {
      for (const target of ['/t/shop', '/t/shop/x?y'])
        assertUnknown(await visit(other.port, { host: 'localhost', target }));
      const environment = { CULVERT_RELAY: other.url, CULVERT_API_KEY: account.key };
      const child = spawnCulvert(scope, ['doctor', '--json', String(service.port)], environment);
      const { code } = await child.exit();
      const results = child.lines.map((line) => JSON.parse(line) as { hop: string; result: string });
      assert.equal(code, 0);
      assert.equal(results.find(({ hop }) => hop === 'data')?.result, 'skipped');
      assert.equal(results.find(({ hop }) => hop === 'address')?.result, 'ok');
    });
  });

  describe('custom domains of the operator', () => {
    let other: Relay;
    let customer: TestAccount;

    before(async () => {
      other = await Relay.start(scope, {
        CULVERT_PUBLIC_URL: 'https://relay.example:8443',
        CULVERT_TUNNEL_DOMAIN: 'tunnels.example',
        CULVERT_SERVICE_DOMAIN: 'service.example',
      });
      customer = await createAccount(other, { subdomain: 'acme' });
      await SpecClient.start(scope, other, customer.key, { local_port: service.port, name: 'shop' });
    });

    it('have the scheme and port of the public URL in every address', async () => {
      const [tunnel] = await customer.api.list();
      assert.deepEqual(tunnel?.urls, {
        subdomain: 'https://shop.tunnels.example:8443',
        path: 'https://relay.example:8443/t/shop',
        account: 'https://shop.acme.service.example:8443',
      });
    });

    it('route requests', async () => {
      const statuses: [host: string, status: number][] = [
        ['shop.tunnels.example', 200],
        ['shop.acme.service.example', 200],
        ['shop.acme.tunnels.example', 404],
        ['shop.service.example', 404],
        ['acme.service.example', 404],
      ];
      for (const [host, status] of statuses) {
        assert.equal((await visit(other.port, { host })).status, status, host);
      }
      assert.equal((await visit(other.port, { host: 'relay.example', target: '/t/shop/' })).status, 200);
      assert.equal((await visit(other.port, { host: 'relay.example', target: '/healthz' })).status, 200);
    });

    describe('at any other host', () => {
      it('is the API, but no tunnel, page or invitation', async () => {
        for (const host of ['shop.customer.example', 'elsewhere.org:443', '203.0.113']) {
          assert.equal((await visit(other.port, { host, target: '/healthz' })).status, 200);
          assert.equal((await visit(other.port, { host, target: '/v1/tunnels' })).status, 401);
          for (const target of ['/t/shop/', '/t/nobody/', '/?x', `/invite/${'x'.repeat(32)}`]) {
            const { status, head, text } = await visit(other.port, { host, target });
            assert.deepEqual([status, head.field('culvert-error')], [421, 'misdirected'], target);
            assert.equal((JSON.parse(text) as { code: string }).code, 'misdirected');
          }
        }
      });

      it('shows people a page that explains it', async () => {
        const headers: [string, string][] = [['Accept', 'text/html,*/*;q=0.8']];
        const { status, head, text } = await visit(other.port, { host: 'elsewhere.org', headers });
        assert.deepEqual([status, head.field('culvert-error')], [421, 'misdirected']);
        assert.match(head.field('content-type') ?? '', /^text\/html/);
        assert.match(text, /Unknown host name/);
      });

      it('continues with the next request of the connection', async () => {
        const connection = await RawConnection.open(scope, other.port);
        assert.equal((await connection.request({ host: 'elsewhere.org', target: '/t/shop/' })).status, 421);
        assert.equal((await connection.request({ host: 'relay.example', target: '/t/shop/' })).status, 200);
      });

      it('responds the same to an HTTP/1.0 request without Host', async () => {
        const answers: number[] = [];
        for (const target of ['/t/shop/', '/', '/healthz']) {
          const connection = await RawConnection.open(scope, other.port);
          await connection.write(`GET ${target} HTTP/1.0\r\n\r\n`);
          answers.push((await connection.response()).status);
        }
        assert.deepEqual(answers, [421, 421, 200]);
      });
    });

    it('also have the path form at IP addresses and local names', async () => {
      for (const host of ['127.0.0.1', '[::1]:8443', 'localhost', 'app.localhost', 'intranet'])
        assert.equal((await visit(other.port, { host, target: '/t/shop/' })).status, 200, host);
    });
  });
});
