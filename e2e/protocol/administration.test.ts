import assert from 'node:assert/strict';
import { administer, createAccount, onlyAccount, type TestAccount, withNewKey } from '../support/accounts.ts';
import { Api, assertError } from '../support/api.ts';
import { assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { Culvert, newApiKey, Relay, spawnRelay } from '../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { startEchoService } from '../support/services/echo.ts';
import { WebSocketClient } from '../support/spec-client/websocket.ts';

/** ms from the end of an admin command until a running relay has applied it. */
const EFFECT_MS = 1000;
const KEY_REVOKED = 4003;

/** The code with which a WebSocket is closed within the time limit. */
async function codeOf({ closed }: { readonly closed: Promise<{ readonly code: number }> }): Promise<number> {
  return (await within(EFFECT_MS + 8000, 'end of a socket', closed)).code;
}

describe('accounts and keys, changed while the relay runs', () => {
  const { scope, relay } = sharedRelaySuite();

  function clientOf(account: TestAccount, request: object = {}): Promise<ManualClient> {
    return ManualClient.start(scope, relay, onlyAccount(account), request);
  }

  /** A visitor in the middle of a response, and the data socket that serves it. */
  async function openConnection(client: ManualClient) {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart');
    const head = await visitor.finalHead();
    await visitor.reader.exactly(4);
    const broken = assert.rejects(visitor.rest(head), /ended/);
    return { data, broken };
  }

  describe('key revoke', () => {
    it('closes all sockets of the key with 4003 and cuts off their visitors, within 1 s', async () => {
      const account = await createAccount(relay);
      const client = await clientOf(account);
      const { data, broken } = await openConnection(client);
      // While this visitor waits for a data socket, a client needs only its id.
      const waiting = await RawConnection.open(scope, relay.port);
      await waiting.write(formatRequest({ host: client.host }));
      const announced = await client.announced();
      const trunk = await client.trunk();
      await relay.administer('key', 'revoke', account.keyId);
      const [control, open, shared] = await Promise.all([
        codeOf(client.control),
        codeOf(data.socket),
        codeOf(trunk),
        within(EFFECT_MS + 8000, 'cut', broken),
      ]);
      assert.deepEqual([control, open, shared], [KEY_REVOKED, KEY_REVOKED, KEY_REVOKED]);
      assert.equal((await waiting.response()).head.field('culvert-error'), 'tunnel-offline');
      await assert.rejects(client.open(announced), /answered with 404/);
    });

    it('makes the key invalid, with 401 on REST and both WebSockets', async () => {
      const account = await createAccount(relay);
      const { id } = await account.api.create({ local_port: 9 });
      await administer(relay, 'key', 'revoke', account.keyId);
      const { value, ms } = await timed(() => account.api.send('GET', `/v1/tunnels/${id}`));
      assertError(value, 401, 'invalid api key');
      assertWithin(ms, EFFECT_MS);
      for (const path of [`/ws/control?tunnel_id=${id}`, `/ws/data?tunnel_id=${id}`, `/ws/data?id=${id}`]) {
        const opened = WebSocketClient.open(scope, {
          port: relay.port,
          host: `localhost:${relay.port}`,
          target: path,
          headers: [['Authorization', `Bearer ${account.key}`]],
        });
        await assert.rejects(opened, /answered with 401/);
      }
    });

    it('does not affect the account, its tunnels and sockets opened with its other keys', async () => {
      const first = await createAccount(relay);
      const second = await withNewKey(relay, first);
      const [gone, kept] = [await clientOf(first), await clientOf(second)];
      const { data } = await openConnection(kept);
      await administer(relay, 'key', 'revoke', first.keyId);
      assert.equal(await codeOf(gone.control), KEY_REVOKED);
      assert.deepEqual(
        (await second.api.list()).map(({ id }) => id).sort(),
        [gone.tunnel.id, kept.tunnel.id].sort(),
      );
      // The other key continues to serve, and may take over the tunnels of the revoked one.
      data.send('x');
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: gone.host }));
      const heir = await ManualClient.adopt(scope, relay, second, gone.tunnel);
      (await heir.accept()).send('HTTP/1.1 204 No Content\r\n\r\n');
      assert.equal((await visitor.response()).status, 204);
      const other = await RawConnection.open(scope, relay.port);
      await other.write(formatRequest({ host: kept.host }));
      (await kept.accept()).send('HTTP/1.1 204 No Content\r\n\r\n');
      assert.equal((await other.response()).status, 204);
    });

    it('makes culvert end with code 3 and ask for a new sign-in', async () => {
      const account = await createAccount(relay);
      const service = await startEchoService(scope);
      const culvert = await Culvert.start(scope, relay, account.key, service.port);
      await administer(relay, 'key', 'revoke', account.keyId);
      assert.equal((await culvert.child.exit(20_000)).code, 3);
    });

    it('is final: a bootstrap key is not restored at the next start', async () => {
      const key = newApiKey();
      const other = await Relay.start(scope, { CULVERT_BOOTSTRAP_KEY: key });
      const { keys } = (await administer(other, 'key', 'list')) as { keys: { id: string }[] };
      await administer(other, 'key', 'revoke', keys[0]?.id ?? '');
      await other.stop();
      const again = spawnRelay(scope, ['serve'], {
        ...other.databaseSettings,
        CULVERT_PORT: '0',
        CULVERT_BOOTSTRAP_KEY: key,
      });
      assert.equal((await again.exit()).code, 2);
      assert.match(again.stderr, /CULVERT_BOOTSTRAP_KEY must be a key that was not revoked/);
    });
  });

  describe('account set-plan', () => {
    it('applies to whatever is created afterwards', async () => {
      const account = await createAccount(relay, { plan: 'free' });
      const named = { json: { local_port: 9, name: 'planned', ttl: '48h' } };
      assertError(await account.api.send('POST', '/v1/tunnels', named), 400, 'ttl must be at most 24h0m0s');
      await administer(relay, 'account', 'set-plan', '--name', account.name, '--plan', 'dev');
      assert.equal((await account.api.account()).plan, 'dev');
      const tunnel = await account.api.create(named.json);
      assert.deepEqual([tunnel.slug, tunnel.ttl], ['planned', '48h0m0s']);
      await administer(relay, 'account', 'set-plan', '--name', account.name, '--plan', 'free');
      assert.equal((await account.api.get(tunnel.id)).expires_at, tunnel.expires_at);
      const extended = await account.api.send('PUT', `/v1/tunnels/${tunnel.id}/extend`, {
        json: { ttl: '1h' },
      });
      assertError(extended, 400, 'ttl must be at most 24h0m0s');
    });
  });

  describe('account remove', () => {
    it('ends its tunnels and open connections within 1 s, and revokes its keys immediately', async () => {
      const account = await createAccount(relay);
      const client = await clientOf(account, { name: 'orphan' });
      const { data, broken } = await openConnection(client);
      const removed = await administer(relay, 'account', 'remove', '--name', account.name);
      assert.deepEqual([removed['id'], removed['status']], [account.id, 'removed']);
      assertError(await account.api.send('GET', '/v1/account'), 401, 'invalid api key');
      const [control, open] = await Promise.all([
        codeOf(client.control),
        codeOf(data.socket),
        within(EFFECT_MS + 8000, 'cut', broken),
      ]);
      assert.deepEqual([control, open], [KEY_REVOKED, KEY_REVOKED]);
      const answer = await visit(relay.port, { host: hostOf(client.tunnel, relay) });
      assert.equal(answer.head.field('culvert-error'), 'tunnel-unknown');
      const other = await createAccount(relay);
      assert.equal((await other.api.create({ local_port: 9, name: 'orphan' })).slug, 'orphan');
    });

    it('also ends tunnels without a client', async () => {
      const account = await createAccount(relay);
      const tunnel = await account.api.create({ local_port: 9 });
      await administer(relay, 'account', 'remove', '--name', account.name);
      await eventually(EFFECT_MS, async () => {
        const answer = await visit(relay.port, { host: hostOf(tunnel, relay) });
        assert.equal(answer.head.field('culvert-error'), 'tunnel-unknown');
      });
    });
  });

  describe('a key with an expiry', () => {
    it('is refused after its expiry, and its sockets are closed with 4003', async () => {
      const account = await createAccount(relay);
      const ends = await withNewKey(relay, account, '--expires', '4s');
      const client = await clientOf(ends);
      const { data, broken } = await openConnection(client);
      const [control, open] = await Promise.all([
        within(60_000, 'end of the control socket', client.control.closed),
        within(60_000, 'end of the data socket', data.socket.closed),
        within(60_000, 'cut', broken),
      ]);
      assert.deepEqual([control.code, open.code], [KEY_REVOKED, KEY_REVOKED]);
      assertError(await ends.api.send('GET', '/v1/account'), 401, 'invalid api key');
      assert.equal((await account.api.get(client.tunnel.id)).id, client.tunnel.id);
    });
  });

  describe('a key for one tunnel', () => {
    it('creates, takes over, sees, changes and serves that tunnel, and no other', async () => {
      const account = await createAccount(relay);
      const name = `only-${account.name.slice(-8)}`;
      const { api, key } = await withNewKey(relay, account, '--name', name);
      const other = await account.api.create({ local_port: 9 });
      const own = await api.create({ local_port: 9, name });
      assert.deepEqual(
        (await api.list()).map(({ id }) => id),
        [own.id],
      );
      assert.equal((await account.api.list()).length, 2);
      const path = `/v1/tunnels/${other.id}`;
      for (const [method, target, json] of [
        ['GET', path],
        ['DELETE', path],
        ['PUT', `${path}/extend`, {}],
        ['PUT', `${path}/access`, {}],
        ['GET', `${path}/links`],
        ['POST', `${path}/links`, {}],
        ['GET', `${path}/knocks`],
      ] as const)
        assertError(await api.send(method, target, { json }), 404, 'tunnel not found');
      for (const target of [`/ws/control?tunnel_id=${other.id}`, `/ws/data?tunnel_id=${other.id}`]) {
        const opened = WebSocketClient.open(scope, {
          port: relay.port,
          host: `localhost:${relay.port}`,
          target,
          headers: [['Authorization', `Bearer ${key}`]],
        });
        await assert.rejects(opened, /answered with 404/);
      }
      assert.equal((await api.account()).client_id, account.id);
      assert.equal((await api.extend(own.id, { ttl: '1m' })).id, own.id);
      const taken = await api.send('POST', '/v1/tunnels', { json: { local_port: 9, name, take_over: true } });
      assert.equal(taken.status, 200);
      await api.close(own.id);
    });

    it('does not accept the data sockets of another tunnel', async () => {
      const account = await createAccount(relay);
      const { key } = await withNewKey(relay, account, '--name', `only-${account.name.slice(-8)}`);
      const client = await clientOf(account);
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host }));
      const id = await client.announced();
      const opened = WebSocketClient.open(scope, {
        port: relay.port,
        host: `localhost:${relay.port}`,
        target: `/ws/data?id=${id}`,
        headers: [['Authorization', `Bearer ${key}`]],
      });
      await assert.rejects(opened, /answered with 404/);
    });
  });

  it('an admin key is valid for nothing else', async () => {
    const { api } = await withNewKey(relay, await createAccount(relay), '--admin');
    for (const [method, json] of [['GET'], ['POST', { local_port: 9 }]] as const)
      assertError(
        await api.send(method, '/v1/tunnels', { json }),
        403,
        'this api key is valid for administration only',
      );
    assert.equal((await api.account()).plan, 'dev');
  });

  it('the last use of a key is recorded within a minute, and while its tunnel is online', async () => {
    const account = await createAccount(relay);
    const { api, keyId } = await withNewKey(relay, account);
    const before = Date.now();
    await api.account();
    await eventually(90_000, async () => {
      const { keys } = (await administer(relay, 'key', 'list', '--account', account.name)) as {
        keys: { id: string; last_used_at: string | null }[];
      };
      const used = keys.find(({ id }) => id === keyId)?.last_used_at ?? null;
      assert.ok(used !== null && Date.parse(used) >= before, String(used));
      assert.equal(keys.find(({ id }) => id === account.keyId)?.last_used_at, null);
    });
  }).timeout(120_000);

  it('a key is valid from the moment it is created', async () => {
    const account = await withNewKey(relay, await createAccount(relay));
    assert.equal((await new Api(relay, account.key).account()).client_id, account.id);
  });
});
