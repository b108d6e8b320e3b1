import assert from 'node:assert/strict';
import { DnsServer } from '../../server/testing/dns-server.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { type ApiResponse, assertError } from '../support/api.ts';
import { eventually } from '../support/deadline.ts';
import { bringDomain, claimDomain, verifyDomain } from '../support/dns-servers.ts';
import { Relay } from '../support/programs.ts';
import { type Response, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { ControlSocket, SpecClient } from '../support/spec-client/client.ts';

/** ms within which all relays know of a change. */
const KNOWN_MS = 30_000;

describe('domains for all hosts of a tunnel (protocol.md sections 4.7 and 12)', () => {
  const scope = suiteScope();
  let dns: DnsServer;
  let relay: Relay;
  let service: HttpService;
  let account: TestAccount;
  let names = 0;
  /** different for each test */
  let base: string;
  let domain: string;

  before(async () => {
    dns = await DnsServer.start();
    scope.defer(() => dns.stop());
    relay = await Relay.start(scope, { CULVERT_RESOLVER: dns.address });
    service = await startHttpService(scope, (request, response) => {
      response.setHeader('Set-Cookie', `a=1; Domain=${base}`);
      response.end(request.headers.host);
    });
  });

  beforeEach(async () => {
    account = await createAccount(relay);
    names += 1;
    base = `shop${names}.test`;
    domain = `*.${base}`;
  });

  async function known(host: string): Promise<number> {
    const target = `/v1/ask?domain=${host}`;
    return (await visit(relay.port, { host: `localhost:${relay.port}`, target })).status;
  }

  function ask(host: string): Promise<Response> {
    return visit(relay.port, { host });
  }

  /** Waits until all relays know the domain. */
  async function askUntil(host: string, status: number, code?: string): Promise<Response> {
    return await eventually(KNOWN_MS, async () => {
      const response = await ask(host);
      assert.deepEqual([response.status, response.head.field('culvert-error')], [status, code]);
      return response;
    });
  }

  async function create(fields: object, owner = account): Promise<ApiResponse> {
    return await owner.api.send('POST', '/v1/tunnels', { json: { local_port: 9, ...fields } });
  }

  async function serve(fields: object): Promise<SpecClient> {
    return await SpecClient.start(scope, relay, account.key, { local_port: service.port, ...fields });
  }

  it('are proven once, and checked in the DNS', async () => {
    const claim = await claimDomain(account, `*.${base.toUpperCase()}.`);
    assert.deepEqual(
      claim.records.map(({ type, name }) => [type, name]),
      [
        ['CNAME', domain],
        ['TXT', `_culvert.${base}`],
      ],
    );
    const { checks } = await verifyDomain(account, claim);
    assert.deepEqual(
      checks.map(({ problem }) => problem),
      [`No record points ${domain} to this relay.`, `There is no TXT record _culvert.${base}.`],
    );
    dns.enter(claim.records);
    assert.equal((await verifyDomain(account, claim)).status, 'verified');
  });

  it('are served below the domain, one label deep, with cookies for each host', async () => {
    await bringDomain(account, dns, domain);
    await askUntil(`a.${base}`, 503, 'domain-offline');
    const { tunnel } = await serve({ domain, wildcard: true, name: `many${names}` });
    assert.equal(tunnel.wildcard, true);
    assert.equal(tunnel.urls.wildcard, `http://${domain}:${relay.port}`);
    assert.equal(tunnel.urls.domain, undefined);
    assert.equal(tunnel.public_url, `http://many${names}.localhost:${relay.port}`);
    for (const host of [`a.${base}`, `A-1.${base.toUpperCase()}.:81`, `x--many${names}.localhost`]) {
      const answer = await askUntil(host, 200);
      assert.equal(answer.text, host);
      assert.deepEqual(answer.head.all('set-cookie'), ['a=1']);
    }
    for (const host of [base, `b.a.${base}`, `xn--a.${base}`, `a_b.${base}`])
      assert.equal((await ask(host)).head.field('culvert-error'), 'misdirected', host);
  });

  it('make a tunnel a wildcard one, which `false` contradicts', async () => {
    await bringDomain(account, dns, domain);
    const refused = await create({ domain, wildcard: false });
    assert.deepEqual([refused.status, (refused.json as { code: string }).code], [400, 'invalid-domain']);
    const { json } = await create({ domain });
    assert.equal((json as { wildcard: boolean }).wildcard, true);
    const second = await create({ domain });
    assert.deepEqual([second.status, (second.json as { code: string }).code], [409, 'domain-in-use']);
  });

  it('leave a single host to the tunnel that has it as its domain, also of another account', async () => {
    const other = await createAccount(relay);
    await bringDomain(account, dns, domain);
    const claim = await bringDomain(other, dns, `app.${base}`);
    await serve({ domain });
    await askUntil(`other.${base}`, 200);
    await askUntil(`app.${base}`, 503, 'domain-offline');
    const one = { local_port: service.port, domain: `app.${base}` };
    await SpecClient.start(scope, relay, other.key, one);
    await askUntil(`app.${base}`, 200);
    await other.api.send('DELETE', `/v1/domains/${claim.id}`);
    assert.equal((await askUntil(`app.${base}`, 200)).text, `app.${base}`);
  });

  it('also serve a single host of the same account that has no tunnel of its own', async () => {
    await bringDomain(account, dns, domain);
    await bringDomain(account, dns, `app.${base}`);
    await serve({ domain });
    await askUntil(`app.${base}`, 200);
  });

  it('end their tunnel with 4004 when they are removed', async () => {
    const { id } = await bringDomain(account, dns, domain);
    const tunnel = await account.api.create({ local_port: service.port, domain });
    const control = await ControlSocket.open(scope, relay, account.key, tunnel.id);
    await account.api.send('DELETE', `/v1/domains/${id}`);
    assert.equal((await control.closed).code, 4004);
    await askUntil(`a.${base}`, 421, 'misdirected');
  });

  it('cannot contain the relay itself, or be a public suffix', async () => {
    for (const taken of ['*.localhost', '*.x.localhost']) {
      const { status } = await account.api.send('POST', '/v1/domains', { json: { domain: taken } });
      assert.ok(status === 409 || status === 400, taken);
    }
    for (const suffix of ['*.co.uk', '*.github.io', '*.com']) {
      const { status } = await account.api.send('POST', '/v1/domains', { json: { domain: suffix } });
      assert.equal(status, 400, suffix);
    }
    const pending = await claimDomain(account, domain);
    assert.equal(pending.status, 'pending');
    assertError(
      await create({ domain }),
      409,
      'the domain is not verified yet: create its DNS records, then verify it',
    );
    const free = await createAccount(relay, { plan: 'free' });
    assert.equal((await create({ domain }, free)).status, 403);
  });

  it('are no hosts that proxies order certificates for', async () => {
    await bringDomain(account, dns, domain);
    await serve({ domain, name: `asked${names}` });
    await askUntil(`a.${base}`, 200);
    assert.equal(await known(`asked${names}.localhost`), 200);
    for (const host of [`a.${base}`, `x--asked${names}.localhost`]) assert.equal(await known(host), 404);
  });
});
