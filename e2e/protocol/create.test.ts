import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { type ApiResponse, assertError } from '../support/api.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const NAME_TEXT =
  'tunnel name must be 2-63 characters: lowercase letters, digits and hyphens, not starting or ending with a hyphen';

/** ms between a tunnel's creation and its expiry. */
function lifeOf(tunnel: Tunnel): number {
  return Date.parse(tunnel.expires_at) - Date.parse(tunnel.created_at);
}

describe('POST /v1/tunnels', () => {
  const { relay, pool } = sharedRelaySuite();
  let account: TestAccount;

  before(async () => {
    account = await createAccount(relay);
  });

  async function create(request: object): Promise<Tunnel> {
    return (await pool.tunnel(request)).tunnel;
  }

  async function refused(json: object): Promise<ApiResponse> {
    return await account.api.send('POST', '/v1/tunnels', { json });
  }

  describe('the tunnel object (protocol.md section 3.3)', () => {
    it('has every field, with defaults for an empty request', async () => {
      const { tunnel, account: owner } = await pool.tunnel({ local_port: 3000 });
      const { id, slug, created_at, expires_at, ...rest } = tunnel;
      assert.match(id, UUID);
      assert.match(slug, /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
      assert.match(created_at, TIMESTAMP);
      assert.match(expires_at, TIMESTAMP);
      assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 5000, 'created now');
      assert.equal(lifeOf(tunnel), 3_600_000);
      assert.deepEqual(rest, {
        client_id: owner.id,
        local_port: 3000,
        name: '',
        ttl: '1h0m0s',
        mode: 'relay',
        idle_ttl: false,
        bytes_in: 0,
        bytes_out: 0,
        requests: 0,
        created_by: null,
        online: false,
        access: {},
        wildcard: false,
        public_url: `http://${slug}.localhost:${relay.port}`,
        urls: {
          subdomain: `http://${slug}.localhost:${relay.port}`,
          path: `http://localhost:${relay.port}/t/${slug}`,
        },
      });
    });

    it('shows a requested name as name and slug', async () => {
      const tunnel = await create({ name: 'my-app' });
      assert.deepEqual([tunnel.name, tunnel.slug], ['my-app', 'my-app']);
    });

    it('shows idle_ttl as requested', async () => {
      assert.equal((await create({ idle_ttl: true })).idle_ttl, true);
    });

    it('derives distinct slugs', async () => {
      const slugs = await Promise.all([create({}), create({}), create({})]);
      assert.equal(new Set(slugs.map(({ slug }) => slug)).size, 3);
    });

    it('is returned with 201 and Location', async () => {
      const owner = await pool.take();
      const answer = await owner.api.send('POST', '/v1/tunnels', { json: { local_port: 1 } });
      assert.equal(answer.status, 201);
      assert.equal(answer.head.field('location'), `/v1/tunnels/${(answer.json as Tunnel).id}`);
      assert.match(answer.head.field('content-type') ?? '', /^application\/json\b/);
    });
  });

  describe('local_port', () => {
    for (const port of ['1', '65535', '3000.0', '8e3']) {
      it(`may be ${port}`, async () => {
        const owner = await pool.take();
        const answer = await owner.api.send('POST', '/v1/tunnels', { body: `{"local_port":${port}}` });
        assert.equal((answer.json as Tunnel).local_port, Number(port));
      });
    }

    for (const port of [0, -1, 65_536, 80.5, '80', null, true, [80], {}, undefined]) {
      it(`may not be ${JSON.stringify(port) ?? 'missing'}`, async () => {
        const answer = await refused({ local_port: port });
        assertError(answer, 400, 'local_port must be 1-65535');
      });
    }
  });

  describe('name', () => {
    for (const name of ['ab', 'a1', '1a', 'a--b', '42', 'x'.repeat(63)]) {
      it(`may be ${name}`, async () => {
        assert.equal((await create({ name })).slug, name);
      });
    }

    for (const name of [null, '']) {
      it(`${JSON.stringify(name)} means no name`, async () => {
        const tunnel = await create({ name });
        assert.equal(tunnel.name, '');
        assert.notEqual(tunnel.slug, '');
      });
    }

    const bad = [
      'a',
      'x'.repeat(64),
      'My-app',
      'my_app',
      'my.app',
      'my app',
      '-app',
      'app-',
      'xn--app',
      'äpp',
      'ab\n',
    ];
    for (const name of [...bad, 5, true, ['ab'], {}]) {
      it(`may not be ${JSON.stringify(name)}`, async () => {
        assertError(await refused({ local_port: 1, name }), 400, NAME_TEXT);
      });
    }
  });

  describe('ttl', () => {
    const accepted: [ttl: string, normalized: string, seconds: number][] = [
      ['30m', '30m0s', 1800],
      ['4h', '4h0m0s', 14_400],
      ['168h', '168h0m0s', 604_800],
      ['1h30m', '1h30m0s', 5400],
      ['1.5h', '1h30m0s', 5400],
      ['90s', '1m30s', 90],
      ['45s', '45s', 45],
      ['60m', '1h0m0s', 3600],
      ['2500ms', '2s', 2],
      ['168h999ms', '168h0m0s', 604_800],
    ];
    for (const [ttl, normalized, seconds] of accepted) {
      it(`${ttl} becomes ${normalized}, and the expiry matches exactly`, async () => {
        const tunnel = await create({ ttl });
        assert.equal(tunnel.ttl, normalized);
        assert.equal(lifeOf(tunnel), seconds * 1000);
      });
    }

    it('null means the default', async () => {
      assert.equal((await create({ ttl: null })).ttl, '1h0m0s');
    });

    const malformed = [
      '',
      '1',
      '0',
      'h',
      '1x',
      '1d',
      '1us',
      '1ns',
      '-1h',
      '+1h',
      ' 1h',
      '1h ',
      '1 h',
      '1H',
      '1e3s',
    ];
    for (const ttl of [...malformed, '0s', '999ms', 60, true, {}, ['1h']]) {
      it(`${JSON.stringify(ttl)} is invalid`, async () => {
        const answer = await refused({ local_port: 1, ttl });
        assertError(answer, 400, 'invalid ttl format');
      });
    }

    for (const ttl of ['168h1s', '169h', '10081m', `${'9'.repeat(400)}h`]) {
      it(`${ttl.slice(0, 8)} is too long`, async () => {
        const answer = await refused({ local_port: 1, ttl });
        assertError(answer, 400, 'ttl must be at most 168h0m0s');
      });
    }
  });

  describe('idle_ttl and take_over', () => {
    it('null means false', async () => {
      assert.equal((await create({ idle_ttl: null, take_over: null })).idle_ttl, false);
    });

    for (const field of ['idle_ttl', 'take_over'])
      for (const value of ['true', 1, {}])
        it(`may not be ${JSON.stringify(value)} (${field})`, async () => {
          assertError(await refused({ local_port: 1, [field]: value }), 400, 'invalid request body');
        });
  });

  describe('the body', () => {
    for (const body of [
      '',
      ' ',
      '{',
      '{"local_port":1,}',
      '{"local_port":1}x',
      'local_port=1',
      '[]',
      '[1]',
      'null',
      '1',
      '"x"',
      'true',
    ]) {
      it(`may not be ${JSON.stringify(body)}`, async () => {
        assertError(await account.api.send('POST', '/v1/tunnels', { body }), 400, 'invalid request body');
      });
    }

    for (const body of [
      '{"local_port":3000,"colour":"red","mode":"direct","id":"x"}',
      '{"local_port":3000,"__proto__":{"name":"x"},"constructor":1,"toString":2}',
      '\ufeff{"local_port":3000}',
    ])
      it(`may be ${body}`, async () => {
        const owner = await pool.take();
        const { status, json } = await owner.api.send('POST', '/v1/tunnels', { body });
        const { local_port, name, mode } = json as Tunnel;
        assert.deepEqual([status, local_port, name, mode], [201, 3000, '', 'relay']);
      });

    it('is not decompressed', async () => {
      const headers = [['Content-Encoding', 'gzip']] as const;
      const answer = await account.api.send('POST', '/v1/tunnels', { body: '{"local_port":1}', headers });
      assertError(answer, 400, 'invalid request body');
    });

    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'nonsense',
      'application/json; charset=x',
    ]) {
      it(`is read as JSON with the type ${type}`, async () => {
        const owner = await pool.take();
        const answer = await owner.api.send('POST', '/v1/tunnels', {
          body: '{"local_port":1}',
          headers: [['Content-Type', type]],
        });
        assert.equal(answer.status, 201);
      });
    }

    it('may be 16 KiB', async () => {
      const owner = await pool.take();
      const answer = await owner.api.send('POST', '/v1/tunnels', { body: '{"local_port":1}'.padEnd(16_384) });
      assert.equal(answer.status, 201);
    });

    it('may not be larger', async () => {
      const body = '{"local_port":1}'.padEnd(16_385);
      assertError(await account.api.send('POST', '/v1/tunnels', { body }), 413, 'request body too large');
    });
  });

  describe('the order of checks', () => {
    it('follows protocol.md section 3.2', async () => {
      const request = { local_port: 0, name: 'A', ttl: 'x', idle_ttl: 1 };
      assertError(await refused(request), 400, 'local_port must be 1-65535');
      assertError(await refused({ ...request, local_port: 1 }), 400, NAME_TEXT);
      assertError(await refused({ ...request, local_port: 1, name: 'ab' }), 400, 'invalid ttl format');
      assertError(await refused({ local_port: 1, name: 'ab', idle_ttl: 1 }), 400, 'invalid request body');
    });
  });
});
