import assert from 'node:assert/strict';
import type { Plan, Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api, type ApiResponse } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { isLong } from '../support/scope.ts';
import { eventually } from '../support/deadline.ts';
import { query } from '../support/postgres.ts';

const ROUNDS = isLong ? 100 : 30;
const FREE_TUNNELS = 20;

/** What happens when two relays of one cluster get requests at the same time. */
describe('two relays that get requests at the same time', function () {
  let cluster: RelayCluster;
  let database: string;

  before(async () => {
    cluster = await RelayCluster.shared();
    database = cluster.relay(0).databaseSettings['CULVERT_DATABASE_URL'] ?? '';
  });

  async function newAccount(plan: Plan): Promise<TestAccount> {
    return await createAccount(cluster.relay(0), { plan });
  }

  /** Tokens of one account, one for requests to each relay. */
  function apis({ key }: TestAccount): [Api, Api] {
    return [new Api(cluster.relay(0), key), new Api(cluster.relay(1), key)];
  }

  /** Refills the token buckets for creating tunnels: that of the account, and on plan `team` that of the key. */
  async function refill({ id, keyId }: TestAccount): Promise<void> {
    await cluster.redis.command(`DEL culvert:bucket:${id} culvert:bucket:key:${keyId}`);
  }

  /** Whole tokens left in the bucket that is in use. */
  async function tokens({ id, keyId }: TestAccount): Promise<number> {
    const buckets = [id, `key:${keyId}`].map((name) =>
      cluster.redis.command(`HGET culvert:bucket:${name} tokens`),
    );
    const [, left = '5'] = /(\d+\.\d{6})/.exec((await Promise.all(buckets)).join(' ')) ?? [];
    return Math.floor(Number(left));
  }

  /** Whether relays have counted for one of the accounts without Redis since its buckets were refilled. */
  async function areLocal(...accounts: readonly TestAccount[]): Promise<boolean> {
    const found = await Promise.all(
      accounts.map(({ keyId }) => cluster.redis.command(`EXISTS culvert:bucket:key:${keyId}`)),
    );
    return found.some((answer) => !answer.includes('1'));
  }

  async function rows(id: string): Promise<number> {
    return (await query(database, 'select id from tunnels where id = $1', [id])).length;
  }

  it('give a name to one client: 201 and 409, and a 409 costs a token', async () => {
    const [one, two] = [await newAccount('team'), await newAccount('team')];
    const asked = [new Api(cluster.relay(0), one.key), new Api(cluster.relay(1), two.key)];
    let local = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      await Promise.all([refill(one), refill(two)]);
      const json = { local_port: 9, name: `name-${round}` };
      const answers = await Promise.all(asked.map((api) => api.send('POST', '/v1/tunnels', { json })));
      assert.deepEqual(statuses(answers), [201, 409], JSON.stringify(answers.map((answer) => answer.json)));
      // Relays count by themselves while Redis does not answer, as on a machine that stands still for a moment, and for
      // some rounds more, until they are connected to it again.
      if (await areLocal(one, two)) local += 1;
      else assert.deepEqual([await tokens(one), await tokens(two)], [4, 4]);
    }
    assert.ok(local < ROUNDS / 2, `${local} rounds without the buckets in Redis`);
    const counts = await Promise.all([one, two].map(async ({ api }) => (await api.list()).length));
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      ROUNDS,
    );
  });

  it('create at most the tunnels that the plan allows: 201 and 403, and a 403 costs no token', async () => {
    const account = await newAccount('free');
    const both = apis(account);
    for (let count = 1; count < FREE_TUNNELS; count += 1) {
      await refill(account);
      await account.api.create({ local_port: 9 });
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      await refill(account);
      const json = { local_port: 9 };
      const answers = await Promise.all(both.map((api) => api.send('POST', '/v1/tunnels', { json })));
      assert.deepEqual(statuses(answers), [201, 403], JSON.stringify(answers.map((answer) => answer.json)));
      if (!(await areLocal(account))) assert.equal(await tokens(account), 4);
      const made = answers.find(({ status }) => status === 201)?.json as Tunnel;
      await account.api.close(made.id);
    }
  });

  it('close a tunnel once: 200 and 404', async () => {
    const account = await newAccount('team');
    const both = apis(account);
    for (let round = 0; round < ROUNDS; round += 1) {
      await refill(account);
      const { id } = await account.api.create({ local_port: 9 });
      const answers = await Promise.all(both.map((api) => api.send('DELETE', `/v1/tunnels/${id}`)));
      assert.deepEqual(statuses(answers), [200, 404]);
    }
  });

  it('extend a tunnel before it is closed, or not at all', async () => {
    const account = await newAccount('team');
    const [closer, extender] = apis(account);
    for (let round = 0; round < ROUNDS; round += 1) {
      await refill(account);
      const name = `round-${round}`;
      const { id } = await account.api.create({ local_port: 9, name });
      await extender.get(id);
      const [closed, extended] = await Promise.all([
        closer.send('DELETE', `/v1/tunnels/${id}`),
        extender.send('PUT', `/v1/tunnels/${id}/extend`, { json: { ttl: '1h' } }),
      ]);
      assert.equal(closed.status, 200);
      assert.ok([200, 404].includes(extended.status), JSON.stringify(extended.json));
      assert.equal(await rows(id), 0);
      for (const api of [closer, extender]) {
        assert.equal((await api.send('GET', `/v1/tunnels/${id}`)).status, 404);
        assert.deepEqual(await api.list(), []);
      }
      const again = await extender.create({ local_port: 9, name });
      await closer.close(again.id);
    }
  });

  it('extend a tunnel twice, and it lives as long as both responses promise', async () => {
    const account = await newAccount('team');
    const both = apis(account);
    for (let round = 0; round < ROUNDS; round += 1) {
      await refill(account);
      const { id, expires_at } = await account.api.create({ local_port: 9, ttl: '1h' });
      await Promise.all(both.map((api) => api.extend(id, { ttl: '1h' })));
      const expected = new Date(Date.parse(expires_at) + 2 * 3_600_000).toISOString();
      for (const api of both) assert.equal((await api.get(id)).expires_at, expected);
    }
  });

  it('extend a tunnel at the moment of its expiry, either permanently or not at all', async () => {
    const account = await newAccount('team');
    const [maker, extender] = apis(account);
    const ends = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const { id, expires_at } = await maker.create({ local_port: 9, ttl: '8s' });
        await extender.get(id);
        return { id, end: Date.parse(expires_at) };
      }),
    );
    const outcomes = await Promise.all(
      ends.map(async ({ id, end }, index) => {
        await new Promise((resolve) => setTimeout(resolve, end - Date.now() - 8 + index * 3));
        return { id, status: (await extender.send('PUT', `/v1/tunnels/${id}/extend`, { json: {} })).status };
      }),
    );
    for (const { id, status } of outcomes) assert.ok([200, 404].includes(status), `${id}: ${status}`);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await eventually(20_000, async () => {
      for (const { id, status } of outcomes) {
        for (const api of [maker, extender]) {
          assert.equal((await api.send('GET', `/v1/tunnels/${id}`)).status, status);
        }
      }
    });
  });
});

function statuses(answers: readonly ApiResponse[]): number[] {
  return answers.map(({ status }) => status).toSorted((a, b) => a - b);
}
