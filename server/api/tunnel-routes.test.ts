import assert from 'node:assert/strict';
import { ADMISSION_MAX_SECONDS, KNOCK_SECONDS } from '../../shared/knocks.ts';
import { ACCESS_POLL_MS, ACCOUNT_WRITES_MAX, LIST_BATCH, APPROVED_MAX } from '../limits.ts';
import type { StoredKnock } from '../store/records.ts';
import { ApiFixture, anAccount, CALLER, PUBLIC, type ApiResponse } from '../testing/fixtures.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { TooManyApprovalRequestsError } from '../tunnels/links-and-approvals.ts';

function tokensOf({ access }: Record<string, unknown>): { name: string; token?: string }[] {
  return (access as { tokens: { name: string; token?: string }[] }).tokens;
}

describe('the REST interface of tunnels', () => {
  const account = anAccount({ subdomain: 'acme' });
  const free = anAccount({ plan: 'free' });
  let api: ApiFixture;
  let key: string;

  beforeEach(async () => {
    api = await ApiFixture.start(account, free);
    key = await api.keyOf(account);
  });

  afterEach(() => api.stop());

  function create(fields: Readonly<Record<string, unknown>> = {}) {
    return api.call('POST', '/v1/tunnels', { key, body: JSON.stringify({ local_port: 3000, ...fields }) });
  }

  it('responds to a create with the full tunnel object', async () => {
    const { status, headers, body } = await create({ name: 'web', ttl: '90m', idle_ttl: true });
    const { id, ...rest } = body;
    assert.equal(status, 201);
    assert.equal(headers.get('location'), `/v1/tunnels/${String(id)}`);
    assert.match(String(id), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual(rest, {
      slug: 'web',
      client_id: account.id,
      local_port: 3000,
      name: 'web',
      ttl: '1h30m0s',
      mode: 'relay',
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-01-01T01:30:00.000Z',
      idle_ttl: true,
      bytes_in: 0,
      bytes_out: 0,
      requests: 0,
      created_by: null,
      online: false,
      access: {},
      wildcard: false,
      public_url: 'http://web.acme.localhost:8080',
      urls: {
        subdomain: 'http://web.localhost:8080',
        path: 'http://localhost:8080/t/web',
        account: 'http://web.acme.localhost:8080',
      },
    });
  });

  it('takes over a tunnel of the account with that name, but only on request', async () => {
    const { body: tunnel } = await create({ name: 'web', ttl: '4h' });
    api.online.add(String(tunnel['id']));
    assert.equal((await create({ name: 'web' })).status, 409);
    const taken = await create({ name: 'web', local_port: 4000, ttl: '30m', take_over: true });
    assert.deepEqual([taken.status, taken.headers.get('location')], [200, null]);
    const changed = { local_port: 4000, ttl: '30m0s', expires_at: '2026-01-01T00:30:00.000Z', online: true };
    assert.deepEqual(taken.body, { ...tunnel, ...changed });
    const other = { key: await api.keyOf(free), body: '{"local_port":1,"name":"web","take_over":true}' };
    assert.equal((await api.call('POST', '/v1/tunnels', other)).status, 403, 'no names on its plan');
    const invalid = await create({ take_over: 'yes' });
    assert.deepEqual([invalid.status, invalid.body['code']], [400, 'invalid-body']);
  });

  it('shows a token that it has made once, and then only its name', async () => {
    const given = { name: 'ci', token: 'x'.repeat(24) };
    const { body: tunnel } = await create({ name: 'web', access: { tokens: [given, { name: 'agent' }] } });
    const [ci, agent] = tokensOf(tunnel);
    assert.deepEqual(ci, { name: 'ci' });
    assert.match(agent?.token ?? '', /^cvp_[0-9A-Za-z]{32}$/);
    const path = `/v1/tunnels/${String(tunnel['id'])}`;
    const { body: seen } = await api.call('GET', path, { key });
    assert.deepEqual(seen['access'], { tokens: [{ name: 'ci' }, { name: 'agent' }] });
    assert.ok(!JSON.stringify(await api.call('GET', '/v1/tunnels', { key })).includes('cvp_'));
  });

  it('keeps tokens by their names when the policy is replaced or the tunnel is taken over', async () => {
    const { body: tunnel } = await create({ name: 'web', access: { tokens: [{ name: 'ci' }] } });
    const path = `/v1/tunnels/${String(tunnel['id'])}/access`;
    const set = async (tokens: object[]) =>
      tokensOf((await api.call('PUT', path, { key, body: JSON.stringify({ tokens }) })).body);
    assert.deepEqual(await set([{ name: 'ci' }]), [{ name: 'ci' }]);
    const take = { name: 'web', take_over: true, access: { tokens: [{ name: 'ci' }, { name: 'new' }] } };
    const [ci, fresh] = tokensOf((await create(take)).body);
    assert.deepEqual(ci, { name: 'ci' });
    assert.match(fresh?.token ?? '', /^cvp_/);
    assert.deepEqual(await set([{ name: 'new' }]), [{ name: 'new' }]);
    assert.match(
      (await set([{ name: 'ci' }]))[0]?.token ?? '',
      /^cvp_/,
      'it was revoked, so this is a new one',
    );
  });

  const guarded = { access: { links: true } };
  for (const [kind, method, name, fields, status] of [
    ['tunnel', 'GET', 'web', {}, 200],
    ['tunnel', 'GET', 'other', {}, 404],
    ['tunnel', 'DELETE', 'other', {}, 404],
    ['tunnel', 'POST', 'web', { name: 'web', take_over: true }, 200],
    ['tunnel', 'POST', '', { name: 'new' }, 403],
    ['tunnel', 'POST', '', {}, 403],
    ['agent', 'GET', 'web', {}, 404],
    ['agent', 'POST', '', { ...guarded, name: 'agent-1' }, 201],
    ['agent', 'POST', '', { ...guarded, name: 'shop' }, 403],
    ['agent', 'POST', '', { ...guarded, wildcard: true }, 403],
    ['agent', 'POST', '', { ...guarded, idle_ttl: true }, 403],
    ['agent', 'POST', '', { name: 'agent-1' }, 403],
  ] as const)
    it(`answers ${method} ${name} ${JSON.stringify(fields)} of a key for one ${kind} with ${status}`, async () => {
      const ids = new Map<string, unknown>([['', '']]);
      for (const each of ['web', 'other']) ids.set(each, (await create({ name: each })).body['id']);
      const scope =
        kind === 'tunnel' ? ({ kind, name: 'web' } as const) : ({ kind, prefix: 'agent' } as const);
      const scoped = await api.keyOf(account, { scope });
      const path = method === 'POST' ? '/v1/tunnels' : `/v1/tunnels/${String(ids.get(name))}`;
      const body = method === 'POST' ? { body: JSON.stringify({ local_port: 1, ...fields }) } : {};
      assert.equal((await api.call(method, path, { key: scoped, ...body })).status, status);
    });

  it('takes over a tunnel at the limit of the plan, and creates one if none has the name', async () => {
    const made = await create({ name: 'web', take_over: true });
    assert.equal(made.status, 201);
    const room = api.tunnels.assertCapacity.bind(api.tunnels);
    let asked = 0;
    api.tunnels.assertCapacity = (given) => {
      asked += 1;
      room(given);
    };
    assert.deepEqual([(await create({ name: 'web', take_over: true })).status, asked], [200, 0]);
  });

  it('gets, lists, extends and closes a tunnel', async () => {
    const { body: tunnel } = await create();
    const path = `/v1/tunnels/${String(tunnel['id'])}`;
    assert.deepEqual((await api.call('GET', path, { key })).body, tunnel);
    assert.deepEqual((await api.call('GET', '/v1/tunnels', { key })).body, { tunnels: [tunnel] });
    const extended = await api.call('PUT', `${path}/extend`, { key, body: '{"ttl":"30m"}' });
    assert.deepEqual(extended.body, { ...tunnel, expires_at: '2026-01-01T01:30:00.000Z' });
    const closed = await api.call('DELETE', path, { key });
    assert.deepEqual([closed.status, closed.body], [200, { status: 'closed' }]);
    assert.equal((await api.call('GET', path, { key })).status, 404);
  });

  for (const body of [undefined, '', '{}', '{"ttl":null}']) {
    it(`extends by the tunnel's own ttl for a body of ${JSON.stringify(body)}`, async () => {
      const { body: tunnel } = await create({ ttl: '2h' });
      const path = `/v1/tunnels/${String(tunnel['id'])}/extend`;
      const extended = await api.call('PUT', path, body === undefined ? { key } : { key, body });
      assert.equal(extended.body['expires_at'], '2026-01-01T04:00:00.000Z');
    });
  }

  const malformed = ['', ' ', 'x', '[]', '"x"', 'null', '3', '{"local_port":3000', '{"local_port":3000}x'];
  for (const body of malformed) {
    it(`refuses a create of ${JSON.stringify(body)}`, async () => {
      const { status, body: answer } = await api.call('POST', '/v1/tunnels', { key, body });
      assert.deepEqual([status, answer], [400, { error: 'invalid request body', code: 'invalid-body' }]);
    });
  }

  it('accepts fields with any name, and JSON after a byte order mark', async () => {
    for (const body of ['{"local_port":3000,"__proto__":{"name":"x"},"x":1}', '\ufeff{"local_port":3000}'])
      assert.equal((await api.call('POST', '/v1/tunnels', { key, body })).status, 201, body);
  });

  it('waits for another turn after every 50 tunnels of a list', async () => {
    const wanted = {
      localPort: 3000,
      name: '',
      ttl: 60,
      idleTtl: false,
      access: PUBLIC,
      domain: '',
      caller: CALLER,
      wildcard: false,
    };
    for (let made = 0; made < 2 * LIST_BATCH + 1; made += 1) await api.tunnels.create(account, wanted);
    const { body } = await api.call('GET', '/v1/tunnels', { key });
    assert.deepEqual(
      (body['tunnels'] as { id: string }[]).map(({ id }) => id),
      api.tunnels.list(account).map(({ id }) => id),
    );
    assert.deepEqual(api.turns, [account.id, account.id]);
  });

  it('holds no write slot while it hashes passwords', async () => {
    const gate = Promise.withResolvers<void>();
    const { body: tunnel } = await create({ name: 'web' });
    const path = `/v1/tunnels/${String(tunnel['id'])}`;
    api.turns.length = 0;
    api.hashGate = gate.promise;
    const access = { password: 'mild oak fern' };
    const changes = [
      api.call('PUT', `${path}/access`, { key, body: JSON.stringify(access) }),
      create({ name: 'web', take_over: true, access }),
      create({ name: 'new', access }),
    ];
    // Each takes a turn behind which its passwords are hashed.
    while (api.turns.length < changes.length) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const began: string[] = [];
    for (let each = 0; each < ACCOUNT_WRITES_MAX; each += 1)
      void api.writes.run(account.id, () => Promise.resolve(began.push('write')));
    await new Promise((resolve) => setImmediate(resolve));
    const before = [...began];
    gate.resolve();
    const answers = await Promise.all(changes);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 201],
    );
    for (const { body } of answers) assert.deepEqual(body['access'], { password: true });
    assert.equal(before.length, ACCOUNT_WRITES_MAX);
  });

  it('rejects a key that was revoked while passwords were hashed', async () => {
    const { body: tunnel } = await create();
    const path = `/v1/tunnels/${String(tunnel['id'])}`;
    const gate = Promise.withResolvers<void>();
    const other = await api.keyOf(account);
    api.hashGate = gate.promise;
    api.turns.length = 0;
    const change = api.call('PUT', `${path}/access`, { key: other, body: '{"password":"mild oak fern"}' });
    while (api.turns.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await api.revoke(other);
    api.clock.advance(ACCESS_POLL_MS);
    gate.resolve();
    assert.equal((await change).status, 401);
    assert.deepEqual((await api.call('GET', path, { key })).body['access'], {});
  });

  it('waits for its turn after the body has arrived', async () => {
    const { body } = await create();
    await api.call('PUT', `/v1/tunnels/${String(body['id'])}/extend`, { key, body: '{}' });
    assert.deepEqual(api.turns, [account.id, account.id]);
  });

  it('ignores unknown fields, whatever their names', async () => {
    const body = '{"local_port":3000.0,"__proto__":{"name":"x"},"constructor":1,"toString":2}';
    const { status, body: tunnel } = await api.call('POST', '/v1/tunnels', { key, body });
    assert.deepEqual([status, tunnel['local_port'], tunnel['name']], [201, 3000, '']);
  });

  it('refuses a body above 16 KiB', async () => {
    assert.equal((await api.call('POST', '/v1/tunnels', { key, body: padded(16_384) })).status, 201);
    const { status, body } = await api.call('POST', '/v1/tunnels', { key, body: padded(16_385) });
    assert.deepEqual([status, body], [413, { error: 'request body too large', code: 'body-too-large' }]);
  });

  it('checks in the order key, body, fields, plan, rate, name', async () => {
    const freeKey = await api.keyOf(free);
    const attempt = async (given: string | undefined, body: string) =>
      (await api.call('POST', '/v1/tunnels', { body, ...(given === undefined ? {} : { key: given }) }))
        .status;
    await create({ name: 'web' });
    assert.equal(await attempt(undefined, 'x'), 401);
    assert.equal(await attempt(freeKey, 'x'), 400);
    assert.equal(await attempt(freeKey, '{"local_port":0,"name":"web"}'), 400);
    assert.equal(await attempt(freeKey, '{"local_port":1,"name":"web"}'), 403);
    for (let i = 0; i < 4; i += 1) assert.equal(await attempt(key, '{"local_port":1,"name":"web"}'), 409);
    assert.equal(await attempt(key, '{"local_port":1,"name":"web"}'), 429);
  });

  it('does not count requests that fail before the rate limit', async () => {
    for (let i = 0; i < 10; i += 1) await create({ name: 'A' });
    assert.equal((await create()).status, 201);
  });

  it('reports when it accepts the next create', async () => {
    for (let i = 0; i < 5; i += 1) await create();
    const { status, headers, body } = await create();
    assert.deepEqual([status, body], [429, { error: 'rate limit exceeded', code: 'rate-limited' }]);
    assert.equal(headers.get('retry-after'), '6');
    api.clock.advance(6000);
    assert.equal((await create()).status, 201);
  });

  it('responds 503 while the store is down, and normally afterwards', async () => {
    api.storeDown = true;
    const { status, headers, body } = await create({ name: 'web' });
    assert.deepEqual([status, body], [503, { error: 'service unavailable', code: 'unavailable' }]);
    assert.equal(headers.get('retry-after'), '1');
    api.storeDown = false;
    assert.equal((await create({ name: 'web' })).status, 201);
  });

  it('responds the same for a missing tunnel and for one of another account', async () => {
    const other = await api.keyOf(free);
    const { body: tunnel } = await create();
    const id = String(tunnel['id']);
    const encoded = `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`;
    const unknown = '00000000-0000-4000-8000-000000000000';
    for (const [given, asked] of [
      [other, id],
      [key, unknown],
      [key, 'no-uuid'],
      [key, encoded],
    ] as const) {
      const { status, body } = await api.call('GET', `/v1/tunnels/${asked}`, { key: given });
      assert.deepEqual([status, body], [404, { error: 'tunnel not found', code: 'tunnel-not-found' }], asked);
    }
  });
});

/** A create request of exactly this many bytes. */
function padded(bytes: number): string {
  return `{"local_port":3000,"x":"${'x'.repeat(bytes - 26)}"}`;
}

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
