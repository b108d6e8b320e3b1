import assert from 'node:assert/strict';
import { AccountPool } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, WEBSOCKET } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

/** Reads of the API lag at most this much (protocol.md section 3.3), with an allowance for a busy machine. */
const LATEST_MS = 9000;

interface Counters {
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly requests: number;
}

async function assertCounters(client: ManualClient, expected: Counters): Promise<void> {
  await eventually(LATEST_MS, async () => {
    const { bytes_in, bytes_out, requests } = await client.account.api.get(client.tunnel.id);
    assert.deepEqual({ bytes_in, bytes_out, requests }, expected);
  });
}

describe('counters (protocol.md section 3.3)', () => {
  const { scope, relay, pool } = sharedRelaySuite();

  it('are exactly the bytes sent to the client and received from it, including heads', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ method: 'POST', host: client.host, body: 'x'.repeat(70_000) }));
    const data = await client.accept();
    await eventually(20_000, () =>
      assert.equal(data.received.length, data.received.indexOf('\r\n\r\n') + 4 + 70_000),
    );
    const answer = `HTTP/1.1 200 OK\r\nX-Some: field\r\nContent-Length: 30000\r\n\r\n${'y'.repeat(30_000)}`;
    data.send(answer);
    await visitor.response();
    await assertCounters(client, { bytes_in: data.received.length, bytes_out: answer.length, requests: 1 });
  });

  it('count each request of a connection, and chunked bodies with their framing', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const visitor = await RawConnection.open(scope, relay.port);
    const answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
    const request = `PUT /x HTTP/1.1\r\nHost: ${client.host}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`;
    await visitor.write(request);
    const first = await client.accept();
    await first.receivedUpTo('0\r\n\r\n');
    first.send(answer);
    await visitor.response();
    const length = first.received.length;
    await visitor.write(request);
    // The relay may reuse the data socket or announce another connection.
    const again = eventually(20_000, () => assert.equal(first.received.length, 2 * length)).then(() => first);
    const second = await Promise.any([again, client.accept()]);
    if (second !== first) await second.receivedUpTo('0\r\n\r\n');
    second.send(answer);
    await visitor.response();
    await assertCounters(client, { bytes_in: 2 * length, bytes_out: 2 * answer.length, requests: 2 });
  });

  it('count a request that gets no response, but not one that never reached the client', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const refused = await RawConnection.open(scope, relay.port);
    await refused.write(`GET / HTTP/1.1\r\nHost: ${client.host}\r\nbroken\r\n\r\n`);
    assert.equal((await refused.response()).status, 400);
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    await data.receivedUpTo('\r\n\r\n');
    data.socket.close(1000);
    assert.equal((await visitor.response()).status, 502);
    await assertCounters(client, { bytes_in: data.received.length, bytes_out: 0, requests: 1 });
  });

  it('count the traffic after an upgrade', async () => {
    const client = await ManualClient.start(scope, relay, pool);
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(
      formatRequest({
        host: client.host,
        headers: WEBSOCKET,
      }),
    );
    const data = await client.accept();
    await data.receivedUpTo('\r\n\r\n');
    const answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    data.send(answer);
    assert.equal((await visitor.finalHead()).status, 101);
    await visitor.write('\u0081\u0000any bytes');
    await data.receivedUpTo('any bytes');
    data.send(Buffer.alloc(5000));
    assert.equal((await visitor.reader.exactly(5000)).length, 5000);
    await assertCounters(client, {
      bytes_in: data.received.length,
      bytes_out: answer.length + 5000,
      requests: 1,
    });
  });

  it('are also in the list, and survive a restart', async () => {
    const other = await Relay.start(scope);
    const client = await ManualClient.start(scope, other, new AccountPool(other));
    const visitor = await RawConnection.open(scope, other.port);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    await data.receivedUpTo('\r\n\r\n');
    const answer = 'HTTP/1.1 204 No Content\r\n\r\n';
    data.send(answer);
    await visitor.response();
    const expected = { bytes_in: data.received.length, bytes_out: answer.length, requests: 1 };
    visitor.socket.destroy();
    data.socket.drop();
    assert.deepEqual(await other.stop('SIGTERM'), { code: 0, signal: null });
    await other.restart();
    await assertCounters(client, expected);
    const [item] = await client.account.api.list();
    assert.equal(item?.bytes_in, expected.bytes_in);
  });
});
