import assert from 'node:assert/strict';
import { ADMISSION_MAX_SECONDS, KNOCK_SECONDS } from '../../shared/knocks.ts';
import { APPROVED_MAX } from '../limits.ts';
import type { StoredKnock } from '../store/records.ts';
import { ApiFixture, type ApiResponse, anAccount } from '../testing/fixtures.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { TooManyApprovalRequestsError } from '../tunnels/tunnel-approvals.ts';

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

  it('creates a link for a day by default', async () => {
    const { status, body } = await send('POST');
    assert.equal(status, 201);
    const { id, url, note, created_at, expires_at, ...more } = body as Record<string, string>;
    assert.match(id ?? '', /^[0-9a-f]{16}$/);
    assert.match(url ?? '', /^http:\/\/shop\.acme\.localhost:8080\/\?culvert_pass=[\w.-]+$/);
    assert.deepEqual([note, more], ['', {}]);
    assert.equal(Date.parse(created_at ?? ''), api.clock.now());
    assert.equal(Date.parse(expires_at ?? ''), api.clock.now() + 86_400_000);
  });

  it('creates a link with a note, a path and a ttl', async () => {
    const { body } = await send('POST', '', { ttl: '90m', note: 'Ä', path: '/x?y=1' });
    assert.match(String(body['url']), /\/x\?y=1&culvert_pass=[\w.-]+$/);
    assert.deepEqual([body['note'], body['path']], ['Ä', '/x?y=1']);
    assert.equal(Date.parse(String(body['expires_at'])), api.clock.now() + 5_400_000);
  });

  it('lists valid links, newest first, without their addresses', async () => {
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

  it('revokes a link only once', async () => {
    const { body } = await send('POST');
    const path = `/${String(body['id'])}`;
    assert.deepEqual((await send('DELETE', path)).body, { status: 'revoked' });
    assert.deepEqual((await send('GET')).body, { links: [] });
    const again = await send('DELETE', path);
    assert.deepEqual([again.status, again.body['code']], [404, 'link-not-found']);
    assert.equal((await send('DELETE', '/unknown')).status, 404);
  });

  it('shows no links of other accounts', async () => {
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

  it('creates no link if the access policy has no links, and keeps existing ones', async () => {
    await send('POST');
    await api.call('PUT', `/v1/tunnels/${tunnel}/access`, { key, body: '{"password":"four"}' });
    const { status, body } = await send('POST');
    assert.deepEqual([status, body['code']], [409, 'links-off']);
    assert.equal(((await send('GET')).body['links'] as unknown[]).length, 1);
    tunnel = await create({}, 'open');
    assert.equal((await send('POST')).status, 409);
  });

  it('refuses invalid requests, and all requests while the store is down', async () => {
    const { status, body } = await send('POST', '', { note: 'a\nb' });
    assert.deepEqual([status, body['code']], [400, 'invalid-link']);
    api.storeDown = true;
    for (const method of ['POST', 'GET'] as const) assert.equal((await send(method)).status, 503);
    assert.equal((await send('DELETE', '/0123456789abcdef')).status, 503);
  });

  it('logs which links were created and revoked, without addresses', async () => {
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

describe('the REST interface of knocks', () => {
  const owner = anAccount({ plan: 'dev' });
  let api: ApiFixture;
  let key: string;
  let tunnel: LiveTunnel;

  beforeEach(async () => {
    api = await ApiFixture.start(owner);
    key = await api.keyOf(owner);
    const body = JSON.stringify({ local_port: 3000, access: { knock: true } });
    const made = await api.call('POST', '/v1/tunnels', { key, body });
    tunnel = api.tunnels.get(owner, String(made.body['id']));
  });

  afterEach(() => api.stop());

  function knock(address = '192.0.2.7', agent = 'curl/8'): Promise<StoredKnock> {
    return api.knocks.knock(tunnel, address, agent);
  }

  function send(method: string, id = '', request?: object): Promise<ApiResponse> {
    const path = `/v1/tunnels/${tunnel.id}/knocks${id === '' ? '' : `/${id}`}`;
    return api.call(method, path, { key, ...(request !== undefined && { body: JSON.stringify(request) }) });
  }

  it('lists knocks and responds to an answer with the changed knock', async () => {
    const { id } = await knock('192.0.2.7', 'a\u001b[31mb\u202e'.padEnd(400, 'x'));
    const at = new Date(api.clock.now()).toISOString();
    const after = (seconds: number): string => new Date(api.clock.now() + seconds * 1000).toISOString();
    const agent = 'a[31mb'.padEnd(256, 'x');
    const shown = { id, address: '192.0.2.7', agent, at };
    const waiting = { ...shown, status: 'waiting', ends_at: after(KNOCK_SECONDS) };
    assert.match(id, /^[0-9a-f]{16}$/);
    assert.deepEqual((await send('GET')).body, { knocks: [waiting] });
    const admitted = await send('PUT', id, { admit: true });
    assert.deepEqual(admitted.body, { ...shown, status: 'admitted', ends_at: after(3600) });
    const longer = await send('PUT', id, { admit: true, for: '720h' });
    assert.equal(longer.body['ends_at'], after(ADMISSION_MAX_SECONDS));
    const refused = await send('PUT', id, { admit: false });
    assert.deepEqual(refused.body, { ...waiting, status: 'refused' });
    assert.equal((await send('PUT', id, { admit: true, for: '1s' })).body['status'], 'admitted');
    api.clock.advance(1000);
    assert.deepEqual((await send('GET')).body, { knocks: [] });
  });

  it('refuses invalid answers, and answers to a knock that has ended', async () => {
    const { id } = await knock();
    for (const wrong of [{}, { admit: 1 }, { admit: true, for: '0s' }, { admit: true, for: '720h1s' }]) {
      const { status, body } = await send('PUT', id, wrong);
      assert.deepEqual([status, body['code']], [400, 'invalid-knock-answer'], JSON.stringify(wrong));
    }
    assert.equal((await send('PUT', id, [])).body['code'], 'invalid-body');
    api.clock.advance(KNOCK_SECONDS * 1000);
    const late = await send('PUT', id, { admit: true });
    assert.deepEqual([late.status, late.body['code']], [404, 'knock-not-found']);
  });

  it('approves 100 visitors at a time, and reports when the first approval ends', async () => {
    for (let number = 0; number < APPROVED_MAX; number += 1) {
      const { id } = await knock(`10.0.0.${number}`);
      assert.equal((await send('PUT', id, { admit: true, for: `${number + 10}m` })).status, 200);
    }
    const { id } = await knock();
    const full = await send('PUT', id, { admit: true });
    assert.deepEqual([full.status, full.body['code']], [409, 'too-many-admitted']);
    assert.match(String(full.body['error']), new RegExp(new Date(api.clock.now() + 600_000).toISOString()));
    const [first] = tunnel.knocks.approved(api.clock.now());
    assert.equal((await send('PUT', first?.id, { admit: true })).status, 200);
    assert.equal((await send('PUT', first?.id, { admit: false })).status, 200);
    assert.equal((await send('PUT', id, { admit: true })).status, 200);
  });

  it('limits store calls to the number of visitors that may wait', async () => {
    const all = await Promise.allSettled(
      Array.from({ length: 1000 }, (_, number) => knock(`10.0.${number >> 8}.${number & 255}`)),
    );
    const failed = all.filter((result) => result.status === 'rejected');
    assert.equal(failed.length, 968);
    for (const { reason } of failed) assert.ok(reason instanceof TooManyApprovalRequestsError);
    assert.equal(tunnel.knocks.waiting(api.clock.now()).length, 32);
    assert.equal(tunnel.revisions.knocksRevision, 32);
  });

  it('responds 503 while the store is down, and works afterwards', async () => {
    const { id } = await knock();
    api.storeDown = true;
    assert.equal((await send('PUT', id, { admit: true })).status, 503);
    await assert.rejects(knock('192.0.2.8'), { status: 503 });
    api.storeDown = false;
    await knock('192.0.2.8');
    assert.equal((await send('PUT', id, { admit: true })).status, 200);
  });

  it('forgets all knocks when the access policy changes', async () => {
    const { id } = await knock();
    const body = JSON.stringify({ knock: true });
    await api.call('PUT', `/v1/tunnels/${tunnel.id}/access`, { key, body });
    assert.deepEqual((await send('GET')).body, { knocks: [] });
    assert.equal((await send('PUT', id, { admit: true })).status, 404);
    await knock();
    assert.equal(tunnel.knocks.current(api.clock.now()).length, 1);
  });
});
