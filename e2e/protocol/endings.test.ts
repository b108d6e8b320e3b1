import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { AccountPool } from '../support/accounts.ts';
import { bothClients } from '../support/clients.ts';
import { timed, within } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';
import {
  type LocalConnection,
  type ScriptedService,
  startFixedAnswer,
  startScriptedService,
} from '../support/services/scripted.ts';

/** What reaches the other end must do so within this time (contract.md, Inbound requests). */
const AT_MOST_MS = 1000;

async function assertEndsSoon(what: string, end: Promise<unknown>): Promise<void> {
  const { ms } = await timed(() => within(10_000, what, end));
  assert.ok(ms < AT_MOST_MS, `${what} only after ${ms} ms`);
}

bothClients('how connections end', (kind) => {
  const scope = suiteScope();
  let relay: Relay;
  let service: ScriptedService;
  let pool: AccountPool;
  let host: string;

  before(async () => {
    [relay, service] = await Promise.all([Relay.start(scope), startScriptedService(scope)]);
    pool = new AccountPool(relay);
    const { key } = await pool.take();
    host = hostOf((await kind.start(scope, relay, key, { localPort: service.port })).tunnel, relay);
  });

  /** A visitor who has sent a request, and the local connection on which it arrived. */
  async function connect(request: Omit<Request, 'host'> = {}): Promise<[RawConnection, LocalConnection]> {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host, ...request }));
    const local = await service.next();
    await local.head();
    return [visitor, local];
  }

  async function connectOld(fields = ''): Promise<[RawConnection, LocalConnection]> {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(`GET / HTTP/1.0\r\nHost: ${host}\r\n${fields}\r\n`);
    const local = await service.next();
    await local.head();
    return [visitor, local];
  }

  describe('an answer', () => {
    it('that ends with the connection is complete when the service ends it', async () => {
      const [visitor, local] = await connect();
      local.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nfirst ');
      const head = await visitor.finalHead();
      local.write('second');
      local.socket.end();
      const { value, ms } = await timed(() => visitor.rest(head));
      assert.equal(value.text, 'first second');
      assert.ok(ms < AT_MOST_MS, `after ${ms} ms`);
    });

    it('of an HTTP/1.0 service is complete when the service ends it', async () => {
      const [visitor, local] = await connect();
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
          const [visitor, local] = await connect();
          local.write(sent);
          const head = await visitor.finalHead();
          local.socket[how]();
          await assertEndsSoon('break', assert.rejects(visitor.rest(head), /ended/));
        }
      });
    }

    it('that ends with the connection is broken when the service resets it', async () => {
      const [visitor, local] = await connect();
      local.write('HTTP/1.1 200 OK\r\n\r\npart');
      const head = await visitor.finalHead();
      await visitor.reader.exactly(1);
      local.socket.resetAndDestroy();
      await assertEndsSoon('break', assert.rejects(visitor.rest(head), /ended/));
    });

    it('with a broken chunk is broken for the visitor', async () => {
      const [visitor, local] = await connect();
      local.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n');
      const head = await visitor.finalHead();
      local.write('nonsense\r\n');
      await assertEndsSoon('break', assert.rejects(visitor.rest(head), /ended/));
    });

    it('that never comes is a 502, not a hang', async () => {
      for (const how of ['end', 'resetAndDestroy'] as const) {
        const [visitor, local] = await connect();
        local.socket[how]();
        const { value, ms } = await timed(() => visitor.response());
        assert.deepEqual([value.status, value.head.field('culvert-error')], [502, 'client-closed']);
        assert.ok(ms < AT_MOST_MS, `after ${ms} ms`);
      }
    });

    it('may be early: it passes before the request is complete', async () => {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000\r\n\r\nonly this`);
      const local = await service.next();
      await local.head();
      local.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno');
      local.socket.end();
      const { status, text } = await visitor.response();
      assert.deepEqual([status, text], [403, 'no']);
    });

    it('is all there is: bytes after it do not answer the next request', async () => {
      const one = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none';
      const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
      const talkative = await startFixedAnswer(scope, one + evil, { keepsOpen: true });
      const { key } = await pool.take();
      const { tunnel } = await kind.start(scope, relay, key, { localPort: talkative.port });
      const visitor = await RawConnection.open(scope, relay.port);
      assert.equal((await visitor.request({ host: hostOf(tunnel, relay) })).text, 'one');
      const second = await visitor.request({ host: hostOf(tunnel, relay) }).then(
        ({ text }) => text,
        () => 'broken',
      );
      assert.notEqual(second, 'evil');
    });
  });

  describe('interim answers', () => {
    it('pass, each and in order', async () => {
      const [visitor, local] = await connect();
      local.write('HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n');
      const hint = await visitor.head();
      assert.deepEqual([hint.status, hint.field('link')], [103, '</a>; rel=preload']);
      local.write('HTTP/1.1 102 Processing\r\n\r\n');
      assert.equal((await visitor.head()).status, 102);
      local.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      assert.equal((await visitor.response()).text, 'ok');
    });

    it('100 comes when the service says so, not before', async () => {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(
        `POST / HTTP/1.1\r\nHost: ${host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
      );
      const local = await service.next();
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

    it('a refused expectation is answered without the body', async () => {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(
        `POST / HTTP/1.1\r\nHost: ${host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
      );
      const local = await service.next();
      await local.head();
      local.write('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno');
      assert.equal((await visitor.response()).status, 401);
    });
  });

  describe('answers without a body', () => {
    for (const status of ['204 No Content', '304 Not Modified']) {
      it(`${status} ends with its head, and the connection goes on`, async () => {
        const [visitor, local] = await connect();
        local.write(`HTTP/1.1 ${status}\r\nX-Some: field\r\n\r\n`);
        assert.equal((await visitor.response()).text, '');
        await visitor.write(formatRequest({ host, target: '/next' }));
        assert.match(await local.head(), /^GET \/next /);
        local.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext');
        assert.equal((await visitor.response()).text, 'next');
      });
    }

    it('HEAD with a length ends with its head', async () => {
      const [visitor, local] = await connect({ method: 'HEAD' });
      local.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
      const { head } = await visitor.response('HEAD');
      assert.equal(head.field('content-length'), '1000');
    });
  });

  describe('a visitor', () => {
    it('that is gone ends the local connection, before an answer', async () => {
      const [visitor, local] = await connect();
      visitor.reset();
      await assertEndsSoon('end of the local connection', local.reader.ending);
    });

    it('that is gone ends the local connection, during an answer', async () => {
      const [visitor, local] = await connect();
      local.write('HTTP/1.1 200 OK\r\n\r\n');
      await visitor.finalHead();
      const ticking = setInterval(() => local.write('tick'), 20);
      visitor.socket.destroy();
      await assertEndsSoon('end of the local connection', local.reader.ending);
      clearInterval(ticking);
    });

    it('that is gone ends the local connection, during its request', async () => {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 100\r\n\r\nonly this`);
      const local = await service.next();
      await local.head();
      visitor.reset();
      await assertEndsSoon('end of the local connection', local.reader.ending);
    });

    it('that half-closes after its request still gets the answer', async () => {
      const [visitor, local] = await connect();
      visitor.halfClose();
      await delay(300);
      local.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n');
      await delay(300);
      local.write('late');
      assert.equal((await visitor.response()).text, 'late');
    });

    it('that half-closes within its request gets no complete one through', async () => {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 100\r\n\r\nonly this`);
      const local = await service.next();
      await local.head();
      visitor.halfClose();
      await assertEndsSoon('end of the local connection', local.reader.ending);
    });
  });

  describe('an HTTP/1.0 visitor', () => {
    it('gets a chunked answer without chunks, and the connection closes', async () => {
      const [visitor, local] = await connectOld();
      local.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n5\r\nhello\r\n');
      const head = await visitor.head();
      assert.equal(head.field('transfer-encoding'), undefined);
      local.write('6\r\n world\r\n0\r\nA: b\r\n\r\n');
      assert.equal((await visitor.rest(head)).text, 'hello world');
    });

    it('gets an answer with a length, and the connection closes, even when it asks for more', async () => {
      const [visitor, local] = await connectOld('Connection: keep-alive\r\n');
      local.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      assert.equal((await visitor.response()).text, 'ok');
      await assertEndsSoon('end', visitor.ending);
    });

    it('gets no interim answer', async () => {
      const [visitor, local] = await connectOld();
      local.write('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      assert.equal((await visitor.head()).status, 200);
    });

    it('sees a chunked answer that breaks off as broken', async () => {
      const [visitor, local] = await connectOld();
      local.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n');
      const head = await visitor.head();
      local.socket.end();
      await assertEndsSoon('break', assert.rejects(visitor.rest(head), /ended by reset/));
    });
  });

  it('an upgraded connection ends with either side', async () => {
    const upgrade: Request['headers'] = [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'websocket'],
      ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
      ['Sec-WebSocket-Version', '13'],
    ];
    const answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const [first, firstLocal] = await connect({ headers: upgrade });
    firstLocal.write(answer);
    assert.equal((await first.finalHead()).status, 101);
    await first.write('up');
    assert.equal((await firstLocal.reader.exactly(2)).toString(), 'up');
    firstLocal.socket.end();
    await assertEndsSoon('end of the visitor', first.ending);

    const [second, secondLocal] = await connect({ headers: upgrade });
    secondLocal.write(answer);
    assert.equal((await second.finalHead()).status, 101);
    second.reset();
    await assertEndsSoon('end of the local connection', secondLocal.reader.ending);
  });

  it('bytes behind an upgrade wait for the 101 and are dropped without it', async () => {
    const visitor = await RawConnection.open(scope, relay.port);
    const request =
      `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
    await visitor.write(`${request}GET /smuggled HTTP/1.1\r\nHost: internal\r\n\r\n`);
    const local = await service.next();
    await local.head();
    await delay(100);
    assert.equal(local.reader.buffered, 0);
    local.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno');
    assert.equal((await visitor.response()).status, 400);
    await delay(100);
    assert.equal(local.reader.buffered, 0);
  });

  if (kind.name === 'the culvert program') {
    describe('a local port that refuses', () => {
      let refusingHost: string;

      before(async () => {
        const { key } = await pool.take();
        const { tunnel } = await kind.start(scope, relay, key, { localPort: await closedPort() });
        refusingHost = hostOf(tunnel, relay);
      });

      it('is answered with 502 local-refused', async () => {
        const visitor = await RawConnection.open(scope, relay.port);
        const { status, head, text } = await visitor.request({ host: refusingHost });
        assert.deepEqual([status, head.field('culvert-error')], [502, 'local-refused']);
        assert.match(head.field('content-type') ?? '', /^application\/json\b/);
        assert.equal(typeof JSON.parse(text), 'object');
      });

      it('is told in HTML to those who prefer it, and without a body for HEAD', async () => {
        const visitor = await RawConnection.open(scope, relay.port);
        const page = await visitor.request({ host: refusingHost, headers: [['Accept', 'text/html']] });
        assert.match(page.head.field('content-type') ?? '', /^text\/html\b/);
        const other = await RawConnection.open(scope, relay.port);
        assert.equal((await other.request({ method: 'HEAD', host: refusingHost })).status, 502);
      });

      it('is told after a request with a body, too', async () => {
        const visitor = await RawConnection.open(scope, relay.port);
        const body = Buffer.alloc(3_000_000);
        const answer = await visitor.request({ method: 'POST', host: refusingHost, body });
        assert.equal(answer.head.field('culvert-error'), 'local-refused');
      });
    });
  }
});
