import assert from 'node:assert/strict';
import { type Field, RawConnection, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

describe('a builtin response of the relay (protocol.md section 4.5)', () => {
  const { scope, relay } = sharedRelaySuite();

  async function unknown(headers: readonly Field[], method = 'GET') {
    return await visit(relay.port, { method, host: 'nobody.localhost', headers });
  }

  for (const accept of [BROWSER, 'text/html', 'text/html, application/json;q=0.9', 'TEXT/HTML']) {
    it(`is HTML for Accept: ${accept}`, async () => {
      const { status, head, text } = await unknown([['Accept', accept]]);
      assert.deepEqual([status, head.field('culvert-error')], [404, 'tunnel-unknown']);
      assert.match(head.field('content-type') ?? '', /^text\/html\b/);
      assert.match(text, /^<!doctype html>/i);
    });
  }

  for (const accept of [
    '*/*',
    'application/json',
    'application/json, text/html;q=0.5',
    'text/html;q=0',
    'image/*',
  ]) {
    it(`is JSON for Accept: ${accept}`, async () => {
      const { status, head, text } = await unknown([['Accept', accept]]);
      assert.deepEqual([status, head.field('culvert-error')], [404, 'tunnel-unknown']);
      assert.match(head.field('content-type') ?? '', /^application\/json\b/);
      assert.equal(typeof JSON.parse(text), 'object');
    });
  }

  it('is JSON without Accept', async () => {
    assert.match((await unknown([])).head.field('content-type') ?? '', /^application\/json\b/);
  });

  const REFUSED_HEADS: [what: string, request: string, status: number][] = [
    ['a target that is too long', `GET /${'x'.repeat(8193)} HTTP/1.1|Host: HOST|Accept: ${BROWSER}||`, 414],
    ['too many cookies', `GET / HTTP/1.1|Accept: ${BROWSER}|Cookie: ${'x'.repeat(16_400)}||`, 431],
    ['a target that is not a path', `GET path HTTP/1.1|Host: HOST|accept:${BROWSER}||`, 400],
    ['a broken line', `GET / HTTP/1.1|Host: HOST|Accept: ${BROWSER}|nonsense||`, 400],
  ];

  for (const [what, request, status] of REFUSED_HEADS) {
    it(`is HTML for a head with ${what} if the visitor prefers it`, async () => {
      const connection = await RawConnection.open(scope, relay.port);
      await connection.write(request.replaceAll('|', '\r\n').replaceAll('HOST', 'nobody.localhost'));
      const answer = await connection.response();
      assert.equal(answer.status, status);
      assert.match(answer.head.field('content-type') ?? '', /^text\/html\b/);
      assert.match(answer.text, /^<!doctype html>/i);
    });
  }

  it('has no body for HEAD', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    await connection.write('HEAD / HTTP/1.1\r\nHost: nobody.localhost\r\nConnection: close\r\n\r\n');
    const head = await connection.head();
    assert.deepEqual([head.status, head.field('culvert-error')], [404, 'tunnel-unknown']);
    assert.equal((await connection.reader.rest()).length, 0);
  });

  it('is 204 with Allow for OPTIONS *, for any Host, on a connection that continues', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    for (const host of ['localhost', 'nobody.localhost', 'a.b.c.localhost']) {
      await connection.write(`OPTIONS * HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      const head = await connection.head();
      assert.deepEqual(
        [head.status, head.field('allow'), head.field('content-length'), head.field('transfer-encoding')],
        [204, 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS', undefined, undefined],
      );
    }
    await connection.write('OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    assert.equal((await connection.head()).field('connection'), 'close');
    assert.equal((await connection.reader.rest()).length, 0);
  });

  it('is 204 for OPTIONS * with a body, which is not read as a request', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    const body = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
    await connection.write(
      `OPTIONS * HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    assert.deepEqual([(await connection.head()).status, await connection.ending], [204, 'end']);
    assert.equal((await connection.reader.rest()).length, 0);
  });

  it('never contains parts of the request as markup', async () => {
    const { text } = await visit(relay.port, {
      host: 'nobody.localhost',
      target: '/<script>alert(1)</script>',
      headers: [['Accept', BROWSER]],
    });
    assert.doesNotMatch(text, /<script>alert/);
  });

  it('is complete for HTTP/1.0 visitors, whose connection ends', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    await connection.write('GET / HTTP/1.0\r\nHost: nobody.localhost\r\n\r\n');
    const { status, head } = await connection.response();
    assert.deepEqual([status, head.field('transfer-encoding')], [404, undefined]);
    assert.equal(await connection.ending, 'end');
  });
});
