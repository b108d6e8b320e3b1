import assert from 'node:assert/strict';
import type { CheckedDomain, Domain } from '../../shared/domains.ts';
import {
  ACCOUNT_WRITES_MAX,
  DOMAIN_CALLS_BURST,
  DOMAIN_CALLS_PER_MINUTE,
  DOMAIN_LOOKS_MAX,
  DOMAIN_LOOKS_OF_ONE_MAX,
  OWN_ADDRESSES_MS,
} from '../limits.ts';
import { ApiFixture, type ApiResponse, anAccount } from '../testing/fixtures.ts';

describe('domains in the REST interface', () => {
  const ann = anAccount({ name: 'ann', plan: 'dev' });
  const bob = anAccount({ name: 'bob', plan: 'team' });
  const fred = anAccount({ name: 'fred', plan: 'free' });
  let api: ApiFixture;
  let keys: { ann: string; bob: string; fred: string };

  beforeEach(async () => {
    api = await ApiFixture.start(ann, bob, fred);
    keys = { ann: await api.keyOf(ann), bob: await api.keyOf(bob), fred: await api.keyOf(fred) };
  });

  afterEach(() => api.stop());

  function add(domain: unknown, key = keys.ann): Promise<ApiResponse> {
    return api.call('POST', '/v1/domains', { key, body: JSON.stringify({ domain }) });
  }

  async function added(domain: string, key = keys.ann): Promise<Domain> {
    const { status, body } = await add(domain, key);
    assert.equal(status, 201, JSON.stringify(body));
    return body as unknown as Domain;
  }

  /** Replaces the DNS records of a domain with these. */
  function enter({ domain, records }: Domain): void {
    for (const type of ['A', 'AAAA', 'CNAME']) api.dns.delete(`${domain} ${type}`);
    for (const { type, name, value } of records)
      api.dns.set(`${name} ${type}`, { kind: 'found', values: [value] });
  }

  function verify({ id }: Domain, key = keys.ann): Promise<ApiResponse> {
    return api.call('POST', `/v1/domains/${id}/verify`, { key });
  }

  async function verified(domain: string, key = keys.ann): Promise<Domain> {
    const claim = await added(domain, key);
    enter(claim);
    const { body } = await verify(claim, key);
    assert.equal(body['status'], 'verified', JSON.stringify(body));
    return claim;
  }

  function create(domain: unknown, key = keys.ann): Promise<ApiResponse> {
    return api.call('POST', '/v1/tunnels', { key, body: JSON.stringify({ local_port: 3000, domain }) });
  }

  it('lists the DNS records to create', async () => {
    const response = await add('App.Shop.Example.');
    const domain = response.body as unknown as Domain;
    assert.equal(response.headers.get('location'), `/v1/domains/${domain.id}`);
    const [address, proof] = domain.records;
    assert.deepEqual(address, { type: 'CNAME', name: 'app.shop.example', value: 'relay.example' });
    assert.equal(proof?.name, '_culvert.app.shop.example');
    assert.match(proof.value, /^culvert-verify=[0-9a-f]{32}$/);
    const { status, verified_at, failing_since, created_at, ends_at } = domain;
    assert.deepEqual([status, verified_at, failing_since], ['pending', null, null]);
    assert.equal(Date.parse(ends_at ?? '') - Date.parse(created_at), 30 * 24 * 3600_000);
  });

  it("shows the relay's addresses for a domain that cannot have a CNAME, and looks them up every 5 min", async () => {
    api.dns.set('relay.example A', { kind: 'found', values: ['192.0.2.1'] });
    api.dns.set('relay.example AAAA', { kind: 'found', values: ['2001:db8::1'] });
    const shop = await added('shop.example');
    assert.deepEqual(shop.records.slice(0, 2), [
      { type: 'A', name: 'shop.example', value: '192.0.2.1' },
      { type: 'AAAA', name: 'shop.example', value: '2001:db8::1' },
    ]);
    const records = async () => ((await added('shop.example')).records[0] ?? {}) as { value?: string };
    api.dns.set('relay.example A', { kind: 'found', values: ['192.0.2.2'] });
    assert.equal((await records()).value, '192.0.2.1');
    api.clock.advance(OWN_ADDRESSES_MS);
    assert.equal((await records()).value, '192.0.2.2');
  });

  it('returns an existing claim unchanged', async () => {
    const first = await added('app.shop.example');
    assert.deepEqual(await added('app.shop.example'), first);
  });

  it('lists, shows and removes only domains of the account', async () => {
    const [one, two] = [await added('a.shop.example'), await added('b.shop.example')];
    const path = `/v1/domains/${one.id}`;
    const list = await api.call('GET', '/v1/domains', { key: keys.ann });
    assert.deepEqual(list.body, { domains: [one, two] });
    assert.deepEqual((await api.call('GET', path, { key: keys.ann })).body, one);
    assert.deepEqual((await api.call('GET', '/v1/domains', { key: keys.bob })).body, { domains: [] });
    for (const method of ['GET', 'DELETE'])
      assert.equal(codeOf(await api.call(method, path, { key: keys.bob })), '404 domain-not-found');
    assert.equal(codeOf(await verify(one, keys.bob)), '404 domain-not-found');
    assert.deepEqual((await api.call('DELETE', path, { key: keys.ann })).body, { status: 'removed' });
    assert.equal(codeOf(await api.call('DELETE', path, { key: keys.ann })), '404 domain-not-found');
  });

  const refused: [domain: unknown, code: string, text: RegExp][] = [
    [undefined, '400 invalid-domain', /text/],
    [7, '400 invalid-domain', /text/],
    ['', '400 invalid-domain', /host name/],
    ['https://app.shop.example', '400 invalid-domain', /without https/],
    ['co.uk', '400 invalid-domain', /public suffix/],
    ['github.io', '400 invalid-domain', /public suffix/],
    ['relay.example', '409 domain-taken', /belongs to the relay/],
    ['shop.localhost', '409 domain-taken', /belongs to the relay/],
    ['a.b.c.localhost', '409 domain-taken', /belongs to the relay/],
  ];
  for (const [domain, code, text] of refused) {
    it(`refuses ${JSON.stringify(domain)}`, async () => {
      const response = await add(domain);
      assert.equal(codeOf(response), code);
      assert.match(String(response.body['error']), text);
    });
  }

  it('counts unverified domains towards the limit of the plan', async () => {
    const none = await add('app.shop.example', keys.fred);
    assert.equal(codeOf(none), '403 too-many-domains');
    assert.match(String(none.body['error']), /Free plan allows 0 domains/);
    for (let index = 0; index < 5; index += 1) await added(`a${index}.shop.example`);
    assert.equal(codeOf(await add('b.shop.example')), '403 too-many-domains');
    for (let index = 0; index < 6; index += 1) await added(`a${index}.shop.example`, keys.bob);
  });

  it('reports what is missing until it exists', async () => {
    const claim = await added('app.shop.example');
    const checked = (await verify(claim)).body as unknown as CheckedDomain;
    assert.deepEqual(
      [checked.status, checked.checks.map(({ what, ok }) => `${what} ${ok}`)],
      ['pending', ['address false', 'proof false']],
    );
    for (const { problem } of checked.checks)
      assert.match(problem, /^(?:There is no TXT record|No record points) /);
    enter(claim);
    const right = (await verify(claim)).body as unknown as CheckedDomain;
    assert.deepEqual([right.status, right.ends_at], ['verified', null]);
    for (const { ok, problem, found } of right.checks) assert.deepEqual([ok, problem, found], [true, '', []]);
  });

  it('gives a tunnel only a verified domain of its account', async () => {
    const claim = await added('app.shop.example');
    assert.equal(codeOf(await create('app.shop.example')), '409 domain-not-verified');
    assert.equal(codeOf(await create('other.shop.example')), '404 domain-not-found');
    assert.equal(codeOf(await create('app.shop.example', keys.bob)), '404 domain-not-found');
    assert.equal(codeOf(await create('http://app.shop.example')), '400 invalid-domain');
    enter(claim);
    await verify(claim);
    const { status, body } = await create('App.Shop.Example');
    assert.deepEqual([status, body['public_url']], [201, 'http://app.shop.example:8080']);
    assert.equal((body['urls'] as { domain?: string }).domain, 'http://app.shop.example:8080');
    assert.equal(codeOf(await create('app.shop.example')), '409 domain-in-use');
    await api.call('DELETE', `/v1/tunnels/${String(body['id'])}`, { key: keys.ann });
    assert.equal((await create('app.shop.example')).status, 201);
  });

  it('ends the tunnel of a removed domain', async () => {
    const { id } = await verified('app.shop.example');
    const tunnel = (await create('app.shop.example')).body;
    await api.call('DELETE', `/v1/domains/${id}`, { key: keys.ann });
    const { status } = await api.call('GET', `/v1/tunnels/${String(tunnel['id'])}`, { key: keys.ann });
    assert.equal(status, 404);
    assert.ok(api.logged.some(([event]) => event === 'tunnel displaced'));
    assert.equal(codeOf(await create('app.shop.example')), '404 domain-not-found');
  });

  it('verifies a domain despite an unverified claim of another account', async () => {
    await added('app.shop.example', keys.bob);
    await verified('app.shop.example');
    assert.equal((await create('app.shop.example')).status, 201);
  });

  it('keeps a verified domain while the proof exists or the DNS does not respond', async () => {
    await verified('app.shop.example');
    assert.equal(codeOf(await add('app.shop.example', keys.bob)), '409 domain-taken');
    api.dns.set('_culvert.app.shop.example TXT', { kind: 'failed', text: 'SERVFAIL' });
    assert.equal(codeOf(await add('app.shop.example', keys.bob)), '409 domain-taken');
  });

  it('transfers a domain to an account that proves it after the previous proof is gone, and ends the tunnel', async () => {
    const early = await added('app.shop.example', keys.bob);
    const before = await verified('app.shop.example');
    const tunnel = (await create('app.shop.example')).body;
    const both = [before, early].map(({ records }) => records.at(-1)?.value ?? '');
    api.dns.set('_culvert.app.shop.example TXT', { kind: 'found', values: both });
    assert.equal(codeOf(await verify(early, keys.bob)), '409 domain-taken');
    enter(early);
    assert.equal((await verify(early, keys.bob)).body['status'], 'verified');
    const old = await api.call('GET', `/v1/tunnels/${String(tunnel['id'])}`, { key: keys.ann });
    assert.equal(old.status, 404);
    assert.equal((await create('app.shop.example', keys.bob)).status, 201);
    assert.equal(codeOf(await verify(before)), '404 domain-not-found');
    assert.equal(codeOf(await add('app.shop.example')), '409 domain-taken');
  });

  it('reports since when the records of a verified domain are wrong, until they are right', async () => {
    const claim = await verified('app.shop.example');
    api.dns.delete('app.shop.example CNAME');
    const wrong = (await verify(claim)).body as unknown as CheckedDomain;
    assert.deepEqual(
      [wrong.status, wrong.failing_since],
      ['verified', new Date(api.clock.now()).toISOString()],
    );
    assert.equal(Date.parse(wrong.ends_at ?? '') - api.clock.now(), 7 * 24 * 3600_000);
    enter(claim);
    assert.equal((await verify(claim)).body['failing_since'], null);
  });

  it('checks domains 20 times a minute for an account, in bursts of 10', async () => {
    const claim = await added('app.shop.example', keys.bob);
    for (let call = 1; call < DOMAIN_CALLS_BURST; call += 1)
      assert.equal((await verify(claim, keys.bob)).status, 200);
    const late = await verify(claim, keys.bob);
    assert.deepEqual([codeOf(late), late.headers.get('retry-after')], ['429 rate-limited', '3']);
    api.clock.advance(60_000 / DOMAIN_CALLS_PER_MINUTE);
    assert.equal((await verify(claim, keys.bob)).status, 200);
    await added('other.shop.example');
  });

  it('checks 32 domains at a time', async () => {
    const accounts = Array.from({ length: 4 }, () => anAccount({ plan: 'team' }));
    await api.stop();
    api = await ApiFixture.start(...accounts);
    const claims: [Domain, string][] = [];
    for (const account of accounts) {
      const key = await api.keyOf(account);
      claims.push([await added('app.shop.example', key), key]);
    }
    const gate = Promise.withResolvers<void>();
    api.dnsGate = gate.promise;
    const looks = Array.from({ length: DOMAIN_LOOKS_MAX + 1 }, (_, index) => {
      const [claim, key] = claims[index % claims.length] ?? assert.fail();
      return verify(claim, key);
    });
    const first = await Promise.race(looks);
    assert.equal(codeOf(first), '503 unavailable');
    gate.resolve();
    const answers = await Promise.all(looks);
    assert.equal(answers.filter(({ status }) => status === 200).length, DOMAIN_LOOKS_MAX);
  });

  it('checks 8 domains of one account at a time', async () => {
    const claims = [await added('app.shop.example'), await added('b.shop.example', keys.bob)] as const;
    const gate = Promise.withResolvers<void>();
    api.dnsGate = gate.promise;
    const looks = Array.from({ length: DOMAIN_LOOKS_OF_ONE_MAX + 1 }, () => verify(claims[0]));
    assert.equal(codeOf(await Promise.race(looks)), '503 unavailable');
    const other = verify(claims[1], keys.bob);
    gate.resolve();
    assert.equal((await other).status, 200);
    const answers = await Promise.all(looks);
    assert.equal(answers.filter(({ status }) => status === 200).length, DOMAIN_LOOKS_OF_ONE_MAX);
  });

  it('holds no write slot while it waits for the DNS', async () => {
    await verified('app.shop.example');
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    api.onLookup = asked.resolve;
    api.dnsGate = gate.promise;
    const adds = Array.from({ length: ACCOUNT_WRITES_MAX }, () => add('app.shop.example', keys.bob));
    await asked.promise;
    const began: string[] = [];
    for (let each = 0; each < ACCOUNT_WRITES_MAX; each += 1)
      void api.writes.run(bob.id, () => Promise.resolve(began.push('write')));
    await new Promise((resolve) => setImmediate(resolve));
    const before = began.length;
    gate.resolve();
    for (const response of await Promise.all(adds)) assert.equal(codeOf(response), '409 domain-taken');
    assert.equal(before, ACCOUNT_WRITES_MAX);
  });

  it('responds 503 and leaves nothing half done while the store is down', async () => {
    const claim = await added('app.shop.example');
    enter(claim);
    api.storeDown = true;
    assert.equal((await add('b.shop.example')).status, 503);
    assert.equal((await verify(claim)).status, 503);
    api.storeDown = false;
    const { body } = await api.call('GET', `/v1/domains/${claim.id}`, { key: keys.ann });
    assert.equal(body['status'], 'pending');
  });
});

function codeOf({ status, body }: ApiResponse): string {
  return `${status} ${String(body['code'])}`;
}
