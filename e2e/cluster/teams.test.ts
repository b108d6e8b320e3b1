import assert from 'node:assert/strict';
import { administer } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import type { Relay } from '../support/programs.ts';
import { assertBurst, CREATES, untilRefused } from '../support/rate-limit.ts';

describe('a team on three relays', function () {
  let cluster: RelayCluster;
  let first: Relay;
  let last: Relay;
  let owner: string;

  before(async () => {
    cluster = await RelayCluster.shared();
    first = cluster.relays[0] ?? assert.fail('no relay');
    last = cluster.relays.at(-1) ?? assert.fail('no relay');
    await administer(first, 'account', 'create', '--name', 'team', '--plan', 'team');
    owner = await key('--owner', '--label', 'olga');
  });

  async function key(...options: string[]): Promise<string> {
    return String((await administer(first, 'key', 'create', '--account', 'team', ...options))['key']);
  }

  async function audit(relay: Relay): Promise<string[]> {
    const headers = { authorization: `Bearer ${owner}` };
    const response = await fetch(`${relay.url}/v1/team/audit`, { headers });
    const { acts } = (await response.json()) as {
      acts: { action: string; subject: string; detail: string }[];
    };
    return acts.map(({ action, subject, detail }) => `${action} ${subject} ${detail}`);
  }

  it('counts create requests for each key on all relays together', async () => {
    for (const label of ['ann', 'bob']) {
      const given = await key('--label', label);
      const headers = { authorization: `Bearer ${given}` };
      const body = JSON.stringify({ local_port: 9 });
      const made = await untilRefused(async (index) => {
        const relay = cluster.relays[index % cluster.relays.length] ?? first;
        const { status } = await fetch(`${relay.url}/v1/tunnels`, { method: 'POST', headers, body });
        if (status !== 429) assert.equal(status, 201);
        return status !== 429;
      });
      assertBurst(made, CREATES);
    }
  });

  it('knows on each relay whose a tunnel is, and records changes made through any of them', async () => {
    const [carl, dora] = [await key('--label', 'carl'), await key('--label', 'dora')];
    const made = await new Api(first, carl).create({ local_port: 9, name: 'shared' });
    assert.equal((await new Api(last, dora).get(made.id)).created_by, 'carl');
    await new Api(last, dora).extend(made.id, { ttl: '1m' });
    const headers = { authorization: `Bearer ${dora}` };
    const body = JSON.stringify({ local_port: 9, name: 'shared', take_over: true });
    assert.equal((await fetch(`${last.url}/v1/tunnels`, { method: 'POST', headers, body })).status, 200);
    await eventually(10_000, async () => {
      assert.equal((await new Api(first, carl).get(made.id)).created_by, 'dora');
    });
    await new Api(first, carl).close(made.id);
    assert.deepEqual(
      (await audit(last)).filter((line) => line.includes(' shared ')),
      [
        'team.extend shared of "carl", by "dora"',
        'team.take-over shared of "carl", by "dora"',
        'team.close shared of "dora", by "carl"',
      ],
    );
  });

  it('revokes a key on all relays', async () => {
    const mallory = await key('--label', 'mallory');
    await new Api(last, mallory).create({ local_port: 9 });
    const headers = { authorization: `Bearer ${owner}` };
    const { keys } = (await (await fetch(`${first.url}/v1/team`, { headers })).json()) as {
      keys: { id: string; label: string }[];
    };
    const { id = '' } = keys.find(({ label }) => label === 'mallory') ?? {};
    assert.equal((await fetch(`${first.url}/v1/team/${id}`, { method: 'DELETE', headers })).status, 200);
    assert.equal((await new Api(last, mallory).send('GET', '/v1/tunnels')).status, 401);
  });
});
