import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { DnsServer } from '../../server/testing/dns-server.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount, withNewKey } from '../support/accounts.ts';
import { KnockOwner, mustKnock } from '../support/approvals.ts';
import { eventually } from '../support/deadline.ts';
import { bringDomain, claimDomain, verifyDomain } from '../support/dns-servers.ts';
import { Relay } from '../support/programs.ts';
import { type Field, type Response, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { ControlSocket, SpecClient } from '../support/spec-client/client.ts';

/** ms within which all relays know of a change. */
const KNOWN_MS = 30_000;

describe('custom domains (protocol.md section 12)', () => {
  const scope = suiteScope();
  let dns: DnsServer;
  let relay: Relay;
  let service: HttpService;
  let account: TestAccount;
  let names = 0;
  /** different for each test */
  let domain: string;
  /** the last request of the local service */
  let seen: IncomingMessage | undefined;

  before(async () => {
    dns = await DnsServer.start();
    scope.defer(() => dns.stop());
    relay = await Relay.start(scope, { CULVERT_RESOLVER: dns.address });
    service = await startHttpService(scope, (request, response) => {
      seen = request;
      response.setHeader('Set-Cookie', ['a=1; Domain=shop.test; Path=/x', 'b=2']);
      request.resume().on('end', () => response.end('from the service'));
    });
  });

  beforeEach(async () => {
    account = await createAccount(relay);
    names += 1;
    domain = `app${names}.shop.test`;
  });

  function ask(target = '/', headers: readonly Field[] = [], host = domain): Promise<Response> {
    return visit(relay.port, { host, target, headers });
  }

  /** Waits until all relays know the domain. */
  async function askUntil(status: number, code?: string): Promise<Response> {
    return await eventually(KNOWN_MS, async () => {
      const response = await ask();
      assert.deepEqual([response.status, response.head.field('culvert-error')], [status, code]);
      return response;
    });
  }

  async function serve(fields: object = {}): Promise<SpecClient> {
    return await SpecClient.start(scope, relay, account.key, { local_port: service.port, domain, ...fields });
  }

  it('are served by a tunnel once they are verified, on every path', async () => {
    await bringDomain(account, dns, domain);
    await askUntil(503, 'domain-offline');
    const { tunnel } = await serve();
    assert.equal(tunnel.public_url, `http://${domain}:${relay.port}`);
    assert.equal(tunnel.urls.domain, tunnel.public_url);
    assert.equal((await askUntil(200)).text, 'from the service');
    for (const target of ['/v1/tunnels', '/t/x/', '/healthz', '/ws/control?tunnel_id=1']) {
      assert.equal((await ask(target)).text, 'from the service', target);
      assert.equal(seen?.url, target);
    }
    assert.equal((await ask('/', [], `${domain.toUpperCase()}.:${relay.port}`)).text, 'from the service');
    assert.equal((await ask('/', [], `${tunnel.slug}.localhost`)).text, 'from the service');
  });

  it('reach the local service with the requested host, and with cookies for that host alone', async () => {
    await bringDomain(account, dns, domain);
    await serve();
    await askUntil(200);
    const { head } = await ask('/y?z', [['X-Forwarded-Host', 'forged.test']], `${domain}:81`);
    const { host, 'x-forwarded-host': forwarded, 'x-forwarded-prefix': prefix } = seen?.headers ?? {};
    assert.deepEqual([host, forwarded, prefix], [`${domain}:81`, `${domain}:81`, undefined]);
    assert.deepEqual(head.all('set-cookie'), ['a=1; Path=/x', 'b=2']);
  });

  it('are answered by the relay until they are verified', async () => {
    const claim = await claimDomain(account, domain);
    assert.equal((await ask('/healthz')).status, 200);
    const { status, json } = await account.api.send('POST', '/v1/tunnels', {
      json: { local_port: service.port, domain },
    });
    assert.deepEqual([status, (json as { code: string }).code], [409, 'domain-not-verified']);
    const { checks } = await verifyDomain(account, claim);
    assert.deepEqual(
      checks.map(({ what, ok, problem }) => [what, ok, problem]),
      [
        ['address', false, `No record points ${domain} to this relay.`],
        ['proof', false, `There is no TXT record _culvert.${domain}.`],
      ],
    );
  });

  it('report what is wrong with their DNS', async () => {
    const claim = await claimDomain(account, domain);
    dns.set(`*.${domain}`, 'TXT', 'some wildcard');
    dns.set(domain, 'A', '203.0.113.7');
    const wildcard = await verifyDomain(account, claim);
    assert.deepEqual(
      wildcard.checks.map(({ found }) => found),
      [['203.0.113.7'], ['some wildcard']],
    );
    dns.fail(domain, 'SERVFAIL');
    dns.set(`_culvert.${domain}`, 'CNAME', `_other.${domain}`);
    dns.set(`_other.${domain}`, 'CNAME', `_culvert.${domain}`);
    const failing = await verifyDomain(account, claim);
    for (const { problem } of failing.checks) assert.match(problem, /SERVFAIL/);
    dns.clear(domain);
    dns.enter(claim.records);
    assert.equal((await verifyDomain(account, claim)).status, 'verified');
  });

  it('time out if their DNS does not answer', async () => {
    const claim = await claimDomain(account, domain);
    dns.enter(claim.records);
    dns.fail(`_culvert.${domain}`, 'silent');
    const { status, checks } = await verifyDomain(account, claim);
    assert.equal(status, 'pending');
    assert.match(checks[1]?.problem ?? '', /no DNS server responded in time/);
  });

  it('end their tunnel with 4004 when they are removed, and are answered by the relay again', async () => {
    const { id } = await bringDomain(account, dns, domain);
    const tunnel = await account.api.create({ local_port: service.port, domain });
    const control = await ControlSocket.open(scope, relay, account.key, tunnel.id);
    const { json } = await account.api.send('DELETE', `/v1/domains/${id}`);
    assert.deepEqual(json, { status: 'removed' });
    assert.equal((await control.closed).code, 4004);
    const { status } = await account.api.send('GET', `/v1/tunnels/${tunnel.id}`);
    assert.equal(status, 404);
    await eventually(KNOWN_MS, async () => assert.equal((await ask('/healthz')).status, 200));
    await eventually(KNOWN_MS, () => assert.match(relay.child.stderr, /tunnel displaced/));
  });

  it('move to another account that verifies them once the previous proof is gone', async () => {
    const { id } = await bringDomain(account, dns, domain);
    const tunnel = await account.api.create({ local_port: service.port, domain });
    const control = await ControlSocket.open(scope, relay, account.key, tunnel.id);
    const other = await createAccount(relay);
    const early = await other.api.send('POST', '/v1/domains', { json: { domain } });
    assert.deepEqual([early.status, (early.json as { code: string }).code], [409, 'domain-taken']);
    dns.clear(domain);
    await bringDomain(other, dns, domain);
    assert.equal((await control.closed).code, 4004);
    for (const path of [`/v1/domains/${id}`, `/v1/tunnels/${tunnel.id}`])
      assert.equal((await account.api.send('GET', path)).status, 404);
    await SpecClient.start(scope, relay, other.key, { local_port: service.port, domain });
    await askUntil(200);
  });

  it('are known after a restart, and so are their tunnels', async () => {
    await bringDomain(account, dns, domain);
    const lonely = `lonely.${domain}`;
    await bringDomain(account, dns, lonely);
    await serve();
    await askUntil(200);
    await relay.stop();
    await relay.restart();
    await askUntil(200);
    const { head } = await ask('/', [], lonely);
    assert.equal(head.field('culvert-error'), 'domain-offline');
  });

  it('have one tunnel at a time', async () => {
    await bringDomain(account, dns, domain);
    const first = await account.api.create({ local_port: service.port, domain });
    const again = async ({ api }: TestAccount) => {
      const { status, json } = await api.send('POST', '/v1/tunnels', { json: { local_port: 1, domain } });
      return `${status} ${(json as { code?: string }).code}`;
    };
    assert.equal(await again(account), '409 domain-in-use');
    assert.equal(await again(await createAccount(relay)), '404 domain-not-found');
    await account.api.close(first.id);
    assert.equal(await again(account), '201 undefined');
  });

  it('admit programs with a token like any other address', async () => {
    await bringDomain(account, dns, domain);
    const { tunnel } = await serve({ access: { tokens: [{ name: 'ci' }] } });
    await askUntil(401, 'access-required');
    const token = tunnel.access.tokens?.[0]?.token ?? '';
    assert.equal((await ask('/mcp', [['Authorization', `Bearer ${token}`]])).text, 'from the service');
    assert.deepEqual(
      [seen?.headers['culvert-visitor'], seen?.headers.authorization],
      ['token:ci', undefined],
    );
    assert.equal((await ask('/.well-known/oauth-protected-resource')).status, 404);
  });

  it('support approval requests like any other address', async () => {
    await bringDomain(account, dns, domain);
    const access = { knock: true };
    const tunnel = await account.api.create({ local_port: service.port, domain, access });
    const owner = await KnockOwner.open(scope, relay, account.key, tunnel.id);
    owner.serve(scope, relay, service.port);
    const cookie = await mustKnock({ port: relay.port, host: domain });
    const { id } = await owner.hears();
    assert.equal((await ask('/', [cookie])).status, 401);
    await owner.answer(id, true);
    assert.equal((await ask('/', [cookie])).text, 'from the service');
    assert.equal(seen?.headers['culvert-visitor'], 'knock');
    assert.equal((await ask()).status, 401);
    await owner.answer(id, false);
    assert.equal((await ask('/', [cookie])).status, 401);
  });

  it('stay with their tunnel when it is taken over', async () => {
    await bringDomain(account, dns, domain);
    const other = `other.${domain}`;
    await bringDomain(account, dns, other);
    const name = `shop${names}`;
    const wanted = { local_port: service.port, name, take_over: true };
    const send = (json: object) => account.api.send('POST', '/v1/tunnels', { json });
    const made = await send({ ...wanted, domain });
    assert.equal(made.status, 201);
    const refused = await send({ ...wanted, domain: other });
    assert.deepEqual([refused.status, (refused.json as { code: string }).code], [409, 'domain-fixed']);
    for (const fields of [wanted, { ...wanted, domain }]) {
      const { status, json } = await send(fields);
      assert.deepEqual([status, json], [200, { ...(json as object), ...idAndUrls(made.json as Tunnel) }]);
    }
  });

  it('can be used by keys for one tunnel, which neither see nor change any domain', async () => {
    const { id } = await bringDomain(account, dns, domain);
    const name = `only${names}`;
    const { api } = await withNewKey(relay, account, '--name', name);
    const { urls } = await api.create({ local_port: service.port, name, domain });
    assert.equal(urls.domain, `http://${domain}:${relay.port}`);
    const claim = { json: { domain: `more.${domain}` } };
    const refused = await Promise.all([
      api.send('GET', '/v1/domains'),
      api.send('GET', `/v1/domains/${id}`),
      api.send('POST', '/v1/domains', claim),
      api.send('POST', `/v1/domains/${id}/verify`),
      api.send('DELETE', `/v1/domains/${id}`),
    ]);
    for (const { status, json } of refused)
      assert.deepEqual([status, (json as { code: string }).code], [403, 'key-scope']);
    assert.equal((await account.api.send('GET', `/v1/domains/${id}`)).status, 200);
  });

  it('deny visitors without access, and do not forward what authorized them', async () => {
    await bringDomain(account, dns, domain);
    const { tunnel } = await serve({ access: { links: true, basic: [{ user: 'ann', password: 'secret' }] } });
    await askUntil(401, 'access-required');
    const { json } = await account.api.send('POST', `/v1/tunnels/${tunnel.id}/links`, { json: {} });
    const url = new URL((json as { url: string }).url);
    assert.equal(url.host, `${domain}:${relay.port}`);
    const followed = await ask(url.pathname + url.search, [['Sec-Fetch-Mode', 'navigate']]);
    const [cookie = ''] = followed.head.all('set-cookie');
    assert.deepEqual([followed.status, followed.head.field('location')], [303, '/']);
    assert.match(cookie, /^culvert-pass=[^;]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/);
    const pass: Field = ['Cookie', cookie.split(';', 1)[0] ?? ''];
    assert.equal((await ask('/', [pass])).text, 'from the service');
    assert.equal(seen?.headers.cookie, undefined);
    const basic = Buffer.from('ann:secret').toString('base64');
    assert.equal((await ask('/', [['Authorization', `Basic ${basic}`]])).text, 'from the service');
  });
});

function idAndUrls({ id, urls, public_url }: Tunnel): Pick<Tunnel, 'id' | 'urls' | 'public_url'> {
  return { id, urls, public_url };
}
