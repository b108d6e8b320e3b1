import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { bothClients, ScriptedTunnel } from '../support/clients.ts';
import { assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { formatRequest, RawConnection, WEBSOCKET } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';
import { startFixedResponse } from '../support/services/scripted.ts';

/** ms within which data must reach the other end (protocol.md section 4.3). */
const AT_MOST_MS = 1000;

async function assertEndsSoon(what: string, end: Promise<unknown>): Promise<void> {
  const { ms } = await timed(() => within(20_000, what, end));
  assertWithin(ms, AT_MOST_MS);
}

bothClients('how connections end', (kind) => {
  const scope = suiteScope();
  let tunnel: ScriptedTunnel;

  before(async () => {
    tunnel = await ScriptedTunnel.start(scope, kind);
  });

  describe('a response', () => {
    it('that ends with the connection is complete when the service ends it', async () => {
      const [visitor, local] = await tunnel.visit();
      local.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nfirst ');
      const head = await visitor.finalHead();
      local.write('second');
      local.socket.end();
      const { value, ms } = await timed(() => visitor.rest(head));
      assert.equal(value.text, 'first second');
      assertWithin(ms, AT_MOST_MS);
    });

    it('of an HTTP/1.0 service is complete when the service ends it', async () => {
      const [visitor, local] = await tunnel.visit();
      local.write('HTTP/1.0 200 OK\r\n\r\nold');
      local.socket.end();
      assert.equal((await visitor.response()).text, 'old');
    });

    const truncated: [what: string, sent: string][] = [
      ['fewer bytes than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart'],
      ['no last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n'],
      ['half a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\npart'],
      [
        'no end of its trailers',
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n0\r\nA: b\r\n',
      ],
    ];
    for (const [what, sent] of truncated) {
      it(`with ${what} is broken for the visitor, when the service ends and when it resets`, async () => {
        for (const how of ['end', 'resetAndDestroy'] as const) {
          const [visitor, local] = await tunnel.visit();
          local.write(sent);
          const head = await visitor.finalHead();
          local.socket[how]();
          await assertEndsSoon('break', assert.rejects(visitor.rest(head), /ended/));
        }
      });
    }

    it('that ends with the connection is broken when the service resets it', async () => {
      const [visitor, local] = await tunnel.visit();
      local.write('HTTP/1.1 200 OK\r\n\r\npart');
      const head = await visitor.finalHead();
      await visitor.reader.exactly(1);
      local.socket.resetAndDestroy();
      await assertEndsSoon('break', assert.rejects(visitor.rest(head), /ended/));
    });

    it('with a broken chunk is broken for the visitor', async () => {
      const [visitor, local] = await tunnel.visit();
      local.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n');
      const head = await visitor.finalHead();
      local.write('nonsense\r\n');
      await assertEndsSoon('break', assert.rejects(visitor.rest(head), /ended/));
    });

    it('that comes before the end of the request is delivered, although the service resets', async () => {
      const page = 'x'.repeat(30_000);
      for (let round = 0; round < 10; round += 1) {
        const body = Buffer.alloc(1_000_000);
        const [visitor, local] = await tunnel.send(
          `POST / HTTP/1.1\r\nHost: ${tunnel.host}\r\nContent-Length: ${body.length}\r\n\r\n`,
        );
        local.socket.pause();
        const sent = visitor.write(body).catch(() => {});
        local.write(`HTTP/1.1 413 x\r\nContent-Length: ${page.length}\r\n\r\n${page}`);
        await eventually(20_000, () => assert.ok(local.socket.readableLength > 0));
        // The system resets a connection that is closed with unread data.
        local.socket.destroy();
        const { status, text } = await visitor.response();
        assert.deepEqual([status, text.length], [413, page.length]);
        await sent;
      }
    });

    it('that never arrives is a 502, not a hang', async () => {
      const code = kind.name === 'the culvert program' ? 'local-reset' : 'client-closed';
      for (const how of ['end', 'resetAndDestroy'] as const) {
        const [visitor, local] = await tunnel.visit();
        local.socket[how]();
        const { value, ms } = await timed(() => visitor.response());
        assert.deepEqual([value.status, value.head.field('culvert-error')], [502, code]);
        assertWithin(ms, AT_MOST_MS);
      }
    });

    it('is complete: extra bytes after it do not become the next response', async () => {
      const one = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none';
      const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
      const talkative = await startFixedResponse(scope, one + evil, { keepsOpen: true });
      const { key } = await tunnel.pool.take();
      const { tunnel: other } = await kind.start(scope, tunnel.relay, key, { localPort: talkative.port });
      const visitor = await RawConnection.open(scope, tunnel.relay.port);
      assert.equal((await visitor.request({ host: hostOf(other, tunnel.relay) })).text, 'one');
      const second = await visitor.request({ host: hostOf(other, tunnel.relay) }).then(
        ({ text }) => text,
        () => 'broken',
      );
      assert.notEqual(second, 'evil');
    });

    it('that is unsolicited, between two requests, reaches nobody', async () => {
      const [visitor, local] = await tunnel.visit();
      local.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none');
      assert.equal((await visitor.response()).text, 'one');
      local.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil');
      await within(20_000, 'end of the local connection', local.reader.ending);
      await visitor.write(formatRequest({ host: tunnel.host }));
      const next = await tunnel.service.next();
      await next.head();
      next.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo');
      assert.equal((await visitor.response()).text, 'two');
    });
  });

  describe('a visitor', () => {
    it('that is gone ends the local connection, before a response', async () => {
      const [visitor, local] = await tunnel.visit();
      visitor.reset();
      await assertEndsSoon('end of the local connection', local.reader.ending);
    });

    it('that is gone ends the local connection, during a response', async () => {
      const [visitor, local] = await tunnel.visit();
      local.write('HTTP/1.1 200 OK\r\n\r\n');
      await visitor.finalHead();
      const ticking = setInterval(() => local.write('tick'), 20);
      scope.defer(() => clearInterval(ticking));
      visitor.socket.destroy();
      await assertEndsSoon('end of the local connection', local.reader.ending);
    });

    it('that is gone ends the local connection, during its request', async () => {
      const [visitor, local] = await tunnel.send(
        `POST / HTTP/1.1\r\nHost: ${tunnel.host}\r\nContent-Length: 100\r\n\r\nonly this`,
      );
      visitor.reset();
      await assertEndsSoon('end of the local connection', local.reader.ending);
    });

    it('that half-closes after its request still gets the response', async () => {
      const [visitor, local] = await tunnel.visit();
      visitor.halfClose();
      await delay(300);
      local.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n');
      await delay(300);
      local.write('late');
      assert.equal((await visitor.response()).text, 'late');
    });

    it('that half-closes within its request does not get a complete one through', async () => {
      const [visitor, local] = await tunnel.send(
        `POST / HTTP/1.1\r\nHost: ${tunnel.host}\r\nContent-Length: 100\r\n\r\nonly this`,
      );
      visitor.halfClose();
      await assertEndsSoon('end of the local connection', local.reader.ending);
    });
  });

  it('an upgraded connection ends with either side', async () => {
    const answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const [first, firstLocal] = await tunnel.visit({ headers: WEBSOCKET });
    firstLocal.write(answer);
    assert.equal((await first.finalHead()).status, 101);
    await first.write('up');
    assert.equal((await firstLocal.reader.exactly(2)).toString(), 'up');
    firstLocal.socket.end();
    await assertEndsSoon('end of the visitor', first.ending);

    const [second, secondLocal] = await tunnel.visit({ headers: WEBSOCKET });
    secondLocal.write(answer);
    assert.equal((await second.finalHead()).status, 101);
    second.reset();
    await assertEndsSoon('end of the local connection', secondLocal.reader.ending);

    const [third, thirdLocal] = await tunnel.visit({ headers: WEBSOCKET });
    thirdLocal.write(answer);
    assert.equal((await third.finalHead()).status, 101);
    third.halfClose();
    await assertEndsSoon('end of the local connection', thirdLocal.reader.ending);
    await assertEndsSoon('end of the visitor', third.ending);
  });

  if (kind.name === 'the culvert program') {
    describe('a local port that refuses', () => {
      let refusingHost: string;

      before(async () => {
        const { key } = await tunnel.pool.take();
        const { tunnel: other } = await kind.start(scope, tunnel.relay, key, {
          localPort: await closedPort(),
        });
        refusingHost = hostOf(other, tunnel.relay);
      });

      it('is reported with 502 local-refused', async () => {
        const visitor = await RawConnection.open(scope, tunnel.relay.port);
        const { status, head, text } = await visitor.request({ host: refusingHost });
        assert.deepEqual([status, head.field('culvert-error')], [502, 'local-refused']);
        assert.match(head.field('content-type') ?? '', /^application\/json\b/);
        assert.equal(typeof JSON.parse(text), 'object');
      });

      it('is reported in HTML to visitors who prefer it, and without a body for HEAD', async () => {
        const visitor = await RawConnection.open(scope, tunnel.relay.port);
        const page = await visitor.request({ host: refusingHost, headers: [['Accept', 'text/html']] });
        assert.match(page.head.field('content-type') ?? '', /^text\/html\b/);
        const other = await RawConnection.open(scope, tunnel.relay.port);
        assert.equal((await other.request({ method: 'HEAD', host: refusingHost })).status, 502);
      });

      it('is also reported after a request with a body', async () => {
        const visitor = await RawConnection.open(scope, tunnel.relay.port);
        const body = Buffer.alloc(3_000_000);
        const answer = await visitor.request({ method: 'POST', host: refusingHost, body });
        assert.equal(answer.head.field('culvert-error'), 'local-refused');
      });
    });
  }
});
