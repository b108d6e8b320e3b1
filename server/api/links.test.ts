import assert from 'node:assert/strict';
import { ApiFixture, type ApiResponse } from '../testing/api-fixture.ts';
import { anAccount } from '../testing/fixtures.ts';

describe('the REST interface of links', () => {
  const owner = anAccount({ plan: 'dev', subdomain: 'acme' });
  const stranger = anAccount();
  let api: ApiFixture;
  let key: string;
  let tunnel: string;

  beforeEach(async () => {
    api = await ApiFixture.start(owner, stranger);
    key = await api.keyOf(owner);
    tunnel = await create({ links: true });
  });

  afterEach(() => api.stop());

  async function create(access: object, name = 'shop'): Promise<string> {
    const body = JSON.stringify({ local_port: 3000, name, access });
    return String((await api.call('POST', '/v1/tunnels', { key, body })).body['id']);
  }

  function send(method: string, path = '', request?: object, as = key): Promise<ApiResponse> {
    const body = request && JSON.stringify(request);
    return api.call(method, `/v1/tunnels/${tunnel}/links${path}`, {
      key: as,
      ...(body !== undefined && { body }),
    });
  }

  it('makes one for a day, with nothing asked for', async () => {
    const { status, body } = await send('POST');
    assert.equal(status, 201);
    const { id, url, note, created_at, expires_at, ...more } = body as Record<string, string>;
    assert.match(id ?? '', /^[0-9a-f]{16}$/);
    assert.match(url ?? '', /^http:\/\/shop\.acme\.localhost:8080\/\?culvert_pass=[\w.-]+$/);
    assert.deepEqual([note, more], ['', {}]);
    assert.equal(Date.parse(created_at ?? ''), api.clock.now());
    assert.equal(Date.parse(expires_at ?? ''), api.clock.now() + 86_400_000);
  });

  it('makes one with a note, a path and an end', async () => {
    const { body } = await send('POST', '', { ttl: '90m', note: 'Ä', path: '/x?y=1' });
    assert.match(String(body['url']), /\/x\?y=1&culvert_pass=[\w.-]+$/);
    assert.deepEqual([body['note'], body['path']], ['Ä', '/x?y=1']);
    assert.equal(Date.parse(String(body['expires_at'])), api.clock.now() + 5_400_000);
  });

  it('lists those that are good, newest first, without their addresses', async () => {
    const made = [];
    for (const request of [{ ttl: '1m' }, { note: 'a', path: '/x' }, { note: 'b' }]) {
      api.clock.advance(1);
      made.push((await send('POST', '', request)).body);
    }
    api.clock.advance(61_000);
    const listed = made.slice(1);
    for (const link of listed) delete (link as { url?: unknown }).url;
    assert.deepEqual((await send('GET')).body, { links: listed.toReversed() });
  });

  it('revokes one, once', async () => {
    const { body } = await send('POST');
    const path = `/${String(body['id'])}`;
    assert.deepEqual((await send('DELETE', path)).body, { status: 'revoked' });
    assert.deepEqual((await send('GET')).body, { links: [] });
    const again = await send('DELETE', path);
    assert.deepEqual([again.status, again.body['code']], [404, 'link-not-found']);
    assert.equal((await send('DELETE', '/unknown')).status, 404);
  });

  it('shows nothing of the tunnels of others', async () => {
    const { body } = await send('POST');
    const other = await api.keyOf(stranger);
    for (const [method, path] of [
      ['POST', ''],
      ['GET', ''],
      ['DELETE', `/${String(body['id'])}`],
    ] as const) {
      const { status, body: error } = await send(method, path, undefined, other);
      assert.deepEqual([status, error['code']], [404, 'tunnel-not-found'], method);
    }
  });

  it('makes none where links let nobody in, and keeps those that there are', async () => {
    await send('POST');
    await api.call('PUT', `/v1/tunnels/${tunnel}/access`, { key, body: '{"password":"four"}' });
    const { status, body } = await send('POST');
    assert.deepEqual([status, body['code']], [409, 'links-off']);
    assert.equal(((await send('GET')).body['links'] as unknown[]).length, 1);
    tunnel = await create({}, 'open');
    assert.equal((await send('POST')).status, 409);
  });

  it('refuses what breaks a rule, and everything while the store is down', async () => {
    const { status, body } = await send('POST', '', { note: 'a\nb' });
    assert.deepEqual([status, body['code']], [400, 'invalid-link']);
    api.storeDown = true;
    for (const method of ['POST', 'GET'] as const) assert.equal((await send(method)).status, 503);
    assert.equal((await send('DELETE', '/0123456789abcdef')).status, 503);
  });

  it('tells the operator what was made and revoked, but no address', async () => {
    const { body } = await send('POST', '', { note: 'secret' });
    await send('DELETE', `/${String(body['id'])}`);
    const told = api.logged.filter(([event]) => event.startsWith('link '));
    assert.deepEqual(
      told.map(([event, { link }]) => [event, link]),
      [
        ['link created', body['id']],
        ['link revoked', body['id']],
      ],
    );
    assert.doesNotMatch(JSON.stringify(api.logged), /secret|culvert_pass/);
  });
});
