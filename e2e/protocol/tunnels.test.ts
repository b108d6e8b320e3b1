import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../shared/tunnel.ts';
import { administer, createAccount, type TestAccount } from '../support/accounts.ts';
import { Api, assertError } from '../support/api.ts';
import { eventually } from '../support/deadline.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

const HOUR_MS = 3_600_000;

/** ms from one expiry to another. */
function msLater(later: Tunnel, earlier: Tunnel): number {
  return Date.parse(later.expires_at) - Date.parse(earlier.expires_at);
}

describe('tunnels through the REST interface', () => {
  const { relay, pool } = sharedRelaySuite();

  describe('GET /v1/tunnels', () => {
    it('returns an empty list to an account without tunnels', async () => {
      const account = await createAccount(relay);
      const answer = await account.api.send('GET', '/v1/tunnels');
      assert.deepEqual([answer.status, answer.json], [200, { tunnels: [] }]);
    });

    it("lists the account's tunnels, newest first, each the full object", async () => {
      const account = await createAccount(relay);
      const first = await account.api.create({ local_port: 1 });
      await delay(5);
      const second = await account.api.create({ local_port: 2, name: 'second-one' });
      assert.deepEqual(await account.api.list(), [second, first]);
    });

    it('does not show those of other accounts', async () => {
      await pool.tunnel();
      const stranger = await createAccount(relay);
      assert.deepEqual(await stranger.api.list(), []);
    });
  });

  describe('GET /v1/tunnels/{id}', () => {
    it('returns what create returned', async () => {
      const { tunnel, account } = await pool.tunnel({ ttl: '2h', idle_ttl: true });
      assert.deepEqual(await account.api.get(tunnel.id), tunnel);
    });

    it('accepts any key of the account', async () => {
      const { tunnel, account } = await pool.tunnel();
      const { key } = await administer(relay, 'key', 'create', '--account', account.name);
      assert.deepEqual(await new Api(relay, String(key)).get(tunnel.id), tunnel);
    });
  });

  describe('DELETE /v1/tunnels/{id}', () => {
    it('closes it immediately', async () => {
      const { tunnel, account } = await pool.tunnel({ name: 'short-lived' });
      const answer = await account.api.send('DELETE', `/v1/tunnels/${tunnel.id}`);
      assert.deepEqual([answer.status, answer.json], [200, { status: 'closed' }]);
      assertError(await account.api.send('GET', `/v1/tunnels/${tunnel.id}`), 404, 'tunnel not found');
      assert.deepEqual(
        (await account.api.list()).filter(({ id }) => id === tunnel.id),
        [],
      );
    });
  });

  describe('PUT /v1/tunnels/{id}/extend', () => {
    it('moves the expiry by the given ttl and changes nothing else', async () => {
      const { tunnel, account } = await pool.tunnel({ ttl: '30m' });
      const extended = await account.api.extend(tunnel.id, { ttl: '1.5h' });
      assert.equal(msLater(extended, tunnel), 1.5 * HOUR_MS);
      assert.deepEqual({ ...extended, expires_at: tunnel.expires_at }, tunnel);
      assert.deepEqual(await account.api.get(tunnel.id), extended);
    });

    for (const request of [{}, ...['', '{}', '{"ttl":null}', '{"colour":"red"}'].map((body) => ({ body }))])
      it(`uses the tunnel's own ttl for ${JSON.stringify(request)}`, async () => {
        const { tunnel, account } = await pool.tunnel({ ttl: '2h' });
        const answer = await account.api.send('PUT', `/v1/tunnels/${tunnel.id}/extend`, request);
        assert.equal(answer.status, 200);
        assert.equal(msLater(answer.json as Tunnel, tunnel), 2 * HOUR_MS);
      });

    it('applies all of several simultaneous requests', async () => {
      const { tunnel, account } = await pool.tunnel({ ttl: '1h' });
      await Promise.all([1, 2, 3, 4].map(() => account.api.extend(tunnel.id, { ttl: '1m' })));
      assert.equal(msLater(await account.api.get(tunnel.id), tunnel), 240_000);
    });

    const refusals: [body: string, text: string][] = [
      ['{"ttl":"soon"}', 'invalid ttl format'],
      ['{"ttl":""}', 'invalid ttl format'],
      ['{"ttl":5}', 'invalid ttl format'],
      ['{"ttl":"0s"}', 'invalid ttl format'],
      ['{"ttl":"169h"}', 'ttl must be at most 168h0m0s'],
      // It would fit on its own, but not on top of the hour that is left.
      ['{"ttl":"168h"}', 'ttl must be at most 168h0m0s'],
      ['{', 'invalid request body'],
      ['[]', 'invalid request body'],
    ];
    for (const [body, text] of refusals) {
      it(`refuses ${body}: ${text}`, async () => {
        const { tunnel, account } = await pool.tunnel({ ttl: '1h' });
        const answer = await account.api.send('PUT', `/v1/tunnels/${tunnel.id}/extend`, { body });
        assertError(answer, 400, text);
        assert.deepEqual(await account.api.get(tunnel.id), tunnel);
      });
    }

    it('extends at most to now plus the maximum', async () => {
      const { tunnel, account } = await pool.tunnel({ ttl: '1h' });
      assert.equal(msLater(await account.api.extend(tunnel.id, { ttl: '167h' }), tunnel), 167 * HOUR_MS);
    });
  });

  describe('a tunnel that does not exist', () => {
    let owner: TestAccount;
    const paths = new Map<string, string>();

    before(async () => {
      const [stranger, mine] = await Promise.all([createAccount(relay), createAccount(relay)]);
      owner = mine;
      const foreign = await stranger.api.create({ local_port: 1 });
      const current = await owner.api.create({ local_port: 1 });
      const closed = await owner.api.create({ local_port: 1 });
      await owner.api.close(closed.id);
      const expired = await owner.api.create({ local_port: 1, ttl: '1s' });
      paths.set('unknown', '2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47');
      paths.set('closed', closed.id);
      paths.set('expired', expired.id);
      paths.set("another account's", foreign.id);
      paths.set('no UUID', 'my-app');
      paths.set('percent-encoded', `%${current.id.charCodeAt(0).toString(16)}${current.id.slice(1)}`);
      await eventually(20_000, async () =>
        assert.equal((await owner.api.send('GET', `/v1/tunnels/${expired.id}`)).status, 404),
      );
    });

    for (const which of ['unknown', 'closed', 'expired', "another account's", 'no UUID', 'percent-encoded']) {
      it(`gets the same 404 in every case: ${which}`, async () => {
        const path = `/v1/tunnels/${paths.get(which) ?? ''}`;
        const answers = await Promise.all([
          owner.api.send('GET', path),
          owner.api.send('DELETE', path),
          owner.api.send('PUT', `${path}/extend`, { json: { ttl: '1h' } }),
        ]);
        for (const answer of answers) {
          assertError(answer, 404, 'tunnel not found');
          const names = answer.head.fields.map(([name]) => name.toLowerCase()).sort();
          assert.deepEqual(names, answers[0].head.fields.map(([name]) => name.toLowerCase()).sort());
        }
      });
    }
  });
});
