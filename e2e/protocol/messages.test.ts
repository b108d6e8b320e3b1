import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { bothClients, ScriptedTunnel } from '../support/clients.ts';
import { within } from '../support/deadline.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import type { LocalConnection } from '../support/services/scripted.ts';

bothClients('kinds of messages (RFC 9110 and 9112)', (kind) => {
  const scope = suiteScope();
  let tunnel: ScriptedTunnel;

  before(async () => {
    tunnel = await ScriptedTunnel.start(scope, kind);
  });

  describe('informational responses', () => {
    it('are forwarded individually and in order', async () => {
      const [visitor, local] = await tunnel.visit();
      local.write('HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n');
      const hint = await visitor.head();
      assert.deepEqual([hint.status, hint.field('link')], [103, '</a>; rel=preload']);
      local.write('HTTP/1.1 102 Processing\r\n\r\n');
      assert.equal((await visitor.head()).status, 102);
      local.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      assert.equal((await visitor.response()).text, 'ok');
    });

    it('include 100 when the service sends it, not before', async () => {
      const visitor = await RawConnection.open(scope, tunnel.relay.port);
      await visitor.write(
        `POST / HTTP/1.1\r\nHost: ${tunnel.host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
      );
      const local = await tunnel.service.next();
      assert.match(await local.head(), /\r\nExpect: 100-continue\r\n/);
      await delay(100);
      assert.equal(visitor.reader.buffered, 0);
      local.write('HTTP/1.1 100 Continue\r\n\r\n');
      assert.equal((await visitor.head()).status, 100);
      await visitor.write('hello');
      assert.equal((await local.reader.exactly(5)).toString(), 'hello');
      local.write('HTTP/1.1 204 No Content\r\n\r\n');
      assert.equal((await visitor.response()).status, 204);
    });

    it('give way to the response that refuses an expectation, which ends the connection', async () => {
      const [visitor, local] = await tunnel.send(
        `POST / HTTP/1.1\r\nHost: ${tunnel.host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
      );
      local.write('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno');
      const { status, head } = await visitor.response();
      assert.deepEqual([status, head.field('connection')], [401, 'close']);
    });

    it('contain no length, and do not follow each other indefinitely', async () => {
      const [visitor, local] = await tunnel.visit();
      local.write('HTTP/1.1 103 x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n');
      assert.deepEqual((await visitor.head()).fields, [['X-A', 'b']]);
      local.write('HTTP/1.1 103 x\r\n\r\n'.repeat(64));
      const { status, head } = await visitor.response();
      assert.deepEqual([status, head.field('culvert-error')], [502, 'local-malformed']);
    });
  });

  describe('responses of small services', () => {
    it('are 502 local-malformed if they are not HTTP', async () => {
      const [visitor, local] = await tunnel.visit();
      local.write('SSH-2.0-OpenSSH_10.0\r\n');
      const { status, head } = await visitor.response();
      assert.deepEqual([status, head.field('culvert-error')], [502, 'local-malformed']);
    });
  });

  describe('responses without a body', () => {
    for (const status of ['204 No Content', '304 Not Modified']) {
      it(`${status} ends with its head, and the connection continues`, async () => {
        const [visitor, local] = await tunnel.visit();
        local.write(`HTTP/1.1 ${status}\r\nX-Some: field\r\n\r\n`);
        assert.equal((await visitor.response()).text, '');
        await visitor.write(formatRequest({ host: tunnel.host, target: '/next' }));
        assert.match(await local.head(), /^GET \/next /);
        local.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext');
        assert.equal((await visitor.response()).text, 'next');
      });
    }

    it('HEAD with a length ends with its head', async () => {
      const [visitor, local] = await tunnel.visit({ method: 'HEAD' });
      local.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
      const { head } = await visitor.response('HEAD');
      assert.equal(head.field('content-length'), '1000');
    });
  });

  async function visitOld(fields = ''): Promise<[RawConnection, LocalConnection]> {
    const [visitor, local] = await tunnel.send(`GET / HTTP/1.0\r\nHost: ${tunnel.host}\r\n${fields}\r\n`);
    return [visitor, local];
  }

  describe('an HTTP/1.0 visitor', () => {
    it('gets a chunked response without chunks, and the connection closes', async () => {
      const [visitor, local] = await visitOld();
      local.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n5\r\nhello\r\n');
      const head = await visitor.head();
      assert.equal(head.field('transfer-encoding'), undefined);
      local.write('6\r\n world\r\n0\r\nA: b\r\n\r\n');
      assert.equal((await visitor.rest(head)).text, 'hello world');
    });

    it('gets a response with a length, and the connection closes, even when it asks for more', async () => {
      const [visitor, local] = await visitOld('Connection: keep-alive\r\n');
      local.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      assert.equal((await visitor.response()).text, 'ok');
      await within(20_000, 'end', visitor.ending);
    });

    it('gets no informational response', async () => {
      const [visitor, local] = await visitOld();
      local.write('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      assert.equal((await visitor.head()).status, 200);
    });

    it('sees a chunked response that breaks off as broken', async () => {
      const [visitor, local] = await visitOld();
      local.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n');
      const head = await visitor.head();
      local.socket.end();
      await within(20_000, 'break', assert.rejects(visitor.rest(head), /ended by reset/));
    });
  });

  describe('before the request is complete,', () => {
    it('an early response passes', async () => {
      const [visitor, local] = await tunnel.send(
        `POST / HTTP/1.1\r\nHost: ${tunnel.host}\r\nContent-Length: 1000\r\n\r\nonly this`,
      );
      local.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno');
      local.socket.end();
      const { status, text } = await visitor.response();
      assert.deepEqual([status, text], [403, 'no']);
    });
  });

  it('bytes after an upgrade wait for the 101 and are dropped without it', async () => {
    const visitor = await RawConnection.open(scope, tunnel.relay.port);
    const request =
      `GET / HTTP/1.1\r\nHost: ${tunnel.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
    await visitor.write(`${request}GET /smuggled HTTP/1.1\r\nHost: internal\r\n\r\n`);
    const local = await tunnel.service.next();
    await local.head();
    await delay(100);
    assert.equal(local.reader.buffered, 0);
    local.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno');
    assert.equal((await visitor.response()).status, 400);
    await delay(100);
    assert.equal(local.reader.buffered, 0);
  });
});
