import assert from 'node:assert/strict';
import { ADMISSION_MAX_SECONDS, KNOCK_SECONDS } from '../../shared/knocks.ts';
import { APPROVED_MAX } from '../limits.ts';
import type { StoredKnock } from '../store/records.ts';
import { ApiFixture, type ApiResponse } from '../testing/api-fixture.ts';
import { anAccount } from '../testing/fixtures.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { TooManyApprovalRequestsError } from '../tunnels/tunnel-approvals.ts';

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

  it('lists them as they are, and answers with what has become of one', async () => {
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

  it('refuses what breaks a rule, and a knock that is over', async () => {
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

  it('lets 100 in at a time, and says when the first is out', async () => {
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

  it('asks the store for no more than may wait, however many come at once', async () => {
    const all = await Promise.allSettled(
      Array.from({ length: 1000 }, (_, number) => knock(`10.0.${number >> 8}.${number & 255}`)),
    );
    const failed = all.filter((result) => result.status === 'rejected');
    assert.equal(failed.length, 968);
    for (const { reason } of failed) assert.ok(reason instanceof TooManyApprovalRequestsError);
    assert.equal(tunnel.knocks.waiting(api.clock.now()).length, 32);
    assert.equal(tunnel.revisions.knocksRevision, 32);
  });

  it('says that it cannot while the store is down, and goes on after it', async () => {
    const { id } = await knock();
    api.storeDown = true;
    assert.equal((await send('PUT', id, { admit: true })).status, 503);
    await assert.rejects(knock('192.0.2.8'), { status: 503 });
    api.storeDown = false;
    await knock('192.0.2.8');
    assert.equal((await send('PUT', id, { admit: true })).status, 200);
  });

  it('forgets all with a change of access', async () => {
    const { id } = await knock();
    const body = JSON.stringify({ knock: true });
    await api.call('PUT', `/v1/tunnels/${tunnel.id}/access`, { key, body });
    assert.deepEqual((await send('GET')).body, { knocks: [] });
    assert.equal((await send('PUT', id, { admit: true })).status, 404);
    await knock();
    assert.equal(tunnel.knocks.current(api.clock.now()).length, 1);
  });
});
