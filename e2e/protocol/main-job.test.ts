import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { bothClients, type TunnelClient } from '../support/clients.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { RawConnection, type Response, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { payloadChecksum, readEcho, type Site, startSite } from '../support/services/echo.ts';

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function exchange(socket: WebSocket, message: string | Buffer): Promise<Buffer> {
  socket.send(message);
  const [echo] = (await once(socket, 'message')) as [Buffer];
  return echo;
}

bothClients('the main job', (kind) => {
  const { scope, relay, pool } = sharedRelaySuite();
  let site: Site;
  let client: TunnelClient;
  let host: string;

  before(async () => {
    site = await startSite(scope);
    const { key } = await pool.take();
    client = await kind.start(scope, relay, key, { localPort: site.port });
    host = hostOf(client.tunnel, relay);
  });

  async function open(): Promise<RawConnection> {
    return await RawConnection.open(scope, relay.port);
  }

  async function openSocket(path = '/socket', to = host): Promise<WebSocket> {
    const socket = new WebSocket(`ws://127.0.0.1:${relay.port}${path}`, { headers: { Host: to } });
    scope.defer(() => socket.terminate());
    await once(socket, 'open');
    return socket;
  }

  describe('methods', () => {
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'REPORT']) {
      it(`${method} passes`, async () => {
        const echo = readEcho(await visit(relay.port, { method, host, target: '/x?y=z' }));
        assert.deepEqual([echo.method, echo.url, echo.length], [method, '/x?y=z', 0]);
      });
    }

    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET']) {
      it(`${method} passes with a body`, async () => {
        const body = `${method} and a body, ünïcode`;
        const echo = readEcho(await visit(relay.port, { method, host, body }));
        assert.deepEqual(
          [echo.method, echo.length, echo.sha256],
          [method, Buffer.byteLength(body), sha256(body)],
        );
      });
    }

    it('HEAD passes, and the connection continues', async () => {
      const connection = await open();
      const { head, body } = await connection.request({ method: 'HEAD', host });
      assert.deepEqual([head.status, head.field('seen-method'), body.length], [200, 'HEAD', 0]);
      assert.ok(Number(head.field('content-length')) > 0);
      assert.equal(readEcho(await connection.request({ host, target: '/next' })).url, '/next');
    });
  });

  describe('on every address', () => {
    it('the subdomain and the path', async () => {
      const onPath = { host: `localhost:${relay.port}`, target: `/t/${client.tunnel.slug}/a?b` };
      assert.equal(readEcho(await visit(relay.port, { host, target: '/a?b' })).url, '/a?b');
      assert.equal(readEcho(await visit(relay.port, onPath)).url, '/a?b');
    });
  });

  describe('bodies', () => {
    it('chunked requests pass, in any pieces', async () => {
      const connection = await open();
      await connection.write(`POST /sink HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      const all = createHash('sha256');
      let length = 0;
      for (let size = 1; size < 200_000; size *= 3) {
        const chunk = Buffer.alloc(size, String(size));
        all.update(chunk);
        length += size;
        await connection.write(
          Buffer.concat([Buffer.from(`${size.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
        );
      }
      await connection.write('0\r\n\r\n');
      const answer = JSON.parse((await connection.response()).text) as unknown;
      assert.deepEqual(answer, { sha256: all.digest('hex'), length });
    });

    it('chunked responses pass, with trailers', async () => {
      const size = 5_000_001;
      const { head, body, trailers } = await visit(relay.port, { host, target: `/chunked/${size}` });
      assert.equal(head.field('transfer-encoding'), 'chunked');
      assert.deepEqual([body.length, sha256(body)], [size, payloadChecksum(size)]);
      assert.deepEqual(trailers, [['Sent', String(size)]]);
    });

    it('with Expect: 100-continue', async () => {
      const connection = await open();
      await connection.write(
        `POST /sink HTTP/1.1\r\nHost: ${host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
      );
      assert.equal((await connection.head()).status, 100);
      await connection.write('hello');
      const answer = JSON.parse((await connection.response()).text) as unknown;
      assert.deepEqual(answer, { sha256: sha256('hello'), length: 5 });
    });
  });

  it('server-sent events arrive as they are sent', async () => {
    const connection = await open();
    await connection.write(`GET /events HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const head = await connection.finalHead();
    assert.equal(head.field('content-type'), 'text/event-stream');
    const body = connection.body(head);
    for (const text of ['one', 'two', 'three']) {
      site.sendEvent(text);
      const { value } = await body.next();
      assert.equal(String(value), `data: ${text}\n\n`);
    }
  });

  it('a request’s body reaches the service while it is sent, with both directions flowing in parallel', async () => {
    const connection = await open();
    await connection.write(`POST /held HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const before = site.held.length;
    const head = await connection.finalHead();
    const body = connection.body(head);
    assert.equal(String((await body.next()).value), 'first');
    await connection.write('2\r\nup\r\n');
    const answer = await eventually(20_000, () => site.held[before] ?? assert.fail('not held'));
    answer.write('down');
    assert.equal(String((await body.next()).value), 'down');
    await connection.write('0\r\n\r\n');
    answer.end();
    assert.equal((await body.next()).done, true);
  });

  describe('a WebSocket through the tunnel', () => {
    it('carries texts and messages of 1 MiB', async () => {
      const socket = await openSocket();
      assert.equal((await exchange(socket, 'grüße')).toString(), 'grüße');
      const big = Buffer.alloc(1024 * 1024, 'big');
      for (let i = 0; i < 3; i += 1) {
        big.writeUInt32BE(i);
        assert.ok((await exchange(socket, big)).equals(big));
      }
      socket.close();
    });

    it('carries the service’s close code and reason', async () => {
      const socket = await openSocket();
      socket.send('close 4321 enough of this');
      const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
      assert.deepEqual([code, reason.toString()], [4321, 'enough of this']);
    });

    it('carries the visitor’s close code', async () => {
      const socket = await openSocket();
      socket.close(4000, 'bye');
      const [code] = (await once(socket, 'close')) as [number];
      assert.equal(code, 4000);
    });

    it('works on the path form', async () => {
      const socket = await openSocket(`/t/${client.tunnel.slug}/socket`, `localhost:${relay.port}`);
      assert.equal((await exchange(socket, 'hello')).toString(), 'hello');
      socket.close();
    });

    it('is refused by the service in plain HTTP', async () => {
      const socket = new WebSocket(`ws://127.0.0.1:${relay.port}/elsewhere`, { headers: { Host: host } });
      const [error] = (await once(socket, 'error')) as [Error];
      assert.match(error.message, /Unexpected server response: 400/);
    });
  });

  it('forty simultaneous visitors each get their own answer', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, index): Promise<[number, Response]> => {
        return [index, await visit(relay.port, { host, target: `/visitor/${index}` })];
      }),
    );
    for (const [index, answer] of answers) assert.equal(readEcho(answer).url, `/visitor/${index}`);
  });

  // A separate suite, because the tests of a suite run before its inner suites.
  describe('the end', () => {
    it('closes the tunnel when the client is told to stop', async () => {
      await client.stop();
      const { status, head } = await visit(relay.port, { host });
      assert.deepEqual([status, head.field('culvert-error')], [404, 'tunnel-unknown']);
    });
  });
});
