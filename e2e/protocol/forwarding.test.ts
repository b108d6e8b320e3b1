import assert from 'node:assert/strict';
import { AccountPool } from '../support/accounts.ts';
import { hostOf } from '../support/manual-client.ts';
import type { Relay } from '../support/programs.ts';
import { type Field, formatRequest, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { sharedRelay } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { type Echo, readEcho, seenField, seenFields, startEchoService } from '../support/services/echo.ts';
import { startFixedResponse } from '../support/services/scripted.ts';
import { SpecClient } from '../support/spec-client/client.ts';

describe('forwarding (protocol.md section 4.2)', () => {
  const scope = suiteScope();
  let relay: Relay;
  let pool: AccountPool;
  let host: string;
  let slug: string;

  before(async () => {
    const [started, service] = await Promise.all([sharedRelay(), startEchoService(scope)]);
    relay = started;
    pool = new AccountPool(relay);
    const { tunnel } = await SpecClient.start(scope, relay, (await pool.take()).key, {
      local_port: service.port,
    });
    slug = tunnel.slug;
    host = hostOf(tunnel, relay);
  });

  async function seen(headers: readonly Field[], target = '/', to = host): Promise<Echo> {
    return readEcho(await visit(relay.port, { host: to, target, headers }));
  }

  /** The response that a visitor gets when the local service sends these bytes. */
  async function through(answer: string): Promise<Response> {
    const service = await startFixedResponse(scope, answer);
    const { tunnel } = await SpecClient.start(scope, relay, (await pool.take()).key, {
      local_port: service.port,
    });
    return await visit(relay.port, { host: hostOf(tunnel, relay) });
  }

  describe('of a request delivers', () => {
    it('names in their case and order, duplicates kept', async () => {
      const fields: Field[] = [
        ['Host', host],
        ['accept', 'a/b'],
        ['X-Dup', '1'],
        ['COOKIE', 'a=b'],
        ['x-dup', '2'],
        ['X-empty', ''],
        ['Accept', 'c/d'],
        ['X-Obs-Text', 'caf\u00e9'],
      ];
      const all = seenFields(await seen(fields.slice(1)));
      assert.deepEqual(
        all.filter(([name]) => !/^(x-forwarded-|connection$)/i.test(name)),
        fields,
      );
    });

    it('X-Forwarded-For, -Host and -Proto set', async () => {
      const echo = await seen([]);
      assert.deepEqual(
        ['For', 'Host', 'Proto', 'Prefix'].map((name) => seenField(echo, `X-Forwarded-${name}`)),
        ['127.0.0.1', host, 'http', undefined],
      );
    });

    it('the visitor’s own replaced, in any case and number', async () => {
      const echo = await seen([
        ['x-forwarded-for', '6.6.6.6'],
        ['X-Forwarded-For', '6.6.6.7'],
        ['X-FORWARDED-HOST', 'evil.example'],
        ['X-Forwarded-Proto', 'https'],
        ['X-Forwarded-Prefix', '/evil'],
      ]);
      assert.deepEqual(
        ['For', 'Host', 'Proto', 'Prefix'].map((name) => seenField(echo, `X-Forwarded-${name}`)),
        ['127.0.0.1', host, 'http', undefined],
      );
    });

    it('Host and X-Forwarded-Host as the visitor wrote them', async () => {
      const written = `${slug.toUpperCase()}.LOCALHOST.:77`;
      const echo = await seen([], '/', written);
      assert.deepEqual([seenField(echo, 'Host'), seenField(echo, 'X-Forwarded-Host')], [written, written]);
    });

    it('X-Forwarded-Prefix for the path form, the visitor’s own replaced', async () => {
      const own: Field = ['x-forwarded-prefix', '/evil'];
      const echo = await seen([own], `/t/${slug}/x`, `localhost:${relay.port}`);
      assert.equal(seenField(echo, 'X-Forwarded-Prefix'), `/t/${slug}`);
    });

    it('no hop-by-hop fields', async () => {
      const echo = await seen([
        ['Connection', 'keep-alive, X-Secret, x-forwarded-for'],
        ['X-Secret', '1'],
        ['Keep-Alive', 'timeout=5'],
        ['Proxy-Connection', 'keep-alive'],
        ['X-Kept', '1'],
      ]);
      assert.deepEqual(
        ['X-Secret', 'Keep-Alive', 'Proxy-Connection', 'X-Kept', 'X-Forwarded-For'].map((name) =>
          seenField(echo, name),
        ),
        [undefined, undefined, undefined, '1', '127.0.0.1'],
      );
    });

    it('no offer to upgrade to anything but websocket, and the request continues', async () => {
      const echo = await seen([
        ['Connection', 'Upgrade, HTTP2-Settings'],
        ['Upgrade', 'h2c'],
        ['HTTP2-Settings', 'AAMAAABkAAQAoAAAAAIAAAAA'],
      ]);
      assert.deepEqual(
        ['Upgrade', 'HTTP2-Settings'].map((name) => seenField(echo, name)),
        [undefined, undefined],
      );
    });

    it('a body with its length, or chunked with its trailers', async () => {
      const connection = await RawConnection.open(scope, relay.port);
      const sized = readEcho(await connection.request({ method: 'POST', host, body: 'x'.repeat(100_000) }));
      assert.equal(sized.length, 100_000);
      assert.equal(seenField(sized, 'Content-Length'), '100000');
      await connection.write(
        `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n` +
          '5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 42\r\n\r\n',
      );
      const chunked = readEcho(await connection.response());
      assert.equal(chunked.length, 11);
      assert.equal(seenField(chunked, 'Transfer-Encoding'), 'chunked');
      assert.equal(seenField(chunked, 'Content-Length'), undefined);
      assert.deepEqual(chunked.trailers, ['X-Sum', '42']);
    });
  });

  describe('of a response delivers', () => {
    it('status, reason, names in their case and order, duplicates kept, and ours after them', async () => {
      const { head, text } = await through(
        'HTTP/1.1 299 Quite Fine\r\nset-cookie: a=1\r\nX-One: 1\r\nSet-Cookie: b=2; Domain=x; Path=/\r\n' +
          'Strict-Transport-Security: max-age=1\r\nLocation: /x\r\nContent-Length: 2\r\nx-ONE: 2\r\n\r\nok',
      );
      assert.deepEqual([head.status, head.reason, text], [299, 'Quite Fine', 'ok']);
      assert.deepEqual(
        head.fields.filter(([name]) => !/^(connection|keep-alive)$/i.test(name)),
        [
          ['set-cookie', 'a=1'],
          ['X-One', '1'],
          ['Set-Cookie', 'b=2; Path=/'],
          ['Strict-Transport-Security', 'max-age=1'],
          ['Location', '/x'],
          ['Content-Length', '2'],
          ['x-ONE', '2'],
          ['X-Robots-Tag', 'noindex'],
        ],
      );
    });

    it('chunks and trailers', async () => {
      const answer = await through(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\nX-Sum: 7\r\n\r\n',
      );
      assert.equal(answer.text, 'hello!');
      assert.deepEqual(answer.trailers, [['X-Sum', '7']]);
    });

    for (const [what, answer] of [
      ['no HTTP at all', 'SSH-2.0-OpenSSH_9.9\r\n\r\n'],
      [
        'a 101 nobody asked for',
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
      ],
    ] as const) {
      it(`502 instead of ${what}`, async () => {
        const { status, head } = await through(answer);
        assert.equal(status, 502);
        assert.notEqual(head.field('culvert-error'), undefined);
      });
    }
  });

  it('passes WebSocket upgrades with their fields', async () => {
    const service = await startFixedResponse(
      scope,
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: x\r\n\r\nhi',
    );
    const { tunnel } = await SpecClient.start(scope, relay, (await pool.take()).key, {
      local_port: service.port,
    });
    const connection = await RawConnection.open(scope, relay.port);
    await connection.write(
      formatRequest({
        host: hostOf(tunnel, relay),
        headers: [
          ['Connection', 'keep-alive, Upgrade'],
          ['Upgrade', 'websocket'],
          ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
          ['Sec-WebSocket-Version', '13'],
        ],
      }),
    );
    const head = await connection.finalHead();
    assert.deepEqual(
      [head.status, head.field('upgrade'), head.field('sec-websocket-accept')],
      [101, 'WebSocket', 'x'],
    );
    assert.equal((await connection.reader.rest()).toString(), 'hi');
  });
});
