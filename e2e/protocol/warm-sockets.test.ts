import assert from 'node:assert/strict';
import { AccountPool, createAccount } from '../support/accounts.ts';
import { eventually, within } from '../support/deadline.ts';
import { DataConnection, ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { HandshakeRefused, WebSocketClient } from '../support/spec-client/websocket.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwarm';

async function refusalOf(offered: Promise<unknown>): Promise<number> {
  try {
    await offered;
  } catch (error) {
    if (error instanceof HandshakeRefused) return error.response.status;
    throw error;
  }
  return assert.fail('the data socket was accepted');
}

async function closeCode({ socket }: DataConnection): Promise<number> {
  return (await within(20_000, 'end of the data socket', socket.closed)).code;
}

describe('warm data sockets (docs/protocol.md section 6.4)', () => {
  const { scope, relay, pool } = relaySuite();

  async function offer(tunnelId: string, key: string | undefined): Promise<DataConnection> {
    const socket = await WebSocketClient.open(scope, {
      port: relay.port,
      host: `localhost:${relay.port}`,
      target: `/ws/data?tunnel_id=${tunnelId}`,
      headers: key === undefined ? [] : [['Authorization', `Bearer ${key}`]],
    });
    return new DataConnection('', socket);
  }

  async function visit(client: ManualClient): Promise<RawConnection> {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host, target: '/some' }));
    return visitor;
  }

  it('carry the next connection without a message, from its first byte', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const warm = await offer(client.tunnel.id, client.account.key);
    const visitor = await visit(client);
    assert.match(await warm.receivedUpTo('\r\n\r\n'), /^GET \/some HTTP\/1\.1\r\n/);
    warm.send(ANSWER);
    assert.equal((await visitor.response()).text, 'warm');
    assert.deepEqual(client.control.messages, []);
  });

  it('carry one connection each; connections without one are announced', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const warm = await offer(client.tunnel.id, client.account.key);
    const [first, second] = [await visit(client), await visit(client)];
    const cold = await client.accept();
    await Promise.all([warm.receivedUpTo('\r\n\r\n'), cold.receivedUpTo('\r\n\r\n')]);
    warm.send(ANSWER);
    cold.send(ANSWER);
    assert.deepEqual([(await first.response()).text, (await second.response()).text], ['warm', 'warm']);
    assert.equal(client.control.messages.length, 1);
  });

  it('are not used once their client has closed them', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const warm = await offer(client.tunnel.id, client.account.key);
    warm.socket.close(1000);
    await closeCode(warm);
    await visit(client);
    await client.announced();
    assert.equal(client.control.messages.length, 1);
  });

  it('are at most eight for a tunnel', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const { id } = client.tunnel;
    for (let count = 0; count < 8; count += 1) await offer(id, client.account.key);
    assert.equal(await refusalOf(offer(id, client.account.key)), 429);
    await visit(client);
    await eventually(20_000, async () => {
      await offer(id, client.account.key);
    });
  });

  it('need the key, the tunnel and its control socket', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const { tunnel, account } = await pool.tunnel();
    const stranger = await createAccount(relay);
    assert.equal(await refusalOf(offer(client.tunnel.id, undefined)), 401);
    assert.equal(await refusalOf(offer(client.tunnel.id, stranger.key)), 404);
    assert.equal(await refusalOf(offer('nonsense', client.account.key)), 404);
    assert.equal(await refusalOf(offer(tunnel.id, account.key)), 404);
  });

  it('end with the control socket, with its code', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const replaced = await offer(client.tunnel.id, client.account.key);
    await client.reconnect();
    assert.equal(await closeCode(replaced), 4000);
    const closed = await offer(client.tunnel.id, client.account.key);
    await client.account.api.close(client.tunnel.id);
    assert.equal(await closeCode(closed), 4001);
  });

  it('end with 1001 when the relay is told to stop', async () => {
    const other = await Relay.start(scope);
    const client = await ManualClient.start(scope, other, new AccountPool(other));
    const socket = await WebSocketClient.open(scope, {
      port: other.port,
      host: `localhost:${other.port}`,
      target: `/ws/data?tunnel_id=${client.tunnel.id}`,
      headers: [['Authorization', `Bearer ${client.account.key}`]],
    });
    const warm = new DataConnection('', socket);
    const stopped = other.stop();
    assert.equal(await closeCode(warm), 1001);
    await stopped;
  });
});
