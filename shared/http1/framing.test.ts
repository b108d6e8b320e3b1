import assert from 'node:assert/strict';
import { requestFraming, responseFraming } from './framing.ts';
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
  it('is none, a length, or chunked', () => {
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
    it(`refuses ${JSON.stringify(fields)}`, () => assert.equal(ofRequest(fields), 'bad-request'));
  }

  it('refuses a coding on HTTP/1.0, and other codings as not implemented', () => {
    assert.equal(ofRequest('Transfer-Encoding: chunked\r\n', '1.0'), 'bad-request');
    assert.equal(ofRequest('Transfer-Encoding: gzip, chunked\r\n'), 'not-implemented');
    assert.equal(ofRequest('Transfer-Encoding: identity\r\n'), 'not-implemented');
  });
});

describe('responseFraming', () => {
  it('is none where there can be no body, whatever the fields say', () => {
    assert.deepEqual(ofResponse(200, 'Content-Length: 5\r\n', { method: 'HEAD' }), { kind: 'none' });
    assert.deepEqual(ofResponse(304, 'Content-Length: 5\r\n'), { kind: 'none' });
    assert.deepEqual(ofResponse(204, ''), { kind: 'none' });
    assert.deepEqual(ofResponse(103, ''), { kind: 'none' });
  });

  it('goes on to the end of the connection when it says nothing', () => {
    assert.deepEqual(ofResponse(200, ''), { kind: 'until-close' });
    assert.deepEqual(ofResponse(200, '', { version: '1.0' }), { kind: 'until-close' });
  });

  it('refuses what is ambiguous', () => {
    assert.equal(ofResponse(200, 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'), undefined);
    assert.equal(ofResponse(200, 'Content-Length: x\r\n'), undefined);
    assert.equal(ofResponse(200, 'Transfer-Encoding: chunked\r\n', { version: '1.0' }), undefined);
  });
});
