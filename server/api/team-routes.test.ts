/** Who may do what, and what the team's audit shows. `e2e/protocol/teams.test.ts` has what a team works with. */
import assert from 'node:assert/strict';
import { Administration } from '../administration/administration.ts';
import { ApiFixture, anAccount, codeOf } from '../testing/fixtures.ts';
import { CREATE_BURST } from './scheduler.ts';

type Json = Readonly<Record<string, unknown>>;

describe('the REST interface of teams', () => {
  const team = anAccount({ name: 'team', plan: 'team' });
  const other = anAccount({ name: 'other', plan: 'team' });
  let api: ApiFixture;
  let owner: string;

  beforeEach(async () => {
    api = await ApiFixture.start(team, other);
    owner = await api.keyOf(team, { scope: { kind: 'owner' }, label: 'olga' });
  });

  afterEach(() => api.stop());

  function call(key: string | undefined, method: string, path: string, fields?: object) {
    // Entries of the audit log are in the order of their times.
    api.clock.advance(1);
    return api.call(method, path, key, fields);
  }

  /** @returns the body of the response to a call that has to succeed */
  async function made(...request: Parameters<typeof call>): Promise<Json> {
    const { status, body } = await call(...request);
    assert.ok(status === 200 || status === 201, JSON.stringify(body));
    return body;
  }

  async function invite(key: string, label: string, fields: object = {}): Promise<Json> {
    const { invites } = await made(key, 'POST', '/v1/team/invites', { labels: [label], ...fields });
    return (invites as Json[])[0] ?? {};
  }

  /** Invites a person, who accepts. @returns their key */
  async function member(label: string, fields: object = {}): Promise<string> {
    const token = String((await invite(owner, label, fields))['url'])
      .split('/')
      .at(-1);
    return String((await made(undefined, 'POST', `/v1/invites/${token}`, { machine: 'laptop' }))['key']);
  }

  async function create(key: string, name = '', fields: Json = {}): Promise<Json> {
    return await made(key, 'POST', '/v1/tunnels', { local_port: 1, name, ...fields });
  }

  async function list(key = owner): Promise<{ keys: Json[]; invites: Json[] }> {
    return (await made(key, 'GET', '/v1/team')) as { keys: Json[]; invites: Json[] };
  }

  async function keyLabelled(label: string): Promise<Json> {
    return (await list()).keys.find((key) => key['label'] === label) ?? assert.fail(label);
  }

  /** @returns these fields of each entry of the audit log */
  async function audit(...fields: string[]): Promise<string[]> {
    const { acts } = await made(owner, 'GET', '/v1/team/audit');
    return (acts as Json[]).map((act) => fields.map((field) => act[field]).join(' '));
  }

  const CALLS = [
    ['GET', '/v1/team'],
    ['GET', '/v1/team/audit'],
    ['POST', '/v1/team/invites', { labels: ['eve'] }],
  ] as const;

  it('refuses members, keys for one tunnel, and administrators', async () => {
    const keys = [
      await member('ann'),
      await api.keyOf(team, { scope: { kind: 'tunnel', name: 'web' } }),
      await api.keyOf(team, { scope: { kind: 'admin' } }),
    ];
    const { id } = await invite(owner, 'bob');
    for (const key of keys)
      for (const [method, path, fields] of [...CALLS, ['DELETE', `/v1/team/${String(id)}`] as const])
        assert.equal((await call(key, method, path, fields)).status, 403, `${method} ${path}`);
    assert.equal((await list()).invites.length, 1);
  });

  it('lets nobody store a response', async () => {
    for (const [method, path, fields] of CALLS) {
      const { headers } = await call(owner, method, path, fields);
      assert.equal(headers.get('cache-control'), 'no-store', path);
    }
  });

  it('does not let an owner reach other accounts', async () => {
    const stranger = await api.keyOf(other, { scope: { kind: 'owner' } });
    const invited = await invite(stranger, 'eve');
    const [theirs] = (await list(stranger)).keys;
    for (const id of [invited['id'], theirs?.['id']])
      assert.equal((await call(owner, 'DELETE', `/v1/team/${String(id)}`)).status, 404);
    assert.equal((await list(stranger)).invites.length, 1);
    assert.doesNotMatch((await audit('detail')).join('\n'), /eve/);
  });

  it('neither shows nor revokes the keys of the operator in the account', async () => {
    const admin = await api.keyOf(team, { scope: { kind: 'admin' }, label: 'operator' });
    const { keys } = await made(admin, 'GET', '/v1/admin/keys');
    const { id } = (keys as Json[]).find(({ scope }) => scope === 'admin') ?? {};
    assert.equal((await call(owner, 'DELETE', `/v1/team/${String(id)}`)).status, 404);
    assert.deepEqual(
      (await list()).keys.map(({ label }) => label),
      ['olga'],
    );
    // What they do elsewhere is not the team's business.
    await made(admin, 'PUT', `/v1/admin/accounts/${other.id}/plan`, { plan: 'free' });
    await made(admin, 'PUT', `/v1/admin/accounts/${team.id}/subdomain`, { subdomain: 'team' });
    assert.deepEqual(await audit('action', 'subject'), ['account.set-subdomain team']);
  });

  it('makes no owners by invitation', async () => {
    await member('bob', { scope: 'owner', account: 'other', plan: 'team' });
    assert.equal((await keyLabelled('bob'))['scope'], 'all');
  });

  for (const fields of [
    ...[undefined, 'ann', [], [''], [' '], ['a\u001b[2J'], ['x'.repeat(101)], [1]].map((labels) => ({
      labels,
    })),
    { labels: Array.from({ length: 101 }, (_, index) => `p${index}`) },
    { labels: ['ann'], ttl: '0s' },
    { labels: ['ann'], ttl: '9000h' },
    { labels: ['ann'], ttl: 5 },
  ])
    it(`refuses an invitation with ${JSON.stringify(fields).slice(0, 40)}`, async () => {
      const refused = await call(owner, 'POST', '/v1/team/invites', fields);
      assert.equal(codeOf(refused), '400 invalid-admin-request');
      assert.deepEqual((await list()).invites, []);
    });

  it('shows whose a tunnel is, and since when somebody else serves it', async () => {
    const [ann, bob] = [await member('ann'), await member('bob')];
    assert.equal((await create(ann, 'web'))['created_by'], 'ann');
    assert.equal((await create(bob, 'web', { take_over: true }))['created_by'], 'bob');
    const { tunnels } = await made(ann, 'GET', '/v1/tunnels');
    assert.equal((tunnels as Json[])[0]?.['created_by'], 'bob');
    assert.equal((await create(await api.keyOf(team)))['created_by'], null);
  });

  it("records changes to somebody else's tunnel, and none to one's own", async () => {
    const [ann, bob] = [await member('ann'), await member('bob')];
    const { id } = await create(ann, 'web');
    const path = `/v1/tunnels/${String(id)}`;
    for (const key of [ann, bob]) {
      await made(key, 'PUT', `${path}/extend`, { ttl: '1m' });
      await made(key, 'PUT', `${path}/access`, { links: true });
      await create(key, 'web', { take_over: true });
    }
    await made(ann, 'DELETE', path);
    assert.equal((await call(ann, 'DELETE', path)).status, 404);
    assert.deepEqual(
      (await audit('action', 'subject', 'detail')).filter((act) => act.includes(' web ')),
      [
        'team.extend web of "ann", by "bob"',
        'team.access web of "ann", by "bob"',
        'team.take-over web of "ann", by "bob"',
        'team.close web of "bob", by "ann"',
      ],
    );
  });

  it('records who joined, and whom an owner has invited and revoked', async () => {
    await member('ann');
    const { id } = await keyLabelled('ann');
    await made(owner, 'DELETE', `/v1/team/${String(id)}`);
    const [invited, taken, revoked] = await audit('action', 'actor', 'detail');
    assert.match(invited ?? '', /^team\.invite /);
    assert.match(taken ?? '', /^invite\.take invite:/);
    assert.match(revoked ?? '', /^team\.revoke .* the key cvt_.{4}… of "ann", by "olga"$/);
  });

  it("hides the names of the operator's people", async () => {
    const by = { actor: 'shell:root (SUDO_USER=oscar)', accountId: null };
    const { clock, store } = api;
    const administration = () => new Administration({ store, clock, nameHold: 0, by });
    await administration().suspendAccount('team', 'unpaid');
    clock.advance(1);
    await administration().suspendAccount('team', null);
    assert.deepEqual(await audit('actor', 'action'), ['operator account.suspend', 'operator account.resume']);
    assert.doesNotMatch((await audit('actor', 'subject', 'detail')).join('\n'), /oscar|root|shell/);
  });

  it('quotes labels, so that none can claim to be another key', async () => {
    const [mallory, ann] = [await member('m", by "bob'), await member('ann')];
    const { id } = await create(ann, 'web');
    await made(mallory, 'DELETE', `/v1/tunnels/${String(id)}`);
    assert.equal((await audit('detail')).at(-1), String.raw`of "ann", by "m\", by \"bob"`);
  });

  it('limits create requests for each key', async () => {
    for (const label of ['ann', 'bob']) {
      const key = await member(label);
      for (let count = 0; count < CREATE_BURST; count += 1) await create(key);
      assert.equal((await call(key, 'POST', '/v1/tunnels', { local_port: 1 })).status, 429);
    }
  });
});
