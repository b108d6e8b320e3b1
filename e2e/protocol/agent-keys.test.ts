import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { administer, createAccount, type TestAccount, withNewKey } from '../support/accounts.ts';
import type { ApiResponse } from '../support/api.ts';
import { within } from '../support/deadline.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { ControlSocket } from '../support/spec-client/client.ts';
import { TrunkClient } from '../support/spec-client/trunk.ts';
import { WITH_TRUNKS } from '../support/trunk-world.ts';

const HOUR_MS = 3_600_000;
/** Clocks of the test and the relay are the same; responses take their time. */
const LATE_MS = 10_000;
const PASSWORD = { password: 'mild-oak-fern' };

describe("a hostile holder of an agent's key (protocol.md section 2.1)", () => {
  const { scope, relay } = sharedRelaySuite({ ...WITH_TRUNKS, CULVERT_NAME_HOLD: '0s' });
  let owner: TestAccount;
  let agent: TestAccount;

  beforeEach(async () => {
    owner = await createAccount(relay, { plan: 'team' });
    agent = await newAgent();
  });

  afterEach(async () => {
    // The next test uses the same names.
    for (const { id } of await owner.api.list()) await owner.api.close(id);
  });

  function newAgent(prefix = 'ai'): Promise<TestAccount> {
    return withNewKey(relay, owner, '--agent', '--prefix', prefix);
  }

  it('is told its bounds', async () => {
    const { limits, agent_key: bounds } = await agent.api.account();
    assert.deepEqual(
      [limits.default_ttl, limits.max_ttl, bounds],
      ['1h0m0s', '1h0m0s', { name_prefix: 'ai-' }],
    );
    assert.equal((await owner.api.account()).agent_key, null);
  });

  it('cannot create a tunnel outside them', async () => {
    const open = [
      undefined,
      null,
      {},
      { allow: [] },
      { allow: ['0.0.0.0/0', '::/0'] },
      { allow: ['0.0.0.0/1', '128.0.0.0/1'] },
      { allow: ['192.0.2.7', '::ffff:0:0/96'] },
      { basic: [], tokens: [], links: false, knock: false, password: null },
    ];
    const rows: (readonly [fields: object, code: string])[] = [
      ...open.map((access) => [{ name: 'ai-x', access }, '403 agent-access'] as const),
      ...['shop', 'ai', 'aix', 'ai--shop', 'ai-x--shop', 'other-ai-x'].map(
        (name) => [{ name, access: PASSWORD }, '403 agent-name'] as const,
      ),
      [{ ttl: '1h0m1s', access: PASSWORD }, '400 ttl-too-long'],
      [{ ttl: '168h', access: PASSWORD }, '400 ttl-too-long'],
      [{ ttl: '10m', idle_ttl: true, access: PASSWORD }, '403 agent-idle'],
      [{ wildcard: true, access: PASSWORD }, '403 agent-hosts'],
      [{ domain: 'app.example.com', access: PASSWORD }, '403 agent-hosts'],
      [{ domain: '*.example.com', access: PASSWORD }, '403 agent-hosts'],
      [{ access: { pasword: 'mild-oak-fern' } }, '400 invalid-access'],
    ];
    for (const [fields, code] of rows)
      for (const take_over of [false, true])
        assert.equal(codeOf(await create(agent, { ...fields, take_over })), code, JSON.stringify(fields));
    assert.deepEqual(await owner.api.list(), []);
    const { json } = await create(agent, { name: 'shop', access: PASSWORD });
    assert.match((json as { error: string }).error, /must begin with "ai-"/);
  });

  it('gets an hour by default, and extends it to no later than an hour from now, however many requests it sends', async () => {
    const made = await agent.api.create({ local_port: 9, name: 'ai-x', access: PASSWORD });
    assert.deepEqual([made.ttl, made.idle_ttl, made.wildcard], ['1h0m0s', false, false]);
    assertWithinAnHour(made);
    const short = await agent.api.create({ local_port: 9, ttl: '25m', access: { links: true } });
    const extend = (ttl?: string) =>
      agent.api.send('PUT', `/v1/tunnels/${short.id}/extend`, { json: ttl === undefined ? {} : { ttl } });
    const answers = await Promise.all(Array.from({ length: 8 }, () => extend()));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const ttl of ['1h', '168h', '36m']) assert.equal(codeOf(await extend(ttl)), '400 ttl-too-long');
    assertWithinAnHour(await agent.api.get(short.id));
  });

  it('cannot open a tunnel to everybody, also not with several requests at a time', async () => {
    const tunnel = await agent.api.create({ local_port: 9, name: 'ai-x', access: PASSWORD });
    const path = `/v1/tunnels/${tunnel.id}/access`;
    const put = (json: object) => agent.api.send('PUT', path, { json });
    for (const json of [{}, { allow: ['::/0'] }, { password: null }, { tokens: [] }])
      assert.equal(codeOf(await put(json)), '403 agent-access', JSON.stringify(json));
    const policies = [{ tokens: [{ name: 'a' }] }, { links: true }, {}, PASSWORD, { allow: ['0.0.0.0/0'] }];
    const takeOver = { name: 'ai-x', take_over: true, access: { knock: true } };
    const all = [...policies.map(put), create(agent, takeOver), create(agent, { ...takeOver, access: {} })];
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    assert.deepEqual(statuses, [200, 200, 403, 200, 403, 200, 403]);
    assert.equal(Object.keys((await agent.api.get(tunnel.id)).access).length, 1);
  });

  it('reaches no tunnel of its account that no agent has created', async () => {
    const above = await owner.api.create({ local_port: 9, name: 'of-a-person' });
    const below = await owner.api.create({ local_port: 9, name: 'ai-mine', ttl: '24h' });
    const unnamed = await owner.api.create({ local_port: 9 });
    const before = await owner.api.list();
    for (const { id } of [above, below, unnamed]) {
      const calls = [
        ['GET', '', undefined],
        ['DELETE', '', undefined],
        ['PUT', '/extend', { ttl: '1m' }],
        ['PUT', '/access', PASSWORD],
        ['POST', '/links', {}],
        ['GET', '/links', undefined],
        ['GET', '/knocks', undefined],
      ] as const;
      for (const [method, path, json] of calls) {
        const answer = await agent.api.send(method, `/v1/tunnels/${id}${path}`, json ? { json } : {});
        assert.equal(codeOf(answer), '404 tunnel-not-found', `${method} ${path}`);
      }
      await assert.rejects(ControlSocket.open(scope, relay, agent.key, id), /tunnel-not-found/);
    }
    for (const take_over of [false, true])
      assert.equal(
        codeOf(await create(agent, { name: 'ai-mine', take_over, access: PASSWORD })),
        '409 name-taken',
      );
    assert.deepEqual(await agent.api.list(), []);
    assert.deepEqual(await owner.api.list(), before);
  });

  it('loses a tunnel that another key of the account has taken over', async () => {
    const tunnel = await agent.api.create({ local_port: 9, name: 'ai-x', access: PASSWORD });
    const control = await ControlSocket.open(scope, relay, agent.key, tunnel.id);
    await TrunkClient.open(scope, relay, agent.key, tunnel.id);
    const taken = await create(owner, { name: 'ai-x', take_over: true, ttl: '24h' });
    assert.equal(taken.status, 200);
    assert.equal((await within(10_000, 'the end of its control socket', control.closed)).code, 4000);
    const opened = TrunkClient.open(scope, relay, agent.key, tunnel.id);
    await assert.rejects(opened, /tunnel-not-found/);
    const access = await agent.api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: PASSWORD });
    assert.equal(codeOf(access), '404 tunnel-not-found');
    await ControlSocket.open(scope, relay, owner.key, tunnel.id);
    await assert.rejects(ControlSocket.open(scope, relay, agent.key, tunnel.id), /tunnel-not-found/);
    assert.equal(
      codeOf(await create(agent, { name: 'ai-x', take_over: true, access: PASSWORD })),
      '409 name-taken',
    );
  });

  it('has the same bounds with the key that replaces it, and none of the tunnels of other agents', async () => {
    const named = await agent.api.create({ local_port: 9, name: 'ai-x', access: PASSWORD });
    const unnamed = await agent.api.create({ local_port: 9, access: PASSWORD });
    await administer(relay, 'key', 'revoke', agent.keyId);
    assert.equal((await agent.api.send('GET', '/v1/tunnels')).status, 401);
    const [next, other] = [await newAgent(), await newAgent('bot')];
    assert.deepEqual(
      (await next.api.list()).map(({ id }) => id),
      [named.id],
    );
    assert.deepEqual(await other.api.list(), []);
    for (const account of [next, other])
      await assert.rejects(ControlSocket.open(scope, relay, account.key, unnamed.id), /tunnel-not-found/);
    const path = `/v1/tunnels/${named.id}`;
    assert.equal(codeOf(await next.api.send('PUT', `${path}/access`, { json: {} })), '403 agent-access');
    const taken = await create(next, { name: 'ai-x', take_over: true, access: { links: true } });
    assert.deepEqual([taken.status, (taken.json as Tunnel).id], [200, named.id]);
    assertWithinAnHour(taken.json as Tunnel);
  });

  it('makes no links and approvals for longer than an hour', async () => {
    const { id } = await agent.api.create({ local_port: 9, access: { links: true, knock: true } });
    const link = await agent.api.send('POST', `/v1/tunnels/${id}/links`, { json: {} });
    const { expires_at } = link.json as { expires_at: string };
    assert.equal(link.status, 201);
    assert.ok(Date.parse(expires_at) <= Date.now() + HOUR_MS + LATE_MS, expires_at);
    const longer = await agent.api.send('POST', `/v1/tunnels/${id}/links`, { json: { ttl: '24h' } });
    assert.equal(codeOf(longer), '400 ttl-too-long');
    const json = { admit: true, for: '720h' };
    const answer = await agent.api.send('PUT', `/v1/tunnels/${id}/knocks/0123456789abcdef`, { json });
    assert.equal(codeOf(answer), '400 invalid-knock-answer');
  });

  it('can do nothing with domains, people and the relay', async () => {
    for (const path of ['/v1/domains', '/v1/team', '/v1/team/audit'])
      assert.equal(codeOf(await agent.api.send('GET', path)), '403 key-scope', path);
    const json = { labels: ['mallory'] };
    assert.equal(codeOf(await agent.api.send('POST', '/v1/team/invites', { json })), '403 key-scope');
    assert.equal(codeOf(await agent.api.send('GET', '/v1/admin/keys')), '404 not-found');
  });
});

function create(account: TestAccount, fields: object): Promise<ApiResponse> {
  return account.api.send('POST', '/v1/tunnels', { json: { local_port: 9, ...fields } });
}

function codeOf({ status, json }: ApiResponse): string {
  return `${status} ${(json as { code?: string }).code ?? ''}`;
}

function assertWithinAnHour({ expires_at }: Pick<Tunnel, 'expires_at'>): void {
  const left = Date.parse(expires_at) - Date.now();
  assert.ok(left <= HOUR_MS + 1000, `${expires_at} is ${left} ms away`);
}
