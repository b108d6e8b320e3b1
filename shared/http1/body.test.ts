import assert from 'node:assert/strict';
import { BodyError, requestFraming, responseFraming, trackBody } from './body.ts';
import { parseRequestHead, parseResponseHead } from './head.ts';

function ofRequest(fields: string, version = '1.1') {
  const head = parseRequestHead(Buffer.from(`POST / HTTP/${version}\r\n${fields}\r\n`, 'latin1'), {
    target: 10,
    fields: 10,
  });
  assert.ok(typeof head === 'object');
  return requestFraming(head);
}

function ofResponse(status: number, fields: string, { method = 'GET', version = '1.1' } = {}) {
  const head = parseResponseHead(Buffer.from(`HTTP/${version} ${status} x\r\n${fields}\r\n`, 'latin1'));
  assert.ok(head);
  return responseFraming(head, method);
}

describe('requestFraming', () => {
  it('returns none, a length, or chunked', () => {
    assert.deepEqual(ofRequest(''), { kind: 'none' });
    assert.deepEqual(ofRequest('Content-Length: 0\r\n'), { kind: 'none' });
    assert.deepEqual(ofRequest('content-length: 12\r\n'), { kind: 'length', length: 12 });
    assert.deepEqual(ofRequest('Transfer-Encoding: Chunked\r\n'), { kind: 'chunked' });
  });

  for (const fields of [
    'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n',
    'Content-Length: 1\r\nContent-Length: 1\r\n',
    'Content-Length: +1\r\n',
    'Content-Length: 01\r\n',
    'Content-Length: 1, 1\r\n',
    'Content-Length: 0x1\r\n',
    'Content-Length:\r\n',
    'Content-Length: 9999999999999999\r\n',
    'Transfer-Encoding:\r\n',
    'Transfer-Encoding: ,chunked\r\n',
    'Transfer-Encoding: chunked, chunked\r\n',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n',
  ]) {
    it(`rejects ${JSON.stringify(fields)}`, () => assert.equal(ofRequest(fields), 'bad-request'));
  }

  it('rejects a coding on HTTP/1.0, and other codings as not implemented', () => {
    assert.equal(ofRequest('Transfer-Encoding: chunked\r\n', '1.0'), 'bad-request');
    assert.equal(ofRequest('Transfer-Encoding: gzip, chunked\r\n'), 'not-implemented');
    assert.equal(ofRequest('Transfer-Encoding: identity\r\n'), 'not-implemented');
  });
});

describe('responseFraming', () => {
  it('returns none if the response cannot have a body, regardless of the fields', () => {
    assert.deepEqual(ofResponse(200, 'Content-Length: 5\r\n', { method: 'HEAD' }), { kind: 'none' });
    assert.deepEqual(ofResponse(304, 'Content-Length: 5\r\n'), { kind: 'none' });
    assert.deepEqual(ofResponse(204, ''), { kind: 'none' });
    assert.deepEqual(ofResponse(103, ''), { kind: 'none' });
  });

  it('lasts until the end of the connection if no length is declared', () => {
    assert.deepEqual(ofResponse(200, ''), { kind: 'until-close' });
    assert.deepEqual(ofResponse(200, '', { version: '1.0' }), { kind: 'until-close' });
  });

  it('rejects ambiguous framing', () => {
    assert.equal(ofResponse(200, 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'), undefined);
    assert.equal(ofResponse(200, 'Content-Length: x\r\n'), undefined);
    assert.equal(ofResponse(200, 'Transfer-Encoding: chunked\r\n', { version: '1.0' }), undefined);
  });
});

const CHUNKED = '5\r\nhello\r\nA;name="v"\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n';

/** Parses a chunked body in one piece. */
function chunked(text: string): () => number {
  return () => trackBody({ kind: 'chunked' }).advance(Buffer.from(text), 0);
}

describe('trackBody', () => {
  it('ends a body after its length, and leaves the rest', () => {
    const body = trackBody({ kind: 'length', length: 5 });
    assert.equal(body.advance(Buffer.from('abc'), 0), 3);
    assert.ok(!body.done);
    assert.equal(body.advance(Buffer.from('deGET'), 0), 2);
    assert.ok(body.done);
  });

  it('ends an empty body immediately, and one until the close never', () => {
    assert.ok(trackBody({ kind: 'none' }).done);
    const body = trackBody({ kind: 'until-close' });
    assert.equal(body.advance(Buffer.from('abc'), 0), 3);
    assert.ok(!body.done);
  });

  for (const size of [1, 2, 3, 7, 100]) {
    it(`parses a chunked body in pieces of ${size}`, () => {
      const content: Buffer[] = [];
      const body = trackBody({ kind: 'chunked' }, (piece) => content.push(piece));
      const bytes = Buffer.from(`${CHUNKED}GET / HTTP/1.1`);
      let taken = 0;
      for (let at = 0; at < bytes.length && !body.done; at += size) {
        const piece = bytes.subarray(at, at + size);
        taken += body.advance(piece, 0);
      }
      assert.ok(body.done);
      assert.equal(taken, CHUNKED.length);
      assert.equal(Buffer.concat(content).toString(), 'hello0123456789');
    });
  }

  for (const text of [
    '\r\n',
    'g\r\n',
    '-1\r\n',
    ' 5\r\n',
    '5 \r\n',
    '0x5\r\n',
    '5\n',
    // Extensions outside their grammar (RFC 9112 section 7.1.1).
    '5;\r\n',
    '5; \r\n',
    '5;a \r\n',
    '5;;a\r\n',
    '5;a;\r\n',
    '5;=x\r\n',
    '5;a=\r\n',
    '5;a=b=c\r\n',
    '5;bad[=x\r\n',
    '5;a b\r\n',
    '5;a=b c\r\n',
    '5;a="x\r\n',
    '5;a="x\\"\r\n',
    '5;a="x"y\r\n',
    '5;"a"=x\r\n',
    '5,a\r\n',
    '5;a\0\r\n',
    '5;a=\x80\r\n',
    '5;a="\x7f"\r\n',
    '0;\r\n',
    '5\r\nhelloX',
    '5\r\nhello\rX',
    'FFFFFFFFFFFFFFFF\r\n',
    '0\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n',
    '0\r\nX_Real_IP: 6.6.6.6\r\n\r\n',
    '0\r\nX-Accel-Redirect: /\r\n\r\n',
    '0\r\n folded\r\n\r\n',
    // Rejected immediately, not only at the end of the trailers: another parser may take such a line for the end.
    '0\r\n\nGET /smuggled HTTP/1.1\nHost: x\n\n',
    '0\r\nA: b\n\nGET /smuggled HTTP/1.1\n',
    '0\r\n\rGET',
    '0\r\nA: b\rC: d\r\n',
  ]) {
    it(`rejects the chunked body ${JSON.stringify(text.slice(0, 40))}`, () => {
      assert.throws(() => trackBody({ kind: 'chunked' }).advance(Buffer.from(text), 0), BodyError);
    });
  }

  for (const extension of [
    ';a',
    ';a=b',
    ' ;\t a \t= b',
    ';a;b=c;d="e;f=g"',
    ';a=""',
    ';a="\\"\\\\\t \xff"',
    ";!#$%&'*+-.^_`|~09azAZ=1",
  ]) {
    it(`accepts the chunk extension ${JSON.stringify(extension)}`, () => {
      const bytes = Buffer.from(`1${extension}\r\nx\r\n0${extension}\r\n\r\n`, 'latin1');
      assert.equal(trackBody({ kind: 'chunked' }).advance(bytes, 0), bytes.length);
    });
  }

  for (const name of `Content-Length Transfer-Encoding Host Trailer TE Connection Upgrade Authorization Content-Encoding Content-Type Content-Range`.split(
    ' ',
  ))
    it(`rejects ${name} as a trailer, in any case`, () => {
      for (const spelling of [name, name.toLowerCase()])
        assert.throws(
          () => trackBody({ kind: 'chunked' }).advance(Buffer.from(`0\r\n${spelling}: 1\r\n\r\n`), 0),
          BodyError,
        );
    });

  it('rejects chunk-size lines above 1 KiB, and trailers above 8 KiB, complete or not', () => {
    assert.equal(chunked(`1;${'x'.repeat(1022)}\r\n`)(), 1026);
    assert.throws(chunked(`1;${'x'.repeat(1023)}\r\n`), BodyError);
    assert.throws(chunked(`1;${'x'.repeat(1023)}`), BodyError);
    assert.equal(chunked(`0\r\nX: ${'x'.repeat(8000)}\r\n\r\n`)(), 8010);
    assert.throws(chunked(`0\r\nX: ${'x'.repeat(8200)}`), BodyError);
    assert.throws(chunked(`0\r\nX: ${'x'.repeat(8200)}\r\n\r\n`), BodyError);
  });
});
