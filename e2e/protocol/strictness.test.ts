import assert from 'node:assert/strict';
import { AccountPool } from '../support/accounts.ts';
import { hostOf } from '../support/manual-client.ts';
import type { Relay } from '../support/programs.ts';
import { RawConnection } from '../support/raw-http.ts';
import { sharedRelay } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import { type HttpService, startRawService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

/** Requests that are refused before a tunnel sees one byte. `HOST` is replaced by the tunnel's. */
const REFUSED: [what: string, request: string, status: number][] = [
  [
    'Content-Length and Transfer-Encoding',
    'POST / HTTP/1.1|Host: HOST|Content-Length: 5|Transfer-Encoding: chunked||0||',
    400,
  ],
  ['two Content-Length', 'POST / HTTP/1.1|Host: HOST|Content-Length: 1|Content-Length: 1||x', 400],
  ['a list of Content-Length', 'POST / HTTP/1.1|Host: HOST|Content-Length: 1, 1||x', 400],
  ['a signed Content-Length', 'POST / HTTP/1.1|Host: HOST|Content-Length: +1||x', 400],
  ['a hexadecimal Content-Length', 'POST / HTTP/1.1|Host: HOST|Content-Length: 0x1||x', 400],
  ['a Content-Length with a leading zero', 'POST / HTTP/1.1|Host: HOST|Content-Length: 01||x', 400],
  ['an empty Content-Length', 'POST / HTTP/1.1|Host: HOST|Content-Length:||', 400],
  [
    'two Transfer-Encoding',
    'POST / HTTP/1.1|Host: HOST|Transfer-Encoding: chunked|Transfer-Encoding: chunked||0||',
    400,
  ],
  ['an empty Transfer-Encoding', 'POST / HTTP/1.1|Host: HOST|Transfer-Encoding:||0||', 400],
  ['a Transfer-Encoding on HTTP/1.0', 'POST / HTTP/1.0|Host: HOST|Transfer-Encoding: chunked||0||', 400],
  ['another transfer coding', 'POST / HTTP/1.1|Host: HOST|Transfer-Encoding: gzip, chunked||0||', 501],
  ['a folded field', 'GET / HTTP/1.1|Host: HOST|X: a| b||', 400],
  ['a space before the colon', 'GET / HTTP/1.1|Host: HOST|X : a||', 400],
  ['a field without a name', 'GET / HTTP/1.1|Host: HOST|: a||', 400],
  ['a name that is no token', 'GET / HTTP/1.1|Host: HOST|X(y): a||', 400],
  ['a line without a colon', 'GET / HTTP/1.1|Host: HOST|nonsense||', 400],
  ['a NUL', 'GET / HTTP/1.1|Host: HOST|X: a\0b||', 400],
  ['a bare CR', 'GET / HTTP/1.1|Host: HOST|X: a\rb||', 400],
  ['a bare LF', 'GET / HTTP/1.1|Host: HOST|X: a\nY: b||', 400],
  ['no Host', 'GET / HTTP/1.1|X: HOST||', 400],
  ['two Hosts', 'GET / HTTP/1.1|Host: HOST|Host: HOST||', 400],
  ['an empty Host', 'GET / HTTP/1.1|Host:||', 400],
  ['a Host with a path', 'GET / HTTP/1.1|Host: HOST/x||', 400],
  ['a Host with a space', 'GET / HTTP/1.1|Host: HOST x||', 400],
  ['an absolute target that disagrees with Host', 'GET http://other.localhost/ HTTP/1.1|Host: HOST||', 400],
  ['an absolute target with a user', 'GET http://user@HOST/ HTTP/1.1|Host: HOST||', 400],
  ['an absolute target of another scheme', 'GET ftp://HOST/ HTTP/1.1|Host: HOST||', 400],
  ['an absolute target without Host', 'GET http://HOST/ HTTP/1.0||', 400],
  ['an asterisk target that is not of OPTIONS', 'GET * HTTP/1.1|Host: HOST||', 400],
  ['a target without a slash', 'GET x HTTP/1.1|Host: HOST||', 400],
  ['two spaces in the request line', 'GET  / HTTP/1.1|Host: HOST||', 400],
  ['a method that is no token', 'GE(T / HTTP/1.1|Host: HOST||', 400],
  ['an empty line first', '|GET / HTTP/1.1|Host: HOST||', 400],
  ['HTTP/2.0', 'GET / HTTP/2.0|Host: HOST||', 505],
  ['HTTP/1.2', 'GET / HTTP/1.2|Host: HOST||', 505],
  ['HTTP/0.9', 'GET /||', 400],
  ['a version in lower case', 'GET / http/1.1|Host: HOST||', 400],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03||', 400],
  ['more than 16 KiB of head', `GET / HTTP/1.1|Host: HOST|X: ${'x'.repeat(16_400)}||`, 431],
  ['more than 200 fields', `GET / HTTP/1.1|Host: HOST|${'X: y|'.repeat(201)}|`, 431],
  ['more than 8 KiB of target', `GET /${'x'.repeat(8193)} HTTP/1.1|Host: HOST||`, 414],
];

/** Bodies whose request is forwarded before they break. */
const BROKEN_CHUNKS: [what: string, body: string][] = [
  ['a size that is not a number', 'x\r\nhello\r\n0\r\n\r\n'],
  ['a negative size', '-5\r\nhello\r\n0\r\n\r\n'],
  ['a size with 0x', '0x5\r\nhello\r\n0\r\n\r\n'],
  ['a size beyond all bounds', 'ffffffffffffffffff\r\nhello\r\n0\r\n\r\n'],
  ['more data than announced', '3\r\nhello\r\n0\r\n\r\n'],
  ['a bare LF after a size', '5\nhello\r\n0\r\n\r\n'],
];

const A_METHOD = /^(\|?)(?:GET|POST) /;

/** Outside the grammar of RFC 9112 section 7.1.1. */
const BROKEN_EXTENSIONS: [what: string, extension: string][] = [
  ['no name', ';'],
  ['a bracket in its name', ';bad[=x'],
  ['no value', ';a='],
  ['a quote that does not end', ';a="x'],
  ['a space within', ';a b'],
];

describe('malformed and ambiguous requests (protocol.md section 4.2; RFC 9112)', () => {
  const scope = suiteScope();
  let relay: Relay;
  let service: HttpService;
  let host: string;
  let rawHost: string;
  let requests = 0;
  /** The next response of the raw service. */
  let rawAnswer = '';

  before(async () => {
    [relay, service] = await Promise.all([sharedRelay(), startEchoService(scope)]);
    service.server.on('request', () => (requests += 1));
    const { key } = await new AccountPool(relay).take();
    const { tunnel } = await SpecClient.start(scope, relay, key, { local_port: service.port });
    host = hostOf(tunnel, relay);
    const raw = await startRawService(scope, (socket) => socket.on('data', () => socket.write(rawAnswer)));
    const { tunnel: rawTunnel } = await SpecClient.start(scope, relay, key, { local_port: raw.port });
    rawHost = hostOf(rawTunnel, relay);
  });

  for (const [what, request, status] of REFUSED) {
    it(`${status} for ${what}, and nothing is forwarded`, async () => {
      const before = service.accepted;
      const connection = await RawConnection.open(scope, relay.port);
      // A second request right after it must neither be read nor executed.
      const next = `GET /behind HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
      await connection.write(request.replaceAll('|', '\r\n').replaceAll('HOST', host) + next);
      const answer = await connection.response();
      assert.equal(answer.status, status);
      assert.notEqual(answer.head.field('culvert-error'), undefined);
      assert.equal((await connection.reader.rest()).toString(), '', 'nothing more is answered');
      assert.equal(service.accepted, before);
    });
  }

  for (const [what, body] of BROKEN_CHUNKS) {
    it(`a chunked body with ${what} never ends in order`, async () => {
      const connection = await RawConnection.open(scope, relay.port);
      await connection.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n${body}`);
      const status = await connection.response().then(
        (answer) => answer.status,
        () => 0,
      );
      assert.ok(status === 400 || status === 0, String(status));
    });
  }

  it('requests at the limits pass', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    const fields = 'X: y\r\n'.repeat(150);
    const target = `/${'x'.repeat(8000)}`;
    await connection.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`);
    assert.equal((await connection.response()).status, 200);
  });

  for (const [what, request, status] of REFUSED.filter((refused) => A_METHOD.test(refused[1]))) {
    it(`${status} without a body for a HEAD with ${what}`, async () => {
      const connection = await RawConnection.open(scope, relay.port);
      const line = request.replace(A_METHOD, '$1HEAD ');
      await connection.write(line.replaceAll('|', '\r\n').replaceAll('HOST', host));
      assert.equal((await connection.head()).status, status);
      assert.equal((await connection.reader.rest()).toString(), '');
    });
  }

  it('an absolute target that agrees with Host is forwarded in origin form', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    for (const authority of [host, host.toUpperCase()]) {
      await connection.write(`GET http://${authority}/x?y HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      const { url, rawHeaders } = readEcho(await connection.response());
      assert.deepEqual([url, rawHeaders.slice(0, 2)], ['/x?y', ['Host', host]]);
    }
  });

  for (const [what, extension] of BROKEN_EXTENSIONS) {
    it(`400 for a chunk extension with ${what}, without its chunk`, async () => {
      const before = requests;
      const connection = await RawConnection.open(scope, relay.port);
      await connection.write(
        `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n5${extension}\r\nhello\r\n0\r\n\r\n` +
          `GET /behind HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      );
      const { status, head } = await connection.response();
      assert.deepEqual([status, head.field('culvert-error')], [400, 'bad-request']);
      assert.equal((await connection.reader.rest()).toString(), '');
      assert.ok(requests - before <= 1);
    });

    it(`a chunk extension with ${what} breaks a response`, async () => {
      const connection = await RawConnection.open(scope, relay.port);
      rawAnswer = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5${extension}\r\nhello\r\n0\r\n\r\n`;
      await connection.write(`GET / HTTP/1.1\r\nHost: ${rawHost}\r\n\r\n`);
      assert.equal((await connection.response()).head.field('culvert-error'), 'local-malformed');
    });
  }

  it('chunk extensions within the grammar pass, both ways', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    const chunked = '5;a;b=c ; d="e;\\"f"\r\nhello\r\n0;a\r\n\r\n';
    await connection.write(
      `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n${chunked.replace(' ; ', ';')}`,
    );
    assert.equal((await connection.response()).status, 200);
    rawAnswer = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`;
    await connection.write(`GET / HTTP/1.1\r\nHost: ${rawHost}\r\n\r\n`);
    assert.equal((await connection.response()).text, 'hello');
  });

  for (const method of ['CONNECT', 'TRACE']) {
    it(`405 for ${method} to the relay`, async () => {
      const connection = await RawConnection.open(scope, relay.port);
      const target = method === 'CONNECT' ? 'example.com:443' : '/';
      await connection.write(`${method} ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      assert.equal((await connection.response()).status, 405);
    });
  }

  it('417 for an unknown expectation', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    await connection.write(
      `POST / HTTP/1.1\r\nHost: ${host}\r\nExpect: miracles\r\nContent-Length: 1\r\n\r\nx`,
    );
    assert.equal((await connection.response()).status, 417);
  });
});
