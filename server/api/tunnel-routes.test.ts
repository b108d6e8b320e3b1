/** What takes a clock that the test sets, a store that fails, or work that is held. `e2e/protocol` has the other promises. */
import assert from 'node:assert/strict';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { ADMISSION_MAX_SECONDS, KNOCK_SECONDS } from '../../shared/knocks.ts';
import { ACCESS_POLL_MS } from '../accounts/authenticator.ts';
import type { StoredKnock } from '../store/records.ts';
import { ApiFixture, anAccount, CALLER, codeOf, PUBLIC } from '../testing/fixtures.ts';
import { APPROVED_MAX, TooManyApprovalRequestsError } from '../tunnels/links-and-approvals.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { ACCOUNT_WRITES_MAX, CREATE_BURST } from './scheduler.ts';
import { LIST_BATCH } from './tunnel-routes.ts';

const DAY_SECONDS = 86_400;

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('the REST interface of tunnels', () => {
  const account = anAccount({ subdomain: 'acme' });
  let api: ApiFixture;
  let key: string;

  beforeEach(async () => {
    api = await ApiFixture.start(account);
    key = await api.keyOf(account);
  });

  afterEach(() => api.stop());

  function create(fields: object = {}) {
    return api.call('POST', '/v1/tunnels', key, { local_port: 3000, ...fields });
  }

  async function pathOf(fields: object = {}): Promise<string> {
    return `/v1/tunnels/${String((await create(fields)).body['id'])}`;
  }

  it('takes over a tunnel at the limit of the plan', async () => {
    await create({ name: 'web' });
    let asked = 0;
    api.tunnels.assertCapacity = () => (asked += 1);
    assert.deepEqual([(await create({ name: 'web', take_over: true })).status, asked], [200, 0]);
  });

  it('does not count a create that another one has left no room for', async () => {
    api.tunnels.create = () => Promise.reject(new ApiError(API_ERRORS.tooManyTunnels));
    for (let tries = 0; tries <= CREATE_BURST; tries += 1) assert.equal((await create()).status, 403);
  });

  it('waits for another turn after every 50 tunnels of a list', async () => {
    const life = {
      ttl: 60,
      idleTtl: false,
      wildcard: false,
      protocol: 'http' as const,
      remotePort: undefined,
    };
    const wanted = { localPort: 3000, name: '', domain: '', access: PUBLIC, caller: CALLER, ...life };
    for (let made = 0; made < 2 * LIST_BATCH + 1; made += 1) await api.tunnels.create(account, wanted);
    const { body } = await api.call('GET', '/v1/tunnels', key);
    assert.deepEqual(
      (body['tunnels'] as { id: string }[]).map(({ id }) => id),
      api.tunnels.list(account).map(({ id }) => id),
    );
    assert.deepEqual(api.turns, [account.id, account.id]);
  });

  it('holds no write slot while it hashes passwords', async () => {
    const gate = Promise.withResolvers<void>();
    const path = await pathOf({ name: 'web' });
    api.turns.length = 0;
    api.hashGate = gate.promise;
    const access = { password: 'mild oak fern' };
    const changes = [
      api.call('PUT', `${path}/access`, key, access),
      create({ name: 'web', take_over: true, access }),
      create({ name: 'new', access }),
    ];
    // Each takes a turn behind which its passwords are hashed.
    while (api.turns.length < changes.length) await nextTurn();
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    const begun = await api.beginWrites(account);
    gate.resolve();
    assert.deepEqual(
      (await Promise.all(changes)).map(({ status, body }) => [status, body['access']]),
      [200, 200, 201].map((status) => [status, { password: true }]),
    );
    assert.equal(begun, ACCOUNT_WRITES_MAX);
  });

  it('rejects a key that was revoked while passwords were hashed', async () => {
    const path = await pathOf();
    const gate = Promise.withResolvers<void>();
    const other = await api.keyOf(account);
    api.hashGate = gate.promise;
    api.turns.length = 0;
    const change = api.call('PUT', `${path}/access`, other, { password: 'mild oak fern' });
    while (api.turns.length === 0) await nextTurn();
    await api.revoke(other);
    api.clock.advance(ACCESS_POLL_MS);
    gate.resolve();
    assert.equal((await change).status, 401);
    assert.deepEqual((await api.call('GET', path, key)).body['access'], {});
  });

  it('reports when it accepts the next create', async () => {
    for (let made = 0; made < CREATE_BURST; made += 1) await create();
    const late = await create();
    assert.deepEqual([codeOf(late), late.headers.get('retry-after')], ['429 rate-limited', '6']);
    api.clock.advance(6000);
    assert.equal((await create()).status, 201);
  });

  it('responds 503 to all calls while the store is down, and normally afterwards', async () => {
    const path = await pathOf({ access: { links: true, knock: true } });
    const { id } = await api.knocks.knock(
      api.tunnels.get(account, path.split('/')[3] ?? ''),
      '192.0.2.7',
      '',
    );
    const { body: domain } = await api.call('POST', '/v1/domains', key, { domain: 'app.shop.example' });
    const calls: [method: string, path: string, fields: object | undefined, status: number][] = [
      ['POST', '/v1/tunnels', { local_port: 1, name: 'web' }, 201],
      ['POST', `${path}/links`, {}, 201],
      ['GET', `${path}/links`, undefined, 200],
      ['DELETE', `${path}/links/0123456789abcdef`, undefined, 404],
      ['PUT', `${path}/knocks/${id}`, { admit: true }, 200],
      ['POST', '/v1/domains', { domain: 'b.shop.example' }, 201],
      ['POST', `/v1/domains/${String(domain['id'])}/verify`, undefined, 200],
    ];
    for (const [method, target, fields, status] of calls) {
      api.storeDown = true;
      const down = await api.call(method, target, key, fields);
      assert.deepEqual([codeOf(down), down.headers.get('retry-after')], ['503 unavailable', '1'], target);
      api.storeDown = false;
      assert.equal((await api.call(method, target, key, fields)).status, status, target);
    }
  });

  describe('with links', () => {
    let path: string;

    beforeEach(async () => {
      path = `${await pathOf({ name: 'shop', access: { links: true } })}/links`;
    });

    for (const [fields, target, seconds, shown] of [
      [undefined, '/?', DAY_SECONDS, { note: '' }],
      [{ ttl: '90m', note: 'Ä', path: '/x?y=1' }, '/x?y=1&', 5400, { note: 'Ä', path: '/x?y=1' }],
    ] as const)
      it(`creates one for ${JSON.stringify(fields)}`, async () => {
        const { status, body } = await api.call('POST', path, key, fields);
        const { id, url, created_at, expires_at, ...rest } = body as Record<string, string>;
        assert.deepEqual([status, rest], [201, shown]);
        assert.match(id ?? '', /^[0-9a-f]{16}$/);
        assert.ok(url?.startsWith(`http://shop.acme.localhost:8080${target}culvert_pass=`), url);
        const at = api.clock.now();
        assert.deepEqual(
          [created_at, expires_at].map((time) => Date.parse(time ?? '')),
          [at, at + seconds * 1000],
        );
      });

    it('lists valid ones, newest first, without their addresses', async () => {
      const made = [];
      for (const fields of [{ ttl: '1m' }, { note: 'a', path: '/x' }, { note: 'b' }]) {
        api.clock.advance(1);
        const { url: _, ...link } = (await api.call('POST', path, key, fields)).body;
        made.push(link);
      }
      api.clock.advance(61_000);
      const { body } = await api.call('GET', path, key);
      assert.deepEqual(body, { links: made.slice(1).toReversed() });
    });

    it('creates none if the access policy has none', async () => {
      const without = `${await pathOf({ access: { password: 'four' } })}/links`;
      assert.equal(codeOf(await api.call('POST', without, key)), '409 links-off');
    });

    it('logs which were created and revoked, without addresses', async () => {
      const { id } = (await api.call('POST', path, key, { note: 'secret' })).body;
      await api.call('DELETE', `${path}/${String(id)}`, key);
      assert.deepEqual(
        api.logged.flatMap(([event, { link }]) => (event.startsWith('link ') ? [[event, link]] : [])),
        [
          ['link created', id],
          ['link revoked', id],
        ],
      );
      assert.doesNotMatch(JSON.stringify(api.logged), /secret|culvert_pass/);
    });
  });

  describe('with approval requests', () => {
    let path: string;
    let tunnel: LiveTunnel;

    beforeEach(async () => {
      const { id } = (await create({ access: { knock: true } })).body;
      path = `/v1/tunnels/${String(id)}/knocks`;
      tunnel = api.tunnels.get(account, String(id));
    });

    function knock(address = '192.0.2.7', agent = 'curl/8'): Promise<StoredKnock> {
      return api.knocks.knock(tunnel, address, agent);
    }

    async function answer(id: string | undefined, fields: object) {
      return await api.call('PUT', `${path}/${id}`, key, fields);
    }

    it('lists them, and responds to an answer with the changed one', async () => {
      const { id } = await knock('192.0.2.7', 'a\u001b[31mb\u202e'.padEnd(400, 'x'));
      const after = (seconds: number) => new Date(api.clock.now() + seconds * 1000).toISOString();
      const shown = { id, address: '192.0.2.7', agent: 'a[31mb'.padEnd(256, 'x'), at: after(0) };
      const waiting = { ...shown, status: 'waiting', ends_at: after(KNOCK_SECONDS) };
      assert.match(id, /^[0-9a-f]{16}$/);
      assert.deepEqual((await api.call('GET', path, key)).body, { knocks: [waiting] });
      for (const [fields, status, seconds] of [
        [{ admit: true }, 'admitted', 3600],
        [{ admit: true, for: '720h' }, 'admitted', ADMISSION_MAX_SECONDS],
        [{ admit: false }, 'refused', KNOCK_SECONDS],
        [{ admit: true, for: '1s' }, 'admitted', 1],
      ] as const)
        assert.deepEqual((await answer(id, fields)).body, { ...shown, status, ends_at: after(seconds) });
      api.clock.advance(1000);
      assert.deepEqual((await api.call('GET', path, key)).body, { knocks: [] });
    });

    it('refuses answers to one that has ended', async () => {
      const { id } = await knock();
      api.clock.advance(KNOCK_SECONDS * 1000);
      assert.equal(codeOf(await answer(id, { admit: true })), '404 knock-not-found');
    });

    it('approves 100 visitors at a time, and reports when the first approval ends', async () => {
      for (let number = 0; number < APPROVED_MAX; number += 1) {
        const { id } = await knock(`10.0.0.${number}`);
        assert.equal((await answer(id, { admit: true, for: `${number + 10}m` })).status, 200);
      }
      const { id } = await knock();
      const full = await answer(id, { admit: true });
      assert.equal(codeOf(full), '409 too-many-admitted');
      assert.ok(String(full.body['error']).includes(new Date(api.clock.now() + 600_000).toISOString()));
      const [first] = tunnel.knocks.approved(api.clock.now());
      for (const admit of [true, false]) assert.equal((await answer(first?.id, { admit })).status, 200);
      assert.equal((await answer(id, { admit: true })).status, 200);
    });

    it('makes no more store calls than visitors may wait', async () => {
      const all = await Promise.allSettled(
        Array.from({ length: 1000 }, (_, number) => knock(`10.0.${number >> 8}.${number & 255}`)),
      );
      const failed = all.filter((result) => result.status === 'rejected');
      for (const { reason } of failed) assert.ok(reason instanceof TooManyApprovalRequestsError);
      const waiting = tunnel.knocks.waiting(api.clock.now()).length;
      assert.deepEqual([failed.length, waiting, tunnel.revisions.knocksRevision], [968, 32, 32]);
    });
  });
});
