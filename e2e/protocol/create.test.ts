import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { type ApiRequest, type ApiResponse, assertError } from '../support/api.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const PORT_TEXT = 'local_port must be 1-65535';
const NAME_TEXT =
  'tunnel name must be 2-63 characters: lowercase letters, digits and hyphens, not starting or ending with a hyphen';
const BODY_TEXT = 'invalid request body';
const TTL_TEXT = 'invalid ttl format';
const SMALLEST = '{"local_port":1}';
const OF_THE_CREATOR = '{"local_port":3000,"colour":"red","mode":"direct","id":"x"}';
const OF_OBJECTS = '{"local_port":3000,"__proto__":{"name":"x"},"constructor":1,"toString":2}';

/** A body, or the fields of one beside a port. */
type Given = string | object;

/** What is created, and how many seconds it lives. */
const CREATED: (readonly [request: Given, shown: Partial<Tunnel>, seconds?: number])[] = [
  ...['1', '65535', '3000.0', '8e3'].map(
    (port) => [`{"local_port":${port}}`, { local_port: Number(port) }] as const,
  ),
  ...['ab', 'a1', '1a', 'a--b', '42', 'x'.repeat(63)].map(
    (name) => [{ name }, { name, slug: name }] as const,
  ),
  ...[null, ''].map((name) => [{ name }, { name: '' }] as const),
  [{ idle_ttl: true }, { idle_ttl: true }],
  [{ idle_ttl: null, take_over: null }, { idle_ttl: false }],
  [{ ttl: null }, { ttl: '1h0m0s' }],
  [{ ttl: '30m' }, { ttl: '30m0s' }, 1800],
  [{ ttl: '4h' }, { ttl: '4h0m0s' }, 14_400],
  [{ ttl: '168h' }, { ttl: '168h0m0s' }, 604_800],
  [{ ttl: '1h30m' }, { ttl: '1h30m0s' }, 5400],
  [{ ttl: '1.5h' }, { ttl: '1h30m0s' }, 5400],
  [{ ttl: '90s' }, { ttl: '1m30s' }, 90],
  [{ ttl: '45s' }, { ttl: '45s' }, 45],
  [{ ttl: '60m' }, { ttl: '1h0m0s' }],
  [{ ttl: '2500ms' }, { ttl: '2s' }, 2],
  [{ ttl: '168h999ms' }, { ttl: '168h0m0s' }, 604_800],
  [OF_THE_CREATOR, { local_port: 3000, name: '', mode: 'relay' }],
  [OF_OBJECTS, { local_port: 3000, name: '' }],
  [`\ufeff${SMALLEST}`, { local_port: 1 }],
];

const REFUSED: (readonly [text: string, requests: readonly Given[]])[] = [
  [
    PORT_TEXT,
    [0, -1, 65_536, 80.5, '80', null, true, [80], {}, undefined].map((port) => ({ local_port: port })),
  ],
  [NAME_TEXT, ['a', 'x'.repeat(64), 'My-app', 'my_app', 'my.app', 'my app'].map((name) => ({ name }))],
  [NAME_TEXT, ['-app', 'app-', 'xn--app', 'äpp', 'ab\n', 5, true, ['ab'], {}].map((name) => ({ name }))],
  [TTL_TEXT, ['', '1', '0', 'h', '1x', '1d', '1us', '1ns', '-1h', '+1h'].map((ttl) => ({ ttl }))],
  [TTL_TEXT, [' 1h', '1h ', '1 h', '1H', '1e3s', '0s', '999ms', 60, true, {}].map((ttl) => ({ ttl }))],
  [TTL_TEXT, [{ ttl: ['1h'] }]],
  [
    'ttl must be at most 168h0m0s',
    ['168h1s', '169h', '10081m', `${'9'.repeat(400)}h`].map((ttl) => ({ ttl })),
  ],
  [BODY_TEXT, ['true', 1, {}].flatMap((value) => [{ idle_ttl: value }, { take_over: value }])],
  [BODY_TEXT, ['', ' ', '{', '{"local_port":1,}', `${SMALLEST}x`, 'local_port=1']],
  [BODY_TEXT, ['[]', '[1]', 'null', '1', '"x"', 'true']],
  // The order of checks.
  [PORT_TEXT, [{ local_port: 0, name: 'A', ttl: 'x', idle_ttl: 1 }]],
  [NAME_TEXT, [{ name: 'A', ttl: 'x', idle_ttl: 1 }]],
  [TTL_TEXT, [{ name: 'ab', ttl: 'x', idle_ttl: 1 }]],
];

/** ms between a tunnel's creation and its expiry. */
function lifeOf(tunnel: Tunnel): number {
  return Date.parse(tunnel.expires_at) - Date.parse(tunnel.created_at);
}

function bodyOf(given: Given): string {
  return typeof given === 'string' ? given : JSON.stringify({ local_port: 1, ...given });
}

describe('POST /v1/tunnels (protocol.md section 3.2)', () => {
  const { relay, pool } = sharedRelaySuite();
  let account: TestAccount;

  before(async () => {
    account = await createAccount(relay);
  });

  /** Sends a request that may create a tunnel. */
  async function send(request: ApiRequest): Promise<ApiResponse> {
    return await (await pool.take()).api.send('POST', '/v1/tunnels', request);
  }

  it('responds with every field of the tunnel, with defaults for an empty request', async () => {
    const before = Date.now();
    const { tunnel, account: owner } = await pool.tunnel({ local_port: 3000 });
    const { id, slug, created_at, expires_at, ...rest } = tunnel;
    assert.match(id, UUID);
    assert.match(slug, /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
    assert.match(created_at, TIMESTAMP);
    assert.match(expires_at, TIMESTAMP);
    const created = Date.parse(created_at);
    assert.ok(created >= before - 1000 && created <= Date.now() + 1000, 'created now');
    assert.equal(lifeOf(tunnel), 3_600_000);
    assert.deepEqual(rest, {
      client_id: owner.id,
      local_port: 3000,
      name: '',
      ttl: '1h0m0s',
      protocol: 'http',
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

  it('derives distinct slugs, and responds with 201 and Location', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => send({ body: SMALLEST })));
    for (const { status, head, json } of answers) {
      assert.deepEqual([status, head.field('location')], [201, `/v1/tunnels/${(json as Tunnel).id}`]);
      assert.match(head.field('content-type') ?? '', /^application\/json\b/);
    }
    assert.equal(new Set(answers.map(({ json }) => (json as Tunnel).slug)).size, 3);
  });

  for (const [given, shown, seconds = 3600] of CREATED)
    it(`accepts ${bodyOf(given)}`, async () => {
      const { status, json } = await send({ body: bodyOf(given) });
      const tunnel = json as Tunnel;
      assert.deepEqual([status, tunnel], [201, { ...tunnel, ...shown }]);
      assert.notEqual(tunnel.slug, '');
      assert.equal(lifeOf(tunnel), seconds * 1000);
    });

  for (const [text, requests] of REFUSED)
    for (const given of requests)
      it(`refuses ${bodyOf(given).slice(0, 60)}`, async () => {
        const answer = await account.api.send('POST', '/v1/tunnels', { body: bodyOf(given) });
        assertError(answer, 400, text);
      });

  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'nonsense',
    'application/json; charset=x',
  ])
    it(`reads the type ${type} as JSON`, async () => {
      assert.equal((await send({ body: SMALLEST, headers: [['Content-Type', type]] })).status, 201);
    });

  it('does not decompress a body', async () => {
    assertError(await send({ body: SMALLEST, headers: [['Content-Encoding', 'gzip']] }), 400, BODY_TEXT);
  });

  it('accepts a body of 16 KiB, and no larger one', async () => {
    assert.equal((await send({ body: SMALLEST.padEnd(16_384) })).status, 201);
    assertError(await send({ body: SMALLEST.padEnd(16_385) }), 413, 'request body too large');
  });
});
