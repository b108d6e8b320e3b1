import assert from 'node:assert/strict';
import { Administration } from '../administration/admin-actions.ts';
import { AUDIT_ACTS_PER_DAY, CREATE_BURST, MEMBER_ACTS_PER_DAY } from '../limits.ts';
import type { AccountRecord } from '../store/records.ts';
import { ApiFixture, anAccount } from '../testing/fixtures.ts';

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

  function call(key: string, method: string, path: string, body?: Json) {
    // Entries of the audit log are in the order of their times.
    api.clock.advance(1);
    return api.call(method, path, { key, ...(body !== undefined && { body: JSON.stringify(body) }) });
  }

  async function invite(key: string, ...labels: string[]): Promise<Json[]> {
    const { status, body } = await call(key, 'POST', '/v1/team/invites', { labels });
    assert.equal(status, 201, JSON.stringify(body));
    return body['invites'] as Json[];
  }

  /** Accepts an invitation. */
  async function join({ url }: Json): Promise<string> {
    const token = String(url).split('/').at(-1);
    api.clock.advance(1);
    const { status, body } = await api.call('POST', `/v1/invites/${token}`, { body: '{"machine":"laptop"}' });
    assert.equal(status, 201);
    return String(body['key']);
  }

  async function member(label: string): Promise<string> {
    const [made = {}] = await invite(owner, label);
    return await join(made);
  }

  async function create(key: string, name = '', fields: Json = {}): Promise<Json> {
    const { status, body } = await call(key, 'POST', '/v1/tunnels', { local_port: 1, name, ...fields });
    assert.ok(status === 201 || status === 200, JSON.stringify(body));
    return body;
  }

  async function list(key = owner): Promise<{ keys: Json[]; invites: Json[] }> {
    return (await call(key, 'GET', '/v1/team')).body as unknown as { keys: Json[]; invites: Json[] };
  }

  async function audit(key = owner): Promise<Json[]> {
    return (await call(key, 'GET', '/v1/team/audit')).body['acts'] as Json[];
  }

  /** The statuses of one create request more than a burst. */
  async function statuses(key: string): Promise<number[]> {
    const found: number[] = [];
    for (let count = 0; count <= CREATE_BURST; count += 1)
      found.push((await call(key, 'POST', '/v1/tunnels', { local_port: 1 })).status);
    return found;
  }

  it('lets an owner invite people, whose keys have the labels', async () => {
    const [ann = {}, bob = {}] = await invite(owner, 'ann', 'bob');
    assert.match(String(ann['url']), /^http:\/\/localhost:8080\/invite\/[\w-]{32}$/);
    assert.deepEqual([ann['label'], bob['label']], ['ann', 'bob']);
    await join(ann);
    const { keys, invites } = await list();
    assert.deepEqual(
      keys.map(({ label, scope }) => [label, scope]),
      [
        ['olga', 'owner'],
        ['ann', 'all'],
      ],
    );
    assert.deepEqual(
      invites.map(({ label, id }) => [label, id]),
      [['bob', bob['id']]],
    );
  });

  it('gives an owner everything that a member can do', async () => {
    const tunnel = await create(owner, 'web');
    assert.equal(tunnel['created_by'], 'olga');
    assert.equal((await call(owner, 'DELETE', `/v1/tunnels/${String(tunnel['id'])}`)).status, 200);
    assert.equal((await call(owner, 'GET', '/v1/domains')).status, 200);
  });

  it('revokes keys and invitations immediately', async () => {
    const ann = await member('ann');
    const [bob = {}] = await invite(owner, 'bob');
    const annId = String((await list()).keys.find(({ label }) => label === 'ann')?.['id']);
    for (const id of [annId, String(bob['id'])]) {
      assert.equal((await call(owner, 'DELETE', `/v1/team/${id}`)).status, 200);
      assert.equal((await call(owner, 'DELETE', `/v1/team/${id}`)).status, 404);
    }
    assert.equal((await call(ann, 'GET', '/v1/tunnels')).status, 401);
    const token = String(bob['url']).split('/').at(-1);
    assert.equal((await api.call('POST', `/v1/invites/${token}`, { body: '{}' })).status, 404);
  });

  it('refuses members, keys for one tunnel, and administrators', async () => {
    const keys = [
      await member('ann'),
      await api.keyOf(team, { scope: { kind: 'tunnel', name: 'web' } }),
      await api.keyOf(team, { scope: { kind: 'admin' } }),
    ];
    const [bob = {}] = await invite(owner, 'bob');
    for (const key of keys) {
      for (const [method, path, body] of [
        ['GET', '/v1/team'],
        ['GET', '/v1/team/audit'],
        ['POST', '/v1/team/invites', { labels: ['eve'] }],
        ['DELETE', `/v1/team/${String(bob['id'])}`],
      ] as const)
        assert.equal((await call(key, method, path, body)).status, 403, `${method} ${path}`);
    }
    assert.equal((await list()).invites.length, 1);
  });

  it('does not let an owner reach other accounts, the administration, or a higher plan', async () => {
    const stranger = await api.keyOf(other, { scope: { kind: 'owner' } });
    const [invited = {}] = await invite(stranger, 'eve');
    const theirs = (await list(stranger)).keys;
    for (const id of [invited['id'], ...theirs.map((key) => key['id'])])
      assert.equal((await call(owner, 'DELETE', `/v1/team/${String(id)}`)).status, 404);
    assert.equal((await list(stranger)).invites.length, 1);
    for (const [method, path] of [
      ['GET', '/v1/admin/accounts'],
      ['PUT', `/v1/admin/accounts/${team.id}/plan`],
      ['POST', '/v1/admin/invites'],
    ] as const)
      assert.equal((await call(owner, method, path, method === 'GET' ? undefined : {})).status, 404);
    // A tunnel of theirs is as good as missing.
    const { id } = await create(stranger);
    assert.equal((await call(owner, 'DELETE', `/v1/tunnels/${String(id)}`)).status, 404);
    assert.deepEqual(
      (await audit()).filter(({ detail }) => String(detail).includes('eve')),
      [],
    );
  });

  it('neither shows nor revokes the keys of the operator in the account', async () => {
    const admin = await api.keyOf(team, { scope: { kind: 'admin' }, label: 'operator' });
    const { body } = await call(admin, 'GET', '/v1/admin/keys');
    const { id } = (body['keys'] as Json[]).find(({ scope }) => scope === 'admin') ?? {};
    assert.equal((await call(owner, 'DELETE', `/v1/team/${String(id)}`)).status, 404);
    assert.deepEqual(
      (await list()).keys.map(({ label }) => label),
      ['olga'],
    );
    // What they do elsewhere is not the team's business.
    await call(admin, 'PUT', `/v1/admin/accounts/${other.id}/plan`, { plan: 'free' });
    await call(admin, 'PUT', `/v1/admin/accounts/${team.id}/subdomain`, { subdomain: 'team' });
    const acts = await audit();
    assert.deepEqual(
      acts.map(({ action, subject }) => `${String(action)} ${String(subject)}`),
      ['account.set-subdomain team'],
    );
  });

  for (const [method, path, body] of [
    ['GET', '/v1/team'],
    ['GET', '/v1/team/audit'],
    ['POST', '/v1/team/invites', { labels: ['ann'] }],
  ] as const)
    it(`lets nobody store the response to ${method} ${path}`, async () => {
      assert.equal((await call(owner, method, path, body)).headers.get('cache-control'), 'no-store');
    });

  it('makes no owners by invitation', async () => {
    const ann = await member('ann');
    assert.equal(
      (await call(ann, 'POST', '/v1/team/invites', { labels: ['eve'], scope: 'owner' })).status,
      403,
    );
    const made = await call(owner, 'POST', '/v1/team/invites', {
      labels: ['bob'],
      scope: 'owner',
      account: 'other',
      plan: 'team',
    });
    await join((made.body['invites'] as Json[])[0] ?? {});
    const bob = (await list()).keys.find(({ label }) => label === 'bob');
    assert.equal(bob?.['scope'], 'all');
  });

  it('refuses labels and times that break a rule', async () => {
    const wrong: readonly Json[] = [
      {},
      { labels: 'ann' },
      { labels: [] },
      { labels: [''] },
      { labels: [' '] },
      { labels: ['a\u001b[2J'] },
      { labels: ['x'.repeat(101)] },
      { labels: [1] },
      { labels: Array.from({ length: 101 }, (_, index) => `p${index}`) },
      { labels: ['ann'], ttl: '0s' },
      { labels: ['ann'], ttl: '9000h' },
      { labels: ['ann'], ttl: 5 },
    ];
    for (const body of wrong) {
      const { status, body: answer } = await call(owner, 'POST', '/v1/team/invites', body);
      assert.deepEqual([status, answer['code']], [400, 'invalid-admin-request'], JSON.stringify(body));
    }
    assert.equal((await list()).invites.length, 0);
  });

  it('shows whose a tunnel is, and since when somebody else serves it', async () => {
    const [ann, bob] = [await member('ann'), await member('bob')];
    const made = await create(ann, 'web');
    assert.equal(made['created_by'], 'ann');
    assert.equal((await create(bob, 'web', { take_over: true }))['created_by'], 'bob');
    const { body } = await call(ann, 'GET', '/v1/tunnels');
    assert.deepEqual(
      (body['tunnels'] as Json[]).map((tunnel) => tunnel['created_by']),
      ['bob'],
    );
    assert.equal((await create(await api.keyOf(team)))['created_by'], null);
  });

  it("records changes to somebody else's tunnel, and none to one's own", async () => {
    const [ann, bob] = [await member('ann'), await member('bob')];
    const { id } = await create(ann, 'web');
    const path = `/v1/tunnels/${String(id)}`;
    for (const key of [ann, bob]) {
      assert.equal((await call(key, 'PUT', `${path}/extend`, { ttl: '1m' })).status, 200);
      assert.equal((await call(key, 'PUT', `${path}/access`, { links: true })).status, 200);
      await create(key, 'web', { take_over: true });
    }
    assert.equal((await call(ann, 'DELETE', path)).status, 200);
    assert.equal((await call(ann, 'DELETE', path)).status, 404);
    const acts = (await audit()).filter(({ subject }) => subject === 'web');
    assert.deepEqual(
      acts.map(({ action, detail }) => `${String(action)} ${String(detail)}`),
      [
        'team.extend of "ann", by "bob"',
        'team.access of "ann", by "bob"',
        'team.take-over of "ann", by "bob"',
        'team.close of "bob", by "ann"',
      ],
    );
  });

  it('records who joined, whom an owner has invited and revoked, and what the operator did', async () => {
    await member('ann');
    const { id } = (await list()).keys.find(({ label }) => label === 'ann') ?? {};
    await call(owner, 'DELETE', `/v1/team/${String(id)}`);
    const acts = await audit();
    assert.deepEqual(
      acts.map(({ action }) => action),
      ['team.invite', 'invite.take', 'team.revoke'],
    );
    assert.match(String(acts[1]?.['actor']), /^invite:/);
    assert.match(String(acts[2]?.['detail']), /^the key cvt_.{4}… of "ann", by "olga"$/);
  });

  it("hides the names of the operator's people", async () => {
    const by = { actor: 'shell:root (SUDO_USER=oscar)', accountId: null };
    const { clock, store } = api;
    await new Administration({ store, clock, nameHold: 0, by }).suspendAccount('team', 'unpaid');
    clock.advance(1);
    await new Administration({ store, clock, nameHold: 0, by }).suspendAccount('team', null);
    const acts = await audit();
    assert.deepEqual(
      acts.map(({ actor, action }) => [actor, action]),
      [
        ['operator', 'account.suspend'],
        ['operator', 'account.resume'],
      ],
    );
    assert.doesNotMatch(JSON.stringify(acts), /oscar|root|shell/);
  });

  it('quotes labels, so that none can claim to be another key', async () => {
    const [mallory, ann] = [await member('m", by "bob'), await member('ann')];
    const { id } = await create(ann, 'web', {});
    assert.equal((await call(mallory, 'DELETE', `/v1/tunnels/${String(id)}`)).status, 200);
    assert.equal((await audit()).at(-1)?.['detail'], String.raw`of "ann", by "m\", by \"bob"`);
  });

  it('leaves owners room in the audit log when a member fills their share of it', async () => {
    const [ann, mallory] = [await member('ann'), await member('mallory')];
    const { id } = await create(ann, 'web', { ttl: '1m' });
    const access = `/v1/tunnels/${String(id)}/access`;
    for (let acts = 0; acts < MEMBER_ACTS_PER_DAY; acts += 1)
      assert.equal((await call(mallory, 'PUT', access, {})).status, 200);
    const refused = await call(mallory, 'PUT', access, {});
    assert.deepEqual([refused.status, refused.body['code']], [429, 'rate-limited']);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    // Nothing happened, mallory's own tunnels are unaffected, and the owner revokes the key.
    assert.equal((await call(ann, 'GET', `/v1/tunnels/${String(id)}`)).status, 200);
    assert.equal(
      (await call(mallory, 'DELETE', `/v1/tunnels/${String((await create(mallory))['id'])}`)).status,
      200,
    );
    const found = (await list()).keys.find(({ label }) => label === 'mallory');
    assert.equal(
      (await call(mallory, 'DELETE', `/v1/tunnels/${String(id)}`)).status,
      200,
      'closing is not refused',
    );
    assert.equal((await call(owner, 'DELETE', `/v1/team/${String(found?.['id'])}`)).status, 200);
    assert.ok(MEMBER_ACTS_PER_DAY < AUDIT_ACTS_PER_DAY / 2);
  });

  it('limits create requests for each key on the Team plan, and for the account on others', async () => {
    const burst = [...Array.from({ length: CREATE_BURST }, () => 201), 429];
    assert.deepEqual(await statuses(await member('ann')), burst);
    assert.deepEqual(await statuses(await member('bob')), burst);
    const dev: AccountRecord = anAccount({ name: 'dev', plan: 'dev' });
    const single = await ApiFixture.start(dev);
    try {
      const createAt = async (key: string): Promise<number> =>
        (await single.call('POST', '/v1/tunnels', { key, body: '{"local_port":1}' })).status;
      const [one, two] = [await single.keyOf(dev), await single.keyOf(dev)];
      for (let count = 0; count < CREATE_BURST; count += 1) assert.equal(await createAt(one), 201);
      assert.equal(await createAt(two), 429);
    } finally {
      await single.stop();
    }
  });
});
