import assert from 'node:assert/strict';
import { ACCESS_POLL_MS, ACCOUNT_WRITES_MAX, LIST_BATCH } from '../limits.ts';
import { ApiFixture, anAccount, CALLER, PUBLIC } from '../testing/fixtures.ts';

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
