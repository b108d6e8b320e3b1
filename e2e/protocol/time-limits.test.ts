import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { AccountPool } from '../support/accounts.ts';
import { concurrentTests } from '../support/scope.ts';
import { assertAtLimit, assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { DataConnection, hostOf, ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { HandshakeRefused } from '../support/spec-client/websocket.ts';

const PING_EVERY_MS = 30_000;
const DEAD_AFTER_MS = 60_000;
const TOLERANCE_MS = 5000;

function assertOwnAnswer({ status, head }: Response, expected: number, code: string): void {
  assert.deepEqual([status, head.field('culvert-error')], [expected, code]);
}

/** The status with which a data socket is refused; 101 if it is not. */
async function statusOf(client: ManualClient, id: string): Promise<number> {
  try {
    await client.open(id);
    return 101;
  } catch (error) {
    if (error instanceof HandshakeRefused) return error.response.status;
    throw error;
  }
}

/**
 * The limits that the protocol gives in seconds and minutes, with a real clock: about 95 s in which almost nothing
 * happens, because all tests wait at the same time.
 */
describe('time limits', function () {
  const { scope, relay, pool } = sharedRelaySuite();

  const together = concurrentTests();

  async function connect(): Promise<ManualClient> {
    return await ManualClient.start(scope, relay, pool);
  }

  /** A visitor who has sent a request, and the id of its announcement. */
  async function announce(client: ManualClient): Promise<{ visitor: RawConnection; id: string }> {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    return { visitor, id: await client.announced() };
  }

  /** Opens a WebSocket as a raw connection on which nothing is answered. */
  async function upgrade(target: string, key?: string): Promise<RawConnection> {
    const connection = await RawConnection.open(scope, relay.port, 80_000);
    const headers: [string, string][] = [
      ['Upgrade', 'websocket'],
      ['Connection', 'Upgrade'],
      ['Sec-WebSocket-Version', '13'],
      ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
    ];
    if (key !== undefined) headers.push(['Authorization', `Bearer ${key}`]);
    await connection.write(formatRequest({ host: 'localhost', target, headers }));
    assert.equal((await connection.head()).status, 101);
    return connection;
  }

  // Keep-alive and the limits of a minute.

  together('pings come every 30 s, and a client that answers them stays connected', async () => {
    const { control } = await connect();
    const opened = performance.now();
    let isOpen = true;
    void control.closed.then(() => (isOpen = false));
    await delay(3 * PING_EVERY_MS + TOLERANCE_MS);
    const pings = control.pings.map((at) => at - opened);
    assert.equal(pings.length, 3);
    pings.forEach((at, index) => {
      const due = (index + 1) * PING_EVERY_MS;
      assert.ok(Math.abs(at - due) < TOLERANCE_MS, `ping ${index + 1} after ${at} ms`);
    });
    assert.equal(isOpen, true);
  });

  together(
    'a client that does not answer is disconnected 60 s after the first ping, to within 5 s',
    async () => {
      const { control } = await connect();
      control.socket.answersPings = false;
      await within(110_000, 'end of the control socket', control.closed);
      const ms = performance.now() - (control.pings[0] ?? 0);
      assert.ok(Math.abs(ms - DEAD_AFTER_MS) < TOLERANCE_MS, `after ${ms} ms`);
    },
  );

  together('408 for a request body that is silent for 60 s, and the client is informed', async () => {
    const client = await connect();
    const visitor = await RawConnection.open(scope, relay.port, 80_000);
    const { value: data, ms } = await timed(async () => {
      await visitor.write(`POST / HTTP/1.1\r\nHost: ${client.host}\r\nContent-Length: 100\r\n\r\nonly this`);
      const accepted = await client.accept();
      assert.equal((await visitor.head()).status, 408);
      return accepted;
    });
    assertAtLimit(ms, 60_000);
    await within(20_000, 'end of the data socket', data.socket.closed);
  });

  together('a body that is slow, but not silent, continues', async () => {
    const client = await connect();
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(`POST / HTTP/1.1\r\nHost: ${client.host}\r\nContent-Length: 3\r\n\r\na`);
    const data = await client.accept();
    for (const byte of 'bc') {
      await delay(40_000);
      await visitor.write(byte);
    }
    await data.receivedUpTo('abc');
    data.send('HTTP/1.1 204 No Content\r\n\r\n');
    assert.equal((await visitor.response()).status, 204);
  });

  together('a visitor that reads no byte for 60 s while data waits is cut', async () => {
    const client = await connect();
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    visitor.socket.pause();
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n');
    data.send(Buffer.alloc(100_000_000));
    // The visitor's last byte may be late, because there is much to send.
    const { ms } = await timed(() => within(90_000, 'end of the data socket', data.socket.closed));
    assert.ok(ms > 57_000, `after ${ms} ms`);
  });

  together('a service may be silent for more than a minute, before and during its response', async () => {
    const client = await connect();
    const visitor = await RawConnection.open(scope, relay.port, 80_000);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    await delay(20_000);
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nthen');
    const head = await visitor.finalHead();
    await delay(65_000);
    data.send('last');
    assert.equal((await visitor.rest(head)).text, 'thenlast');
  });

  // Clients that do not close when they are told to.

  together('a control socket that does not answer its Close frame is cut after 5 s', async () => {
    const { tunnel, account } = await pool.tunnel();
    const control = await upgrade(`/ws/control?tunnel_id=${tunnel.id}`, account.key);
    // The Close frame may be sent long before a busy relay responds.
    const { ms } = await timed(async () => {
      await account.api.close(tunnel.id);
      await control.ending;
    });
    assertAtLimit(ms, 5000);
  });

  together('a data socket that does not answer its Close frame is cut after 1 s', async () => {
    const client = await connect();
    const { visitor, id } = await announce(client);
    const data = await upgrade(`/ws/data?id=${id}`);
    visitor.reset();
    const { ms } = await timed(() => data.ending);
    assertAtLimit(ms, 1000);
  });

  together('a relay that is told to stop cuts open connections after 30 s, and exits with 0', async () => {
    const own = await Relay.start(scope);
    const client = await ManualClient.start(scope, own, new AccountPool(own));
    const visitor = await RawConnection.open(scope, own.port, 40_000);
    await visitor.write(formatRequest({ host: client.host }));
    await client.accept();
    const { value, ms } = await timed(() => own.stop('SIGTERM', 40_000));
    assert.deepEqual(value, { code: 0, signal: null });
    assertAtLimit(ms, 30_000);
  });

  together('a request for metrics that does not arrive within 5 s is cut', async () => {
    const own = await Relay.start(scope, { CULVERT_METRICS_PORT: '0' });
    const port = await eventually(20_000, () => {
      const url = /"url":"http:\/\/127\.0\.0\.1:(\d+)\/metrics"/.exec(own.child.stderr)?.[1];
      return Number(url ?? assert.fail('the log does not say where metrics are'));
    });
    const { ms } = await timed(async () => {
      const connection = await RawConnection.open(scope, port);
      await connection.write('GET /met');
      await connection.ending;
    });
    assertAtLimit(ms, 5000);
  });

  // The 10 s that an inbound connection waits for its client.

  together('503 tunnel-offline for a tunnel whose client never connected', async () => {
    const { tunnel } = await pool.tunnel();
    const { value, ms } = await timed(() => visit(relay.port, { host: hostOf(tunnel, relay) }));
    assertOwnAnswer(value, 503, 'tunnel-offline');
    assertWithin(ms, 10_000);
  });

  together('504 client-timeout when no data socket opens within 10 s', async () => {
    const client = await connect();
    const { value, ms } = await timed(() => visit(relay.port, { host: client.host }));
    assertOwnAnswer(value, 504, 'client-timeout');
    assertAtLimit(ms, 10_000);
  });

  together('an id is no longer valid after 10 s', async () => {
    const client = await connect();
    const { id } = await announce(client);
    await delay(10_500);
    assert.equal(await statusOf(client, id), 404);
  });

  together('an id is valid for almost 10 s', async () => {
    for (;;) {
      const client = await connect();
      const { value, ms } = await timed(async () => {
        const { visitor, id } = await announce(client);
        await delay(8000);
        return { visitor, data: await client.open(id).catch((error: unknown) => error) };
      });
      // A machine that was late itself proves nothing.
      if (ms >= 10_000) continue;
      assert.ok(value.data instanceof DataConnection, String(value.data));
      value.data.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate');
      assert.equal((await value.visitor.response()).text, 'late');
      return;
    }
  });

  together('a client that reconnects within 10 s loses nothing', async () => {
    const client = await connect();
    client.control.socket.drop();
    await client.control.closed;
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    await delay(6000);
    assert.equal(visitor.reader.buffered, 0, 'the request waits');
    await client.reconnect();
    const data = await client.accept();
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nback');
    assert.equal((await visitor.response()).text, 'back');
  });

  together('503 tunnel-offline when it does not come back', async () => {
    const client = await connect();
    const { value, ms } = await timed(async () => {
      client.control.socket.drop();
      await client.control.closed;
      return await visit(relay.port, { host: client.host });
    });
    assertOwnAnswer(value, 503, 'tunnel-offline');
    assertAtLimit(ms, 10_000);
  });

  together('503 immediately when it has been away for longer', async () => {
    const client = await connect();
    client.control.socket.drop();
    await client.control.closed;
    await delay(12_000);
    const { value, ms } = await timed(() => visit(relay.port, { host: client.host }));
    assertOwnAnswer(value, 503, 'tunnel-offline');
    assertWithin(ms, 0);
  });

  together('502 client-closed when the client closes before a response head', async () => {
    const client = await connect();
    const { visitor, id } = await announce(client);
    (await client.open(id)).socket.close(1000);
    assertOwnAnswer(await visitor.response(), 502, 'client-closed');
  });

  together('502 client-closed when the client closes in the middle of a response head', async () => {
    const client = await connect();
    const { visitor, id } = await announce(client);
    const data = await client.open(id);
    data.send('HTTP/1.1 200 OK\r\nContent-Le');
    data.socket.close(1000);
    assertOwnAnswer(await visitor.response(), 502, 'client-closed');
  });

  together('a visitor that leaves takes its pending connection along', async () => {
    const client = await connect();
    const { visitor, id } = await announce(client);
    visitor.reset();
    await delay(2000);
    assert.equal(await statusOf(client, id), 404);
  });

  together('408 for a head that is not complete within 15 s', async () => {
    const client = await connect();
    const { value, ms } = await timed(async () => {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(`GET / HTTP/1.1\r\nHost: ${client.host}\r\nX-Never-`);
      return await visitor.response();
    });
    assert.equal(value.status, 408);
    assertAtLimit(ms, 15_000);
    assert.deepEqual(client.control.messages, []);
  });
});
