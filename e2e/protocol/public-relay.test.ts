import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import type { Relay } from '../support/programs.ts';
import { type Field, visit } from '../support/raw-http.ts';
import { relaySuite, sharedRelay } from '../support/relay-suite.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const BROWSER: Field = ['Accept', 'text/html,application/xhtml+xml,*/*;q=0.8'];

describe('a relay for users the operator does not know (docs/operating/public-relay.md)', () => {
  const { scope, relay } = relaySuite({
    CULVERT_ROBOTS: 'allow',
    CULVERT_ABUSE_CONTACT: 'https://example.com/report?a=1&b="2"',
    CULVERT_NOTICE: 'free',
  });

  async function startTunnel(at: Relay) {
    const service = await startHttpService(scope, (_request, response) => {
      response.writeHead(200, { 'X-Robots-Tag': 'all' }).end('ok');
    });
    const { key } = await createAccount(at);
    const { tunnel } = await SpecClient.start(scope, at, key, { local_port: service.port });
    return { host: hostOf(tunnel, at), slug: tunnel.slug };
  }

  it('keeps tunnels out of search engines in every form, even if their services allow indexing', async () => {
    const plain = await sharedRelay();
    const { host, slug } = await startTunnel(plain);
    for (const request of [{ host }, { host: `localhost:${plain.port}`, target: `/t/${slug}/` }]) {
      const { status, head } = await visit(plain.port, request);
      assert.deepEqual([status, head.all('x-robots-tag')], [200, ['all', 'noindex']]);
    }
    const own = await visit(plain.port, { host: `localhost:${plain.port}`, target: '/healthz' });
    assert.deepEqual(own.head.all('x-robots-tag'), []);
  });

  it('leaves that to the services with CULVERT_ROBOTS=allow', async () => {
    const { host } = await startTunnel(relay);
    assert.deepEqual((await visit(relay.port, { host })).head.all('x-robots-tag'), ['all']);
  });

  it('shows people where to complain on its pages, without changing responses for programs', async () => {
    const page = await visit(relay.port, { host: 'nobody.localhost', headers: [BROWSER] });
    assert.ok(page.text.includes('<a href="https://example.com/report?a=1&amp;b=%222%22">'), page.text);
    const refused = await visit(relay.port, { host: 'nobody.localhost', target: 'x', headers: [BROWSER] });
    assert.deepEqual([refused.status, refused.text.includes('Report abuse')], [400, true]);
    const { text } = await visit(relay.port, { host: 'nobody.localhost' });
    assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error', 'code']);
  });

  describe('with CULVERT_NOTICE=free', () => {
    const VISIT: Field[] = [BROWSER, ['Sec-Fetch-Mode', 'navigate'], ['Sec-Fetch-Site', 'none']];
    const CLICK: Field[] = [BROWSER, ['Sec-Fetch-Mode', 'navigate'], ['Sec-Fetch-Site', 'same-origin']];
    let service: HttpService;
    let account: TestAccount;
    let free: SpecClient;
    let dev: SpecClient;
    /** the last request of the local service */
    let seen: IncomingMessage | undefined;

    before(async () => {
      service = await startHttpService(scope, (request, response) => {
        seen = request;
        response.appendHeader('Set-Cookie', 'culvert-notice=1');
        response.appendHeader('set-cookie', ' __Host-culvert-notice=1; Secure; Path=/');
        response.appendHeader('Set-Cookie', 'mine=culvert-notice');
        response.end('ok');
      });
      account = await createAccount(relay, { plan: 'free' });
      free = await SpecClient.start(scope, relay, account.key, { local_port: service.port });
      dev = await SpecClient.start(scope, relay, relay.bootstrapKey, { local_port: service.port });
    });

    beforeEach(() => {
      seen = undefined;
    });

    async function visitFree(headers: Field[], target = '/', method = 'GET') {
      return await visit(relay.port, { host: hostOf(free.tunnel, relay), target, method, headers });
    }

    it('shows people a page before their first visit, which does not count for the tunnel', async () => {
      const { head, status, text } = await visitFree(VISIT);
      assert.deepEqual([status, head.field('culvert-error')], [403, 'notice']);
      assert.ok(text.includes(hostOf(free.tunnel, relay)), text);
      assert.equal(seen, undefined);
      const { requests } = await account.api.get(free.tunnel.id);
      assert.equal(requests, 0);
    });

    it('does not affect programs, other plans, forms or upgrades', async () => {
      for (const headers of [[], [BROWSER], [['Sec-Fetch-Mode', 'cors'] as Field]])
        assert.equal((await visitFree(headers)).text, 'ok');
      assert.equal((await visitFree(VISIT, '/', 'POST')).text, 'ok');
      const other = await visit(relay.port, { host: hostOf(dev.tunnel, relay), headers: VISIT });
      assert.equal(other.text, 'ok');
    });

    it('is gone after a click, which the local service neither sees nor can fake', async () => {
      const click = await visitFree(CLICK, '/x?culvert_notice=seen');
      assert.deepEqual([click.status, click.head.field('location'), seen], [303, '/x', undefined]);
      const [cookie = ''] = (click.head.field('set-cookie') ?? '').split(';');
      const page = await visitFree([...VISIT, ['Cookie', `a=1; ${cookie}; b=2`]], '/x');
      assert.deepEqual([page.status, page.text], [200, 'ok']);
      assert.equal(seen?.headers.cookie, 'a=1; b=2');
      assert.deepEqual(page.head.all('set-cookie'), ['mine=culvert-notice']);
    });

    it('does not come back after a restart', async () => {
      const click = await visitFree(CLICK, '/?culvert_notice=seen');
      const [cookie = ''] = (click.head.field('set-cookie') ?? '').split(';');
      await relay.stop();
      await relay.restart();
      await eventually(20_000, async () =>
        assert.equal((await visitFree([...VISIT, ['Cookie', cookie]])).text, 'ok'),
      );
    });
  });
});
