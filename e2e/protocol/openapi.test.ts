import assert from 'node:assert/strict';
import type { Knock } from '../../shared/knocks.ts';
import type { Link } from '../../shared/links.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api, type ApiRequest } from '../support/api.ts';
import { mustKnock } from '../support/knocks.ts';
import { OpenApiValidator } from '../support/openapi.ts';
import { newApiKey } from '../support/programs.ts';
import type { Field } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { WITH_TRUNKS } from '../support/trunk-world.ts';

const UPGRADE: readonly Field[] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'AAAAAAAAAAAAAAAAAAAAAA=='],
];
const UNKNOWN = '2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47';

/** Responses that only a broken or overcrowded relay gives, and upgrades that succeed, which other suites test. */
const ELSEWHERE = /^(?:.* (?:500|503)|GET \/ws\/\w+ 101)$/;

describe('GET /v1/openapi.json', () => {
  const { relay } = relaySuite({ ...WITH_TRUNKS, CULVERT_TRUST_PROXY: '127.0.0.1' });
  let account: TestAccount;
  let free: TestAccount;
  let tunnel: Tunnel;
  let validator: OpenApiValidator;

  before(async () => {
    [account, free] = await Promise.all([
      createAccount(relay, { subdomain: 'acme' }),
      createAccount(relay, { plan: 'free' }),
    ]);
    tunnel = await account.api.create({ local_port: 1, name: 'taken' });
    const answer = await new Api(relay, undefined).send('GET', '/v1/openapi.json');
    validator = new OpenApiValidator(answer.json);
    validator.check('GET /v1/openapi.json', answer);
  });

  /** Sends a request and checks the response; `{id}` in the path is the tunnel's. */
  async function send(operation: string, status: number, request?: ApiRequest, api = account.api, path = '') {
    const [method = '', template = ''] = operation.split(' ');
    const target = (path === '' ? template : path).replace('{id}', tunnel.id);
    const answer = await api.send(method, target, request);
    assert.equal(answer.status, status, JSON.stringify(answer.json));
    validator.check(operation, answer);
  }

  it('is OpenAPI 3.1, and its schemas are JSON Schema', () => {
    assert.match(validator.document.openapi, /^3\.1\.\d+$/);
  });

  it('describes tunnels in every form', async () => {
    await send('POST /v1/tunnels', 201, { json: { local_port: 3000 } });
    await send('POST /v1/tunnels', 201, { json: { local_port: 1, ttl: '1.5h', idle_ttl: true } }, free.api);
    await send('GET /v1/tunnels', 200);
    await send('GET /v1/tunnels', 200, undefined, free.api);
    await send('GET /v1/tunnels/{id}', 200);
    await send('PUT /v1/tunnels/{id}/extend', 200, { json: { ttl: '1m' } });
  });

  it('describes accounts, with and without a subdomain', async () => {
    await send('GET /v1/account', 200);
    await send('GET /v1/account', 200, undefined, free.api);
  });

  for (const [operation, path] of [
    ['GET /healthz', '/healthz'],
    ['GET /readyz', '/readyz'],
  ] as const) {
    it(`describes ${path}`, () => send(operation, 200, undefined, new Api(relay, undefined)));
  }

  const wrong: [body: string, status: number][] = [
    ['{', 400],
    ['[]', 400],
    ['{}', 400],
    ['{"local_port":0}', 400],
    ['{"local_port":1,"name":"A"}', 400],
    ['{"local_port":1,"ttl":"soon"}', 400],
    ['{"local_port":1,"ttl":"169h"}', 400],
    ['{"local_port":1,"idle_ttl":1}', 400],
    ['{"local_port":1,"name":"taken"}', 409],
    [`{"local_port":1${' '.repeat(17_000)}}`, 413],
  ];
  for (const [body, status] of wrong) {
    it(`describes the response to a create with ${body.slice(0, 40)}`, () =>
      send('POST /v1/tunnels', status, { body }));
  }

  it('describes what a plan does not allow', () =>
    send('POST /v1/tunnels', 403, { json: { local_port: 1, name: 'fancy' } }, free.api));

  it('describes the rate limit', async () => {
    const hasty = await createAccount(relay);
    for (let i = 0; i < 5; i += 1) await hasty.api.create({ local_port: 1 });
    await send('POST /v1/tunnels', 429, { json: { local_port: 1 } }, hasty.api);
  });

  it('describes the errors of an extend', async () => {
    await send('PUT /v1/tunnels/{id}/extend', 400, { body: '{' });
    await send('PUT /v1/tunnels/{id}/extend', 400, { json: { ttl: 'soon' } });
    await send('PUT /v1/tunnels/{id}/extend', 400, { json: { ttl: '168h' } });
    await send('PUT /v1/tunnels/{id}/extend', 413, { body: ' '.repeat(17_000) });
  });

  it('describes who may come in, and what cannot be said about that', async () => {
    const operation = 'PUT /v1/tunnels/{id}/access';
    const basic = [{ user: 'ann', password: 'fern' }];
    await send(operation, 200, {
      json: { allow: ['::1'], basic, password: 'fern', links: true, knock: true },
    });
    await send(operation, 200, { json: {} });
    await send(operation, 400, { json: { pasword: 'fern' } });
    await send(operation, 400, { body: '{' });
    await send(operation, 413, { body: ' '.repeat(17_000) });
  });

  it('describes links, and what cannot be said about them', async () => {
    const access = 'PUT /v1/tunnels/{id}/access';
    const operation = 'POST /v1/tunnels/{id}/links';
    await send(operation, 409, { json: {} });
    await send(access, 200, { json: { links: true } });
    await send(operation, 201, { json: { ttl: '1h', note: 'for the review', path: '/x' } });
    await send(operation, 201);
    await send('GET /v1/tunnels/{id}/links', 200);
    for (const json of [{ ttl: 'soon' }, { ttl: '721h' }, { note: 1 }, { path: 'x' }])
      await send(operation, 400, { json });
    await send(operation, 413, { body: ' '.repeat(17_000) });
    const { json } = await account.api.send('GET', `/v1/tunnels/${tunnel.id}/links`);
    const [{ id } = { id: '' }] = (json as { links: Link[] }).links;
    const revoke = 'DELETE /v1/tunnels/{id}/links/{link_id}';
    const path = `/v1/tunnels/{id}/links/${id}`;
    await send(revoke, 200, undefined, account.api, path);
    await send(revoke, 404, undefined, account.api, path);
    await send(access, 200, { json: {} });
  });

  it('describes knocks, and what cannot be answered to them', async () => {
    const access = 'PUT /v1/tunnels/{id}/access';
    const operation = 'PUT /v1/tunnels/{id}/knocks/{knock_id}';
    await send(access, 200, { json: { knock: true } });
    const place = { port: relay.port, host: `${tunnel.slug}.localhost:${relay.port}` };
    /** Somebody knocks. @returns his answering */
    const knocks = async (
      number: number,
    ): Promise<(status: number, request: ApiRequest) => Promise<void>> => {
      await mustKnock(place, [['X-Forwarded-For', `198.51.100.${number}`]]);
      const { json } = await account.api.send('GET', `/v1/tunnels/${tunnel.id}/knocks`);
      const id = (json as { knocks: Knock[] }).knocks.at(-1)?.id;
      return (status, request) =>
        send(operation, status, request, account.api, `/v1/tunnels/{id}/knocks/${id}`);
    };
    const answer = await knocks(0);
    await send('GET /v1/tunnels/{id}/knocks', 200);
    for (const body of ['{', '[]', '{}', '{"admit":true,"for":"721h"}']) await answer(400, { body });
    await answer(413, { body: ' '.repeat(17_000) });
    await answer(200, { json: { admit: true, for: '1h' } });
    await send('GET /v1/tunnels/{id}/knocks', 200);
    await answer(200, { json: { admit: false } });
    for (let number = 1; number <= 100; number += 1)
      await (
        await knocks(number)
      )(200, { json: { admit: true } });
    await (
      await knocks(101)
    )(409, { json: { admit: true } });
    await send(access, 200, { json: {} });
    await answer(404, { json: { admit: true } });
  });

  for (const operation of [
    'GET /v1/tunnels/{id}',
    'DELETE /v1/tunnels/{id}',
    'PUT /v1/tunnels/{id}/extend',
    'PUT /v1/tunnels/{id}/access',
    'POST /v1/tunnels/{id}/links',
    'GET /v1/tunnels/{id}/links',
    'DELETE /v1/tunnels/{id}/links/{link_id}',
    'GET /v1/tunnels/{id}/knocks',
  ]) {
    it(`describes ${operation} of a tunnel that does not exist`, () =>
      send(operation, 404, { json: {} }, account.api, operation.split(' ')[1]?.replace('{id}', UNKNOWN)));
  }

  it('describes what happens without a key, and with a wrong one', async () => {
    const operations = validator.responses.filter((response) => response.endsWith(' 401'));
    assert.ok(operations.length > 9);
    for (const response of operations) {
      const operation = response.slice(0, -' 401'.length);
      const isSocket = operation.includes('/ws/');
      const path = isSocket ? `${operation.split(' ')[1]}?tunnel_id=${tunnel.id}` : '';
      const request = isSocket ? { headers: UPGRADE } : {};
      await send(operation, 401, request, new Api(relay, undefined), path);
      await send(operation, 401, request, new Api(relay, newApiKey()), path);
    }
  });

  it('describes what happens with too many wrong keys from an address', async () => {
    const stranger = new Api(relay, newApiKey());
    const from: Field = ['X-Forwarded-For', '203.0.113.9'];
    /** Until one is refused: meanwhile there may be room for another. */
    const refused = async (operation: string, path: string, headers: Field[]): Promise<void> => {
      const [method = '', template = ''] = operation.split(' ');
      const target = (path === '' ? template : path).replace('{id}', tunnel.id);
      let answer;
      do answer = await stranger.send(method, target, { headers });
      while (answer.status === 401);
      assert.equal(answer.status, 429, JSON.stringify(answer.json));
      validator.check(operation, answer);
    };
    const keyed = validator.responses.filter((response) => response.endsWith(' 401'));
    for (const operation of keyed.map((response) => response.slice(0, -' 401'.length))) {
      const isSocket = operation.includes('/ws/');
      const path = isSocket ? `${operation.split(' ')[1]}?tunnel_id=${tunnel.id}` : '';
      await refused(operation, path, isSocket ? [...UPGRADE, from] : [from]);
    }
  });

  const refusals: [target: string, status: number][] = [
    ['/ws/control', 400],
    [`/ws/control?tunnel_id=${UNKNOWN}`, 404],
    ['/ws/data', 400],
    [`/ws/data?tunnel_id=${UNKNOWN}`, 404],
    [`/ws/data?id=${UNKNOWN}`, 404],
    ['/ws/data?tunnel_id={id}', 404],
    ['/ws/trunk', 400],
    [`/ws/trunk?tunnel_id=${UNKNOWN}`, 404],
    ['/ws/trunk?tunnel_id={id}', 404],
  ];
  for (const [target, status] of refusals) {
    it(`describes the refusal of ${target}`, () =>
      send(`GET ${target.split('?')[0]}`, status, { headers: UPGRADE }, account.api, target));
  }

  for (const path of ['/ws/control', '/ws/data', '/ws/trunk']) {
    it(`describes ${path} without an upgrade`, () => send(`GET ${path}`, 426));
  }

  it('describes the close of a tunnel', () => send('DELETE /v1/tunnels/{id}', 200));

  it('describes nothing that was not seen here, except what is listed above', () => {
    assert.deepEqual(
      validator.unseen.filter((response) => !ELSEWHERE.test(response)),
      [],
    );
  });
});
