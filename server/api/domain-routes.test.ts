/** What takes DNS answers, a clock or a store that the test controls. `e2e/protocol` has the other promises. */
import assert from 'node:assert/strict';
import type { CheckedDomain, Domain } from '../../shared/domains.ts';
import { DOMAIN_LOOKS_MAX, DOMAIN_LOOKS_OF_ONE_MAX } from '../domains/domain-service.ts';
import { ApiFixture, type ApiResponse, anAccount, codeOf } from '../testing/fixtures.ts';
import { ACCOUNT_WRITES_MAX, DOMAIN_CALLS_BURST, DOMAIN_CALLS_PER_MINUTE } from './scheduler.ts';

describe('domains in the REST interface', () => {
  const ann = anAccount({ name: 'ann', plan: 'dev' });
  const team = Array.from({ length: 4 }, () => anAccount({ plan: 'team' }));
  const [bob = assert.fail()] = team;
  const fred = anAccount({ name: 'fred', plan: 'free' });
  let api: ApiFixture;
  let keys: { ann: string; bob: string; fred: string };

  beforeEach(async () => {
    api = await ApiFixture.start(ann, fred, ...team);
    keys = { ann: await api.keyOf(ann), bob: await api.keyOf(bob), fred: await api.keyOf(fred) };
  });

  afterEach(() => api.stop());

  function add(domain: unknown, key = keys.ann): Promise<ApiResponse> {
    return api.call('POST', '/v1/domains', key, { domain });
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
    return api.call('POST', `/v1/domains/${id}/verify`, key);
  }

  async function verified(domain: string, key = keys.ann): Promise<Domain> {
    const claim = await added(domain, key);
    enter(claim);
    const { body } = await verify(claim, key);
    assert.equal(body['status'], 'verified', JSON.stringify(body));
    return claim;
  }

  function create(domain: unknown, key = keys.ann): Promise<ApiResponse> {
    return api.call('POST', '/v1/tunnels', key, { local_port: 3000, domain });
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

  it("shows the relay's addresses for a domain that cannot have a CNAME", async () => {
    api.dns.set('relay.example A', { kind: 'found', values: ['192.0.2.1'] });
    api.dns.set('relay.example AAAA', { kind: 'found', values: ['2001:db8::1'] });
    const shop = await added('shop.example');
    assert.deepEqual(shop.records.slice(0, 2), [
      { type: 'A', name: 'shop.example', value: '192.0.2.1' },
      { type: 'AAAA', name: 'shop.example', value: '2001:db8::1' },
    ]);
  });

  it('lists, shows and removes only domains of the account', async () => {
    const [one, two] = [await added('a.shop.example'), await added('b.shop.example')];
    assert.deepEqual(await added('a.shop.example'), one, 'a second claim');
    const path = `/v1/domains/${one.id}`;
    const list = await api.call('GET', '/v1/domains', keys.ann);
    assert.deepEqual(list.body, { domains: [one, two] });
    assert.deepEqual((await api.call('GET', path, keys.ann)).body, one);
    assert.deepEqual((await api.call('GET', '/v1/domains', keys.bob)).body, { domains: [] });
    for (const method of ['GET', 'DELETE'])
      assert.equal(codeOf(await api.call(method, path, keys.bob)), '404 domain-not-found');
    assert.equal(codeOf(await verify(one, keys.bob)), '404 domain-not-found');
    assert.deepEqual((await api.call('DELETE', path, keys.ann)).body, { status: 'removed' });
    assert.equal(codeOf(await api.call('DELETE', path, keys.ann)), '404 domain-not-found');
  });

  for (const domain of ['relay.example', 'shop.localhost', 'a.b.c.localhost'])
    it(`refuses ${domain}, which belongs to the relay`, async () => {
      const response = await add(domain);
      assert.equal(codeOf(response), '409 domain-taken');
      assert.match(String(response.body['error']), /belongs to the relay/);
    });

  it('counts unverified domains towards the limit of the plan', async () => {
    const none = await add('app.shop.example', keys.fred);
    assert.equal(codeOf(none), '403 too-many-domains');
    assert.match(String(none.body['error']), /Free plan allows 0 domains/);
    for (let index = 0; index < 5; index += 1) await added(`a${index}.shop.example`);
    assert.equal(codeOf(await add('b.shop.example')), '403 too-many-domains');
    for (let index = 0; index < 6; index += 1) await added(`a${index}.shop.example`, keys.bob);
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

  for (const [accounts, max] of [
    [4, DOMAIN_LOOKS_MAX],
    [1, DOMAIN_LOOKS_OF_ONE_MAX],
  ] as const)
    it(`checks ${max} domains of ${accounts} account(s) at a time`, async () => {
      const claims: [Domain, string][] = [];
      for (const account of team.slice(0, accounts)) {
        const key = await api.keyOf(account);
        claims.push([await added('app.shop.example', key), key]);
      }
      const gate = Promise.withResolvers<void>();
      api.dnsGate = gate.promise;
      const looks = Array.from({ length: max + 1 }, (_, index) =>
        verify(...(claims[index % claims.length] ?? assert.fail())),
      );
      assert.equal(codeOf(await Promise.race(looks)), '503 unavailable');
      gate.resolve();
      const answers = await Promise.all(looks);
      assert.equal(answers.filter(({ status }) => status === 200).length, max);
    });

  it('holds no write slot while it waits for the DNS', async () => {
    await verified('app.shop.example');
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    api.onLookup = asked.resolve;
    api.dnsGate = gate.promise;
    const adds = Array.from({ length: ACCOUNT_WRITES_MAX }, () => add('app.shop.example', keys.bob));
    await asked.promise;
    const begun = await api.beginWrites(bob);
    gate.resolve();
    for (const response of await Promise.all(adds)) assert.equal(codeOf(response), '409 domain-taken');
    assert.equal(begun, ACCOUNT_WRITES_MAX);
  });
});
