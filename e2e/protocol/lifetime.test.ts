import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../shared/tunnel.ts';
import { AccountPool, createAccount, onlyAccount, type TestAccount } from '../support/accounts.ts';
import { concurrentTests } from '../support/scope.ts';
import { assertAtLimit, assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

/** Long enough to use a tunnel before it expires, even on a busy machine. */
const LIFE = '10s';

async function isAlive(account: TestAccount, tunnel: Tunnel): Promise<boolean> {
  return (await account.api.send('GET', `/v1/tunnels/${tunnel.id}`)).status === 200;
}

describe('the life of a tunnel (protocol.md section 3.5)', () => {
  const { scope, relay, pool } = sharedRelaySuite();

  const together = concurrentTests();

  /** An open connection that has received part of its response. */
  async function openConnection(client: ManualClient) {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart');
    const head = await visitor.finalHead();
    await visitor.reader.exactly(4);
    return { visitor, data, head };
  }

  async function assertGone(client: ManualClient): Promise<void> {
    assert.equal(await isAlive(client.account, client.tunnel), false);
    const { status, head } = await visit(relay.port, { host: client.host });
    // A name stays reserved for its account.
    const expected = client.tunnel.name === '' ? [404, 'tunnel-unknown'] : [503, 'tunnel-offline'];
    assert.deepEqual([status, head.field('culvert-error')], expected);
  }

  describe('at expiry', () => {
    together(
      'the tunnel is gone immediately, its name free for its account, its open connections cut',
      async () => {
        const client = await ManualClient.start(scope, relay, onlyAccount(await createAccount(relay)), {
          ttl: LIFE,
          name: 'brief',
        });
        const { visitor, data, head } = await openConnection(client);
        const broken = assert.rejects(visitor.rest(head), /ended/);
        await delay(Date.parse(client.tunnel.expires_at) - Date.now() + 100);
        // Each relay of a cluster asks the database first.
        await eventually(8000, () => assertGone(client));
        await within(20_000, 'cut', broken);
        await within(20_000, 'end of the data socket', data.socket.closed);
        assert.equal((await client.account.api.create({ local_port: 1, name: 'brief' })).slug, 'brief');
      },
    );

    together('a tunnel without idle mode ends with 4002, despite traffic, and not before', async () => {
      const client = await ManualClient.start(scope, relay, pool, { ttl: LIFE });
      const { data } = await openConnection(client);
      const ticking = setInterval(() => data.send('x'), 50);
      scope.defer(() => clearInterval(ticking));
      await within(40_000, 'end of the data socket', data.socket.closed);
      const late = Date.now() - Date.parse(client.tunnel.expires_at);
      assert.ok(late >= -50, `ended ${late} ms after the expiry`);
      assertWithin(late, 0);
      assert.equal((await within(20_000, 'end of the control socket', client.control.closed)).code, 4002);
    });

    together('an extended tunnel stays online', async () => {
      const client = await ManualClient.start(scope, relay, pool, { ttl: LIFE });
      await client.account.api.extend(client.tunnel.id, { ttl: LIFE });
      await delay(Date.parse(client.tunnel.expires_at) - Date.now() + 300);
      assert.equal(await isAlive(client.account, client.tunnel), true);
      assert.equal((await within(40_000, 'expiry', client.control.closed)).code, 4002);
    });

    together('a tunnel also ends while the relay is down', async () => {
      const other = await Relay.start(scope);
      const { tunnel, account } = await new AccountPool(other).tunnel({ ttl: '1s', name: 'while-down' });
      await other.stop('SIGKILL');
      await delay(Date.parse(tunnel.expires_at) - Date.now() + 50);
      await other.restart();
      assert.equal(await isAlive(account, tunnel), false);
      assert.deepEqual(await account.api.list(), []);
      assert.equal((await account.api.create({ local_port: 1, name: 'while-down' })).slug, 'while-down');
    });
  });

  describe('at close', () => {
    together(
      'the tunnel is gone immediately, its name free for its account, its open connections cut',
      async () => {
        const client = await ManualClient.start(scope, relay, onlyAccount(await createAccount(relay)), {
          name: 'closed-one',
        });
        const { visitor, data, head } = await openConnection(client);
        const broken = assert.rejects(visitor.rest(head), /ended/);
        await client.account.api.close(client.tunnel.id);
        await assertGone(client);
        await within(20_000, 'cut', broken);
        await within(20_000, 'end of the data socket', data.socket.closed);
        assert.equal(
          (await client.account.api.create({ local_port: 1, name: 'closed-one' })).slug,
          'closed-one',
        );
      },
    );

    together('a visitor who waits for the client gets an error', async () => {
      const client = await ManualClient.start(scope, relay, pool);
      const answer = timed(() => visit(relay.port, { host: client.host }));
      await client.announced();
      await client.account.api.close(client.tunnel.id);
      const { value, ms } = await answer;
      assert.ok(value.status >= 400 && value.head.field('culvert-error') !== undefined, String(value.status));
      // Sooner than a missing client would time out.
      assertWithin(ms, 0);
    });
  });

  describe('in idle mode', () => {
    together('a request moves the expiry to now plus ttl', async () => {
      const client = await ManualClient.start(scope, relay, pool, { ttl: '1h', idle_ttl: true });
      await delay(50);
      const { data } = await openConnection(client);
      await eventually(20_000, async () => {
        const { expires_at, created_at } = await client.account.api.get(client.tunnel.id);
        assert.ok(expires_at > client.tunnel.expires_at, 'later than at first');
        assert.ok(Date.parse(expires_at) - Date.now() <= 3_600_000, 'not later than now plus ttl');
        assert.equal(created_at, client.tunnel.created_at);
      });
      data.socket.drop();
    });

    together('the expiry never moves back', async () => {
      const client = await ManualClient.start(scope, relay, pool, { ttl: '1m', idle_ttl: true });
      const { expires_at } = await client.account.api.extend(client.tunnel.id, { ttl: '1h' });
      await openConnection(client);
      await delay(1200);
      assert.equal((await client.account.api.get(client.tunnel.id)).expires_at, expires_at);
    });

    together('a tunnel never expires while it has traffic, and expires without', async () => {
      const client = await ManualClient.start(scope, relay, pool, { ttl: LIFE, idle_ttl: true });
      const { visitor, data } = await openConnection(client);
      const send = async (): Promise<void> => {
        data.send('x');
        await visitor.reader.exactly(1);
      };
      for (let tick = 0; tick < 12; tick += 1) {
        await delay(1000);
        await send();
      }
      assert.equal(await isAlive(client.account, client.tunnel), true);
      const { value, ms } = await timed(async () => {
        await send();
        return await within(40_000, 'expiry', client.control.closed);
      });
      assert.equal(value.code, 4002);
      assertAtLimit(ms, 10_000);
    });

    together('a connection that is open but silent does not keep the tunnel', async () => {
      const client = await ManualClient.start(scope, relay, pool, { ttl: LIFE, idle_ttl: true });
      await openConnection(client);
      assert.equal((await within(40_000, 'expiry', client.control.closed)).code, 4002);
    });

    together('a tunnel without requests ends after its ttl', async () => {
      const { tunnel, account } = await pool.tunnel({ ttl: '1s', idle_ttl: true });
      await eventually(9000, async () => {
        assert.equal(await isAlive(account, tunnel), false);
        assert.equal((await visit(relay.port, { host: hostOf(tunnel, relay) })).status, 404);
      });
    });
  });
});
