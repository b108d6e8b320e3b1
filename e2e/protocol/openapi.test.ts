import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { AUDIT_ACTS_PER_DAY, MEMBER_ACTS_PER_DAY } from '../../server/store/queries/audit-queries.ts';
import { DnsServer } from '../../server/testing/dns-server.ts';
import type { Knock } from '../../shared/knocks.ts';
import type { Link } from '../../shared/links.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { administer, createAccount, type TestAccount, withNewKey } from '../support/accounts.ts';
import { Api, type ApiRequest, type ApiResponse } from '../support/api.ts';
import { mustKnock } from '../support/approvals.ts';
import { bringDomain, claimDomain } from '../support/dns-servers.ts';
import { newApiKey } from '../support/programs.ts';
import { type Field, WEBSOCKET } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { WITH_TRUNKS } from '../support/trunk-world.ts';

const UNKNOWN = '2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47';

/** Responses of a broken or overloaded relay, successful upgrades, the 101st approval, and what a provider is needed for: other suites test them. */
const ELSEWHERE =
  /^(?:.* (?:500|503)|GET \/ws\/\w+ 101|PUT .*\/knocks\/\{knock_id\} 409|DELETE .*\/agents\/\{agent_id\} 200|POST \/v1\/logins 201)$/;

describe('GET /v1/openapi.json', () => {
  const settings = { ...WITH_TRUNKS, CULVERT_TRUST_PROXY: '127.0.0.1', CULVERT_RESOLVER: '' };
  let dns: DnsServer;
  before(async () => {
    dns = await DnsServer.start();
    settings.CULVERT_RESOLVER = dns.address;
  });
  after(() => dns.stop());
  const { relay } = relaySuite(settings);
  let account: TestAccount;
  let free: TestAccount;
  let operator: TestAccount;
  let tunnel: Tunnel;
  let validator: OpenApiValidator;

  before(async () => {
    [account, free] = await Promise.all([
      createAccount(relay, { subdomain: 'acme' }),
      createAccount(relay, { plan: 'free' }),
    ]);
    operator = await withNewKey(relay, account, '--admin');
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

  /** Sends requests, which get a status, until the rate limit refuses one, and checks that response. */
  async function sendBeyond(
    operation: string,
    allowed: number,
    request: () => ApiRequest,
    api: Api,
    path = '',
  ) {
    const [method = '', template = ''] = operation.split(' ');
    const target = (path === '' ? template : path).replace('{id}', tunnel.id);
    let answer;
    do answer = await api.send(method, target, request());
    while (answer.status === allowed);
    assert.equal(answer.status, 429, JSON.stringify(answer.json));
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

  it('describes the endpoint for proxies', async () => {
    const nobody = new Api(relay, undefined);
    await send('GET /v1/ask', 200, undefined, nobody, '/v1/ask?domain=localhost');
    await send('GET /v1/ask', 404, undefined, nobody, '/v1/ask?domain=elsewhere.test');
    await send('GET /v1/ask', 404, undefined, nobody);
  });

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

  it('describes taking over a tunnel', () =>
    send('POST /v1/tunnels', 200, { json: { local_port: 1, name: 'taken', take_over: true } }));

  it('describes the limits of a plan', () =>
    send('POST /v1/tunnels', 403, { json: { local_port: 1, name: 'fancy' } }, free.api));

  it('describes the rate limit', async () => {
    const hasty = await createAccount(relay);
    await sendBeyond('POST /v1/tunnels', 201, () => ({ json: { local_port: 1 } }), hasty.api);
  });

  it('describes the errors of an extend', async () => {
    await send('PUT /v1/tunnels/{id}/extend', 400, { body: '{' });
    await send('PUT /v1/tunnels/{id}/extend', 400, { json: { ttl: 'soon' } });
    await send('PUT /v1/tunnels/{id}/extend', 400, { json: { ttl: '168h' } });
    await send('PUT /v1/tunnels/{id}/extend', 413, { body: ' '.repeat(17_000) });
  });

  it('describes access policies, and invalid ones', async () => {
    const operation = 'PUT /v1/tunnels/{id}/access';
    const basic = [{ user: 'ann', password: 'fern' }];
    await send(operation, 200, {
      json: { allow: ['::1'], basic, password: 'fern', links: true, knock: true },
    });
    const tokens = [{ name: 'ci' }, { name: 'agent', token: 'x'.repeat(24) }];
    await send(operation, 200, { json: { tokens } });
    const nothing = { allow: null, basic: null, password: null, links: null, knock: null, tokens: null };
    await send(operation, 200, { json: nothing });
    await send(operation, 400, { json: { tokens: [{ name: 'CI' }] } });
    await send(operation, 200, { json: {} });
    await send(operation, 400, { json: { pasword: 'fern' } });
    await send(operation, 400, { body: '{' });
    await send(operation, 413, { body: ' '.repeat(17_000) });
  });

  it('describes links, and invalid requests for them', async () => {
    const access = 'PUT /v1/tunnels/{id}/access';
    const operation = 'POST /v1/tunnels/{id}/links';
    await send(operation, 409, { json: {} });
    await send(access, 200, { json: { links: true } });
    await send(operation, 201, { json: { ttl: '1h', note: 'for the review', path: '/x', once: true } });
    await send(operation, 201);
    await send(operation, 201, { json: { ttl: null, note: null, path: null, once: null } });
    await send('GET /v1/tunnels/{id}/links', 200);
    for (const json of [{ ttl: 'soon' }, { ttl: '721h' }, { note: 1 }, { path: 'x' }, { once: 'yes' }])
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

  it('describes approval requests, and invalid decisions', async () => {
    const access = 'PUT /v1/tunnels/{id}/access';
    const operation = 'PUT /v1/tunnels/{id}/knocks/{knock_id}';
    await send(access, 200, { json: { knock: true } });
    const place = { port: relay.port, host: `${tunnel.slug}.localhost:${relay.port}` };
    await mustKnock(place);
    const { json } = await account.api.send('GET', `/v1/tunnels/${tunnel.id}/knocks`);
    const [{ id } = { id: '' }] = (json as { knocks: Knock[] }).knocks;
    const answer = (status: number, request: ApiRequest): Promise<void> =>
      send(operation, status, request, account.api, `/v1/tunnels/{id}/knocks/${id}`);
    await send('GET /v1/tunnels/{id}/knocks', 200);
    for (const body of ['{', '[]', '{}', '{"admit":true,"for":"721h"}']) await answer(400, { body });
    await answer(413, { body: ' '.repeat(17_000) });
    await answer(200, { json: { admit: true, for: '1h' } });
    await send('GET /v1/tunnels/{id}/knocks', 200);
    await answer(200, { json: { admit: false } });
    await send(access, 200, { json: {} });
    await answer(404, { json: { admit: true } });
  });

  it('describes domains, and invalid requests for them', async () => {
    const add = 'POST /v1/domains';
    const on = (operation: string, status: number, id: string, api = account.api) =>
      send(operation, status, {}, api, (operation.split(' ')[1] ?? '').replace('{id}', id));
    await send(add, 201, { json: { domain: 'App.Shop.Test.' } });
    for (const body of ['{', '[]', '{}', '{"domain":"co.uk"}']) await send(add, 400, { body });
    await send(add, 403, { json: { domain: 'free.shop.test' } }, free.api);
    await send(add, 409, { json: { domain: 'below.localhost' } });
    await send(add, 413, { body: ' '.repeat(17_000) });
    const { id, records } = await bringDomain(account, dns, 'shop.test');
    const other = await createAccount(relay);
    dns.clear('shop.test');
    const rival = await claimDomain(other, 'shop.test');
    const proofs = [...records, ...rival.records].filter(({ type }) => type === 'TXT');
    dns.enter(records);
    dns.set('_culvert.shop.test', 'TXT', ...proofs.map(({ value }) => value));
    await on('POST /v1/domains/{id}/verify', 409, rival.id, other.api);
    await on('POST /v1/domains/{id}/verify', 200, id);
    dns.clear('shop.test');
    await on('POST /v1/domains/{id}/verify', 200, id);
    await send('GET /v1/domains', 200);
    await on('GET /v1/domains/{id}', 200, id);
    await send('POST /v1/tunnels', 201, { json: { local_port: 1, domain: 'shop.test' } });
    await send('POST /v1/tunnels', 409, { json: { local_port: 1, domain: 'shop.test' } }, other.api);
    await send('POST /v1/tunnels', 404, { json: { local_port: 1, domain: 'none.test' } }, other.api);
    await on('DELETE /v1/domains/{id}', 200, id);
    for (const operation of [
      'GET /v1/domains/{id}',
      'DELETE /v1/domains/{id}',
      'POST /v1/domains/{id}/verify',
    ])
      await on(operation, 404, id);
    const hasty = await createAccount(relay, { plan: 'team' });
    let calls = 0;
    const next = (): ApiRequest => ({ json: { domain: `a${calls++}.shop.test` } });
    await sendBeyond(add, 201, next, hasty.api);
    const verify = `/v1/domains/${(await claimDomain(hasty, 'a0.shop.test')).id}/verify`;
    await sendBeyond('POST /v1/domains/{id}/verify', 200, () => ({}), hasty.api, verify);
  });

  it('describes kept names, and invalid requests for them', async () => {
    const keep = 'POST /v1/names';
    const on = (operation: string, status: number, request: ApiRequest = {}, name = 'shop') =>
      send(operation, status, request, account.api, `/v1/names/${name}`);
    await send(keep, 201, { json: { name: 'shop' } });
    await send(keep, 200, { json: { name: 'shop' } });
    for (const body of ['{', '[]', '{}']) await send(keep, 400, { body });
    await send(keep, 403, { json: { name: 'mine' } }, free.api);
    await send(keep, 409, { json: { name: 'shop' } }, (await createAccount(relay)).api);
    await send(keep, 413, { body: ' '.repeat(17_000) });
    await on('PUT /v1/names/{name}', 200, { json: { away: 'At lunch.', until: '2099-01-01T00:00:00Z' } });
    await on('PUT /v1/names/{name}', 400, { json: { until: 'soon' } });
    await on('PUT /v1/names/{name}', 404, { json: {} }, 'none');
    await on('PUT /v1/names/{name}', 413, { body: ' '.repeat(17_000) });
    await send('GET /v1/names', 200);
    await on('DELETE /v1/names/{name}', 200);
    await on('DELETE /v1/names/{name}', 404);
  });

  it('describes the request for a key by sign-in', async () => {
    const operation = 'POST /v1/logins';
    const api = new Api(relay, undefined);
    await send(operation, 404, { json: { digest: '0'.repeat(64) } }, api);
    await send(operation, 400, { body: '[' }, api);
    await send(operation, 413, { body: ' '.repeat(17_000) }, api);
  });

  it('describes the agents of a tunnel', async () => {
    await send('GET /v1/tunnels/{id}/agents', 200);
    const path = `/v1/tunnels/{id}/agents/${UNKNOWN}`;
    await send('DELETE /v1/tunnels/{id}/agents/{agent_id}', 404, {}, account.api, path);
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
    'GET /v1/tunnels/{id}/agents',
  ]) {
    it(`describes ${operation} of a tunnel that does not exist`, () =>
      send(operation, 404, { json: {} }, account.api, operation.split(' ')[1]?.replace('{id}', UNKNOWN)));
  }

  it('describes responses without a key, and with a wrong one', async () => {
    const operations = validator.responses.filter((response) => response.endsWith(' 401'));
    assert.ok(operations.length > 9);
    for (const response of operations) {
      const operation = response.slice(0, -' 401'.length);
      const isSocket = operation.includes('/ws/');
      const path = isSocket ? `${operation.split(' ')[1]}?tunnel_id=${tunnel.id}` : '';
      const request = isSocket ? { headers: WEBSOCKET } : {};
      // The id of a connection is enough for its data socket.
      if (operation !== 'GET /ws/data') await send(operation, 401, request, new Api(relay, undefined), path);
      await send(operation, 401, request, new Api(relay, newApiKey()), path);
    }
  });

  it('describes the refusal of a key with another scope', async () => {
    const { api } = await withNewKey(relay, account, '--admin');
    const scoped = validator.responses.filter((response) =>
      /^\w+ \/v1\/(?:tunnels|domains|names).* 403$/.test(response),
    );
    assert.equal(scoped.length, 22);
    for (const response of scoped) await send(response.slice(0, -' 403'.length), 403, {}, api);
  });

  const admin = () => validator.responses.filter((response) => / \/v1\/admin\/.* 401$/.test(response));

  it('describes that the admin API is hidden from other keys', async () => {
    assert.equal(admin().length, 17);
    for (const response of admin()) await send(response.slice(0, -' 401'.length), 404, {}, account.api);
  });

  it('describes refusals by the admin API', async () => {
    for (const response of admin()) {
      const operation = response.slice(0, -' 401'.length);
      if (operation.includes('{id}')) {
        const path = (operation.split(' ')[1] ?? '').replace('{id}', UNKNOWN);
        await send(
          operation,
          404,
          { json: { reason: null, plan: 'dev', subdomain: null } },
          operator.api,
          path,
        );
      }
      if (/^(?:GET|DELETE)/.test(operation)) continue;
      const broken = { name: '', account: '', reason: '', label: 'x'.repeat(101) };
      for (const [status, body] of [
        [400, '['],
        [400, JSON.stringify(broken)],
        [413, ' '.repeat(17_000)],
      ] as const)
        await send(operation, status, { body }, operator.api);
    }
    await send('POST /v1/admin/accounts', 409, { json: { name: account.name } }, operator.api);
    for (const what of ['keys', 'tunnels']) {
      const operation = `GET /v1/admin/${what}`;
      await send(operation, 400, {}, operator.api, `/v1/admin/${what}?account=`);
      await send(operation, 404, {}, operator.api, `/v1/admin/${what}?account=nobody`);
    }
    await send('GET /v1/admin/audit', 400, {}, operator.api, '/v1/admin/audit?count=0');
  });

  it('describes the admin API', async () => {
    const name = `made-${account.name.slice(-8)}`;
    const made = await operator.api.send('POST', '/v1/admin/accounts', {
      json: { name, plan: 'team', subdomain: null, with_key: null },
    });
    validator.check('POST /v1/admin/accounts', made);
    const { id, plan } = made.json as Record<string, string>;
    assert.deepEqual([made.status, plan], [201, 'team']);
    const accounts = '/v1/admin/accounts';
    const suspend = `PUT ${accounts}/{id}/suspension`;
    for (const reason of ['phishing', null])
      await send(suspend, 200, { json: { reason } }, operator.api, `${accounts}/${id}/suspension`);
    await send(suspend, 400, { json: {} }, operator.api, `${accounts}/${id}/suspension`);
    await send(`GET ${accounts}/{id}`, 200, {}, operator.api, `${accounts}/${id}`);
    const setPlan = `PUT ${accounts}/{id}/plan`;
    await send(setPlan, 200, { json: { plan: 'dev' } }, operator.api, `${accounts}/${id}/plan`);
    const setSubdomain = (status: number, subdomain: string) =>
      send(
        `PUT ${accounts}/{id}/subdomain`,
        status,
        { json: { subdomain } },
        operator.api,
        `${accounts}/${id}/subdomain`,
      );
    await setSubdomain(200, name);
    await createAccount(relay, { subdomain: `${name}-x` });
    await setSubdomain(409, `${name}-x`);
    await setSubdomain(400, 'www');
    const keyed = await operator.api.send('POST', accounts, {
      json: { name: `${name}-y`, plan: null, with_key: true },
    });
    validator.check(`POST ${accounts}`, keyed);
    const beside = await new Api(relay, (keyed.json as { key: string }).key).account();
    assert.deepEqual([beside.name, beside.plan], [`${name}-y`, 'dev']);
    const key = await operator.api.send('POST', `${accounts}/${id}/keys`, {
      json: { label: 'ci', expires: '1h', name: null },
    });
    validator.check(`POST ${accounts}/{id}/keys`, key);
    assert.equal(key.status, 201);
    const issued = key.json as { id: string; key: string };
    const api = new Api(relay, issued.key);
    assert.equal((await api.account()).name, name);
    const own = await api.create({ local_port: 9 });
    const tunnels = '/v1/admin/tunnels';
    await send(
      `PUT ${tunnels}/{id}/suspension`,
      200,
      { json: { reason: 'x' } },
      operator.api,
      `${tunnels}/${own.id}/suspension`,
    );
    await send(`DELETE ${tunnels}/{id}`, 200, {}, operator.api, `${tunnels}/${own.id}`);
    for (const count of [2, null])
      await send(
        'POST /v1/admin/invites',
        201,
        { json: { account: name, plan: null, ttl: null, count } },
        operator.api,
      );
    for (const what of ['accounts', 'keys', 'tunnels', 'invites', 'audit'])
      await send(`GET /v1/admin/${what}`, 200, {}, operator.api);
    const { keys } = (await operator.api.send('GET', `/v1/admin/keys?account=${name}`)).json as {
      keys: { id: string; label: string }[];
    };
    assert.deepEqual(
      keys.map(({ id: keyId, label }) => [keyId, label]),
      [[issued.id, 'ci']],
    );
    const open = (await operator.api.send('GET', '/v1/admin/invites')).json as {
      invites: { id: string; account: string }[];
    };
    const mine = open.invites.filter((invite) => invite.account === name).map((invite) => invite.id);
    assert.equal(mine.length, 3);
    const invite = `/v1/admin/invites/${mine[0]}`;
    for (const status of [200, 404])
      await send('DELETE /v1/admin/invites/{id}', status, {}, operator.api, invite);
    const scoped = await operator.api.send('POST', `${accounts}/${id}/keys`, {
      json: { label: null, expires: null, name: 'web' },
    });
    assert.equal((scoped.json as { scope: string }).scope, 'web');
    for (const word of ['admin', 'all', 'A', 1])
      await send(
        `POST ${accounts}/{id}/keys`,
        400,
        { json: { name: word } },
        operator.api,
        `${accounts}/${id}/keys`,
      );
    await send('DELETE /v1/admin/keys/{id}', 200, {}, operator.api, `/v1/admin/keys/${issued.id}`);
    await send(`DELETE ${accounts}/{id}`, 200, {}, operator.api, `${accounts}/${id}`);
    const { acts } = (await administer(relay, 'audit')) as { acts: { actor: string; action: string }[] };
    assert.deepEqual(acts.at(-1), {
      ...acts.at(-1),
      actor: `key:${operator.keyId}`,
      action: 'account.remove',
    });
  });

  it('describes invitations', async () => {
    const operation = 'POST /v1/invites/{token}';
    const made = await administer(relay, 'invite', 'create', '--account', account.name);
    const url = new URL((made as { invites: { url: string }[] }).invites[0]?.url ?? '');
    const path = url.pathname.replace('/invite/', '/v1/invites/');
    const api = new Api(relay, undefined);
    await send(operation, 400, { body: '{' }, api, path);
    await send(operation, 400, { json: { machine: 1 } }, api, path);
    await send(operation, 413, { body: ' '.repeat(17_000) }, api, path);
    await send(operation, 201, { json: { machine: null } }, api, path);
    await send(operation, 404, {}, api, path);
    const headers: Field[] = [['X-Forwarded-For', '203.0.113.8']];
    await sendBeyond(operation, 404, () => ({ headers }), api, path);
  });

  it('describes teams, and invalid requests for them', async () => {
    const team = await createAccount(relay, { plan: 'team' });
    const { api } = await withNewKey(relay, team, '--owner', '--label', 'olga');
    const invite = 'POST /v1/team/invites';
    await send(invite, 201, { json: { labels: ['ann'], ttl: '1h' } }, api);
    for (const [status, body] of [
      [400, '['],
      [400, '{}'],
      [413, ' '.repeat(17_000)],
    ] as const)
      await send(invite, status, { body }, api);
    await send('GET /v1/team', 200, {}, api);
    const list = (await api.send('GET', '/v1/team')).json as { invites: { id: string }[] };
    const id = list.invites[0]?.id ?? '';
    await send('DELETE /v1/team/{id}', 200, {}, api, `/v1/team/${id}`);
    await send('DELETE /v1/team/{id}', 404, {}, api, `/v1/team/${id}`);
    await send('GET /v1/team/audit', 200, {}, api);
    for (const operation of ['GET /v1/team', invite, 'DELETE /v1/team/{id}', 'GET /v1/team/audit'])
      await send(operation, 403, {}, team.api);
    // The share of one key in the audit log, of which it leaves others enough.
    assert.ok(MEMBER_ACTS_PER_DAY < AUDIT_ACTS_PER_DAY / 2);
    const theirs = await api.create({ local_port: 1 });
    assert.equal(theirs.created_by, 'olga');
    await send('GET /v1/domains', 200, {}, api);
    const path = `/v1/tunnels/${theirs.id}`;
    const act = async () =>
      assert.equal((await team.api.send('PUT', `${path}/access`, { json: {} })).status, 200);
    for (let acts = 0; acts < MEMBER_ACTS_PER_DAY; acts += 20)
      await Promise.all(Array.from({ length: 20 }, act));
    await send('PUT /v1/tunnels/{id}/access', 429, { json: {} }, team.api, `${path}/access`);
    await send('PUT /v1/tunnels/{id}/extend', 429, { json: { ttl: '1s' } }, team.api, `${path}/extend`);
    await send('GET /v1/tunnels/{id}', 200, {}, team.api, path);
    const own = await team.api.create({ local_port: 1 });
    for (const each of [path, `/v1/tunnels/${own.id}`])
      await send('DELETE /v1/tunnels/{id}', 200, {}, team.api, each);
    await send('DELETE /v1/team/{id}', 200, {}, api, `/v1/team/${team.keyId}`);
  });

  it('describes the refusal of a suspended account', async () => {
    const { api, name } = await createAccount(relay);
    await administer(relay, 'account', 'suspend', '--name', name, '--reason', 'phishing');
    const keyed = validator.responses.filter((response) => response.endsWith(' 401'));
    for (const operation of keyed.map((response) => response.slice(0, -' 401'.length))) {
      const isSocket = operation.includes('/ws/');
      const path = isSocket ? `${operation.split(' ')[1]}?tunnel_id=${tunnel.id}` : '';
      await send(operation, 403, isSocket ? { headers: WEBSOCKET } : {}, api, path);
    }
  });

  it('describes what happens with too many wrong keys from an address', async () => {
    const stranger = new Api(relay, newApiKey());
    const from: Field = ['X-Forwarded-For', '203.0.113.9'];
    const keyed = validator.responses.filter((response) => response.endsWith(' 401'));
    for (const operation of keyed.map((response) => response.slice(0, -' 401'.length))) {
      const isSocket = operation.includes('/ws/');
      const path = isSocket ? `${operation.split(' ')[1]}?tunnel_id=${tunnel.id}` : '';
      const headers = isSocket ? [...WEBSOCKET, from] : [from];
      await sendBeyond(operation, 401, () => ({ headers }), stranger, path);
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
      send(`GET ${target.split('?')[0]}`, status, { headers: WEBSOCKET }, account.api, target));
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

interface ResponseObject {
  readonly headers?: Readonly<Record<string, { readonly required?: boolean; readonly schema: object }>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface OperationObject {
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
}

/** Checks responses against an OpenAPI document, and records which of the documented ones have been seen. */
class OpenApiValidator {
  readonly document: Document;
  readonly #ajv: Ajv2020;
  readonly #seen = new Set<string>();

  constructor(json: unknown) {
    this.document = closed(json) as Document;
    this.#ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
    addFormats.default(this.#ajv);
    // The whole document is one schema resource, so that its references resolve.
    this.#ajv.addVocabulary(Object.keys(this.document));
    this.#ajv.addSchema({ ...this.document, $id: 'openapi' });
  }

  /** Every response with a status in the document, as `GET /path 200`. */
  get responses(): string[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => method !== 'parameters')
        .flatMap(([method, { responses }]) =>
          Object.keys(responses)
            .filter((status) => /^\d+$/.test(status))
            .map((status) => `${method.toUpperCase()} ${path} ${status}`),
        ),
    );
  }

  /** The {@link responses} that have not been seen. */
  get unseen(): string[] {
    return this.responses.filter((response) => !this.#seen.has(response));
  }

  /**
   * Checks status, required fields and body.
   *
   * @param operation method and path as in the document, such as `GET /v1/tunnels/{id}`
   */
  check(operation: string, received: Pick<ApiResponse, 'status' | 'head' | 'json'>): void {
    const [method = '', path = ''] = operation.split(' ');
    const key = `${operation} ${received.status}`;
    const pointer = ['paths', path, method.toLowerCase(), 'responses', String(received.status)];
    const response = this.document.paths[path]?.[method.toLowerCase()]?.responses[received.status];
    assert.ok(response !== undefined, `the document has no ${key}`);
    for (const [name, { required, schema }] of Object.entries(response.headers ?? {})) {
      const value = received.head.field(name);
      if (required === true || value !== undefined) this.#validate(schema, value, `${key}: ${name}`);
    }
    assert.equal(received.head.field('content-type'), 'application/json; charset=utf-8');
    const reference = [...pointer, 'content', 'application/json', 'schema'].map(escape).join('/');
    this.#validate({ $ref: `openapi#/${reference}` }, received.json, key);
    this.#seen.add(key);
  }

  #validate(schema: object, value: unknown, what: string): void {
    const isValid = this.#ajv.validate(schema, value);
    assert.ok(isValid, `${what}: ${this.#ajv.errorsText()}: ${JSON.stringify(value)}`);
  }
}

/** A token of a JSON pointer in a URI fragment (RFC 6901 section 6). */
function escape(token: string): string {
  return encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** The same schemas without additional properties: an undocumented field is a gap in the document. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.fromEntries(Object.entries(value).map(([name, field]) => [name, closed(field)]));
  return 'properties' in fields ? { ...fields, additionalProperties: false } : fields;
}
