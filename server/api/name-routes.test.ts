/** What needs a clock or a store that the test controls. `e2e/protocol/names.test.ts` has the other promises. */
import assert from 'node:assert/strict';
import { ApiFixture, type ApiResponse, anAccount, codeOf } from '../testing/fixtures.ts';

describe('names in the REST interface', () => {
  const ann = anAccount({ name: 'ann', plan: 'dev' });
  const bob = anAccount({ name: 'bob', plan: 'dev' });
  const fred = anAccount({ name: 'fred', plan: 'free' });
  let api: ApiFixture;
  let key: string;

  beforeEach(async () => {
    api = await ApiFixture.start(ann, bob, fred);
    key = await api.keyOf(ann);
  });

  afterEach(() => api.stop());

  const change = (fields: object, name = 'shop'): Promise<ApiResponse> =>
    api.call('PUT', `/v1/names/${name}`, key, fields);

  it('are kept once, changed field by field, listed oldest first, and let go', async () => {
    const kept = await api.call('POST', '/v1/names', key, { name: 'shop' });
    assert.deepEqual([kept.status, kept.headers.get('location')], [201, '/v1/names/shop']);
    const again = await api.call('POST', '/v1/names', key, { name: 'shop' });
    assert.deepEqual([again.status, again.body], [200, kept.body]);
    api.clock.advance(1000);
    await api.call('POST', '/v1/names', key, { name: 'blog' });
    const until = new Date(api.clock.now() + 60_000).toISOString();
    await change({ away: 'At lunch.\nBack soon.', until });
    const { body } = await change({ away: 'On holiday.' });
    assert.deepEqual(body, { ...kept.body, away: 'On holiday.', until });
    const tunnel = await api.call('POST', '/v1/tunnels', key, { local_port: 3000, name: 'shop' });
    const list = async () =>
      (await api.call('GET', '/v1/names', key)).body['names'] as readonly Record<string, unknown>[];
    assert.deepEqual(await list(), [
      { ...body, tunnel_id: tunnel.body['id'] },
      { ...kept.body, name: 'blog', created_at: (await list())[1]?.['created_at'] },
    ]);
    api.clock.advance(60_000);
    assert.equal((await list())[0]?.['until'], null);
    assert.deepEqual((await api.call('DELETE', '/v1/names/shop', key)).body, { status: 'released' });
    assert.equal(codeOf(await api.call('DELETE', '/v1/names/shop', key)), '404 name-not-found');
    assert.equal((await list()).length, 1);
  });

  it('are as many as the plan allows', async () => {
    const free = await api.keyOf(fred);
    assert.equal(codeOf(await api.call('POST', '/v1/names', free, { name: 'mine' })), '403 too-many-names');
    for (const name of ['n1', 'n2', 'n3', 'n4', 'n5'])
      assert.equal((await api.call('POST', '/v1/names', key, { name })).status, 201);
    const sixth = await api.call('POST', '/v1/names', key, { name: 'n6' });
    assert.equal(codeOf(sixth), '403 too-many-names');
  });

  it('stay with a smaller plan, which takes no new ones', async () => {
    for (const name of ['shop', 'blog']) await api.call('POST', '/v1/names', key, { name });
    await api.store.setPlan('ann', 'free');
    key = await api.keyOf({ ...ann, plan: 'free' });
    assert.equal((await api.call('POST', '/v1/names', key, { name: 'shop' })).status, 200);
    assert.equal(codeOf(await api.call('POST', '/v1/names', key, { name: 'more' })), '403 too-many-names');
    assert.equal((await change({ away: 'Later.' })).status, 200);
    const stranger = await api.keyOf(bob);
    const wanted = { local_port: 3000, name: 'shop' };
    assert.equal(codeOf(await api.call('POST', '/v1/tunnels', key, wanted)), '403 plan-too-low');
    assert.equal(codeOf(await api.call('POST', '/v1/tunnels', stranger, wanted)), '409 name-taken');
    assert.equal((await api.call('DELETE', '/v1/names/blog', key)).status, 200);
    assert.equal(codeOf(await api.call('POST', '/v1/names', key, { name: 'blog' })), '403 too-many-names');
  });

  for (const [fields, code] of [
    [{ name: 'A' }, '400 invalid-name'],
    [{}, '400 invalid-name'],
    [{ name: 'www' }, '409 name-reserved'],
  ] as const)
    it(`refuses to keep ${JSON.stringify(fields)}`, async () => {
      assert.equal(codeOf(await api.call('POST', '/v1/names', key, fields)), code);
    });

  for (const fields of [
    { away: '' },
    { away: 'x'.repeat(501) },
    { away: 'a\u202eb' },
    { away: 7 },
    { until: 'tomorrow' },
    { until: '2030-01-01' },
    { until: 7 },
  ])
    it(`refuses to change ${JSON.stringify(fields).slice(0, 40)}`, async () => {
      await api.call('POST', '/v1/names', key, { name: 'shop' });
      assert.equal(codeOf(await change(fields)), '400 invalid-name-change');
    });

  it('takes 500 characters as people count them', async () => {
    await api.call('POST', '/v1/names', key, { name: 'shop' });
    assert.equal((await change({ away: '🦊'.repeat(500) })).status, 200);
  });

  it('can only be read with a key for a part of the account', async () => {
    const scoped = await api.keyOf(ann, { scope: { kind: 'tunnel', name: 'shop' } });
    assert.equal((await api.call('GET', '/v1/names', scoped)).status, 200);
    for (const [method, path] of [
      ['POST', '/v1/names'],
      ['PUT', '/v1/names/shop'],
      ['DELETE', '/v1/names/shop'],
    ] as const)
      assert.equal(codeOf(await api.call(method, path, scoped, { name: 'shop' })), '403 key-scope');
  });

  it('answers 503 while the store is down, and changes nothing', async () => {
    api.storeDown = true;
    assert.equal((await api.call('POST', '/v1/names', key, { name: 'shop' })).status, 503);
    api.storeDown = false;
    assert.deepEqual((await api.call('GET', '/v1/names', key)).body, { names: [] });
  });
});
