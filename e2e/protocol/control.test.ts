import assert from 'node:assert/strict';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { AccountPool } from '../support/accounts.ts';
import { assertWithin, timed, within } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { ControlSocket } from '../support/spec-client/client.ts';
import { Opcode } from '../support/spec-client/websocket.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The code with which the relay closes a control socket. */
async function closeCode(control: ControlSocket, ms = 40_000): Promise<number> {
  return (await within(ms, 'end of the control socket', control.closed)).code;
}

describe('the control WebSocket', () => {
  const { scope, relay, pool } = sharedRelaySuite();

  it('announces each inbound connection as {"type":"connection","id":UUID}', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const visitors = await Promise.all([1, 2, 3].map(() => RawConnection.open(scope, relay.port)));
    await Promise.all(visitors.map((visitor) => visitor.write(formatRequest({ host: client.host }))));
    const ids = [await client.announced(), await client.announced(), await client.announced()];
    assert.equal(new Set(ids).size, 3);
    for (const id of ids) assert.match(id, UUID);
    assert.deepEqual(
      client.control.messages,
      ids.map((id) => ({ type: 'connection', id })),
    );
  });

  it('is replaced by a newer one of the same tunnel: 4000, and the newest gets the connections', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const old = client.control;
    await client.reconnect();
    assert.equal(await closeCode(old), 4000);
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    assert.match(await client.announced(), UUID);
    assert.deepEqual(old.messages, []);
  });

  it('ends with 4001 when the tunnel is closed through the API', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    await client.account.api.close(client.tunnel.id);
    assert.equal(await closeCode(client.control), 4001);
  });

  it('ends with 1009 after a message above 4 KiB from the client', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    client.control.socket.send(Buffer.alloc(4097, 'x'), Opcode.text);
    assert.equal(await closeCode(client.control), 1009);
  });

  it('ends with 1008 after a message in more than 64 fragments, and after more than 100 pings in a second', async () => {
    for (const [first, next] of [
      [0x01, 0x00],
      [0x89, 0x89],
    ]) {
      const { tunnel, account } = await pool.tunnel();
      const socket = new WebSocket(`ws://localhost:${relay.port}/ws/control?tunnel_id=${tunnel.id}`, {
        headers: { authorization: `Bearer ${account.key}` },
      });
      scope.defer(() => socket.terminate());
      await once(socket, 'open');
      const closed = once(socket, 'close');
      if (first === 0x89) for (let count = 0; count <= 100; count += 1) socket.ping('x');
      else for (let count = 0; count <= 64; count += 1) socket.send('x', { fin: false });
      assert.equal((await closed)[0], 1008, `${next}`);
    }
  });

  it('accepts messages up to 4 KiB with any content', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    client.control.socket.send(Buffer.from('{"type":"nobody knows this"}'), Opcode.text);
    client.control.socket.send(Buffer.alloc(4096, 'x'), Opcode.text);
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    assert.match(await client.announced(), UUID);
  });

  it('answers pings of the client with the same payload', async () => {
    const { tunnel, account } = await pool.tunnel();
    const socket = new WebSocket(`ws://localhost:${relay.port}/ws/control?tunnel_id=${tunnel.id}`, {
      headers: { authorization: `Bearer ${account.key}` },
    });
    scope.defer(() => socket.terminate());
    await once(socket, 'open');
    socket.ping('hello');
    const [payload] = (await once(socket, 'pong')) as [Buffer];
    assert.equal(payload.toString(), 'hello');
  });

  it('may be opened with events=1', async () => {
    const { tunnel, account } = await pool.tunnel();
    const control = await ControlSocket.open(scope, relay, account.key, tunnel.id, '&events=1');
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: hostOf(tunnel, relay) }));
    await within(20_000, 'announcement', new Promise((resolve) => (control.onMessage = resolve)));
    assert.equal(control.messages.length, 1);
    assert.match(control.messages[0]?.id ?? '', UUID);
  });

  it('leaves open connections alone when it ends', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    client.control.socket.close(1000);
    await client.control.closed;
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    assert.equal((await visitor.response()).text, 'ok');
  });

  it('is closed with 1001 immediately when the relay is told to stop', async () => {
    const other = await Relay.start(scope);
    const client = await ManualClient.start(scope, other, new AccountPool(other));
    const exit = other.stop('SIGTERM');
    const { value: code, ms } = await timed(() => closeCode(client.control));
    assert.equal(code, 1001);
    assertWithin(ms, 0);
    assert.deepEqual(client.control.messages, []);
    assert.deepEqual(await exit, { code: 0, signal: null });
  });

  it('is told in advance if events=1 was requested, and still closed with 1001', async () => {
    const other = await Relay.start(scope);
    const { tunnel, account } = await new AccountPool(other).tunnel();
    const control = await ControlSocket.open(scope, other, account.key, tunnel.id, '&events=1');
    const exit = other.stop('SIGTERM');
    assert.equal(await closeCode(control), 1001);
    assert.deepEqual(control.messages, [{ type: 'drain' }]);
    assert.deepEqual(await exit, { code: 0, signal: null });
  });
});
