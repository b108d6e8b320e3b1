import assert from 'node:assert/strict';
import { toHttp1Informational, toHttp1Response, toHttp1Trailers } from './http2-fields.ts';

const text = (raw: string[], method = 'GET', isEnd = false): string | undefined =>
  toHttp1Response([':status', '200', ...raw], method, isEnd)?.head.toString('latin1');

describe('toHttp1Response', () => {
  for (const [name, value] of [
    ['x-a', 'b\r\nset-cookie: c'],
    ['x-a', 'b\nc'],
    ['x-a', 'b\0'],
    ['x-a\r\nb', 'c'],
    ['x a', 'b'],
    ['x:a', 'b'],
    ['', 'b'],
    ['x-a', '\u0100'],
  ] as const)
    it(`rejects the field ${JSON.stringify([name, value])}`, () => {
      assert.equal(text([name, value]), undefined);
      assert.equal(toHttp1Trailers([name, value]), undefined);
      assert.equal(toHttp1Informational([':status', '103', name, value]), undefined);
    });

  it('leaves out the fields of a connection', () => {
    const fields = [
      'connection',
      'x-b',
      'transfer-encoding',
      'gzip',
      'keep-alive',
      '1',
      'upgrade',
      'x',
      'x-a',
      '1',
    ];
    assert.equal(text(fields), 'HTTP/1.1 200 OK\r\nx-a: 1\r\nTransfer-Encoding: chunked\r\n\r\n');
  });

  for (const length of ['', '1, 1', '-1', '+1', '1 ', '0x1', '01', '9'.repeat(16)])
    it(`rejects the length ${JSON.stringify(length)}`, () => {
      assert.equal(text(['content-length', length]), undefined);
    });

  it('delimits a response that may have trailers with chunks', () => {
    for (const field of [
      ['content-type', 'application/grpc+proto'],
      ['trailer', 'x-sum'],
    ])
      assert.doesNotMatch(text(['content-length', '5', ...field]) ?? 'content-length', /content-length/);
  });

  it('keeps the length of the resource in a response to HEAD', () => {
    assert.equal(text(['content-length', '5'], 'HEAD', true), 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n');
  });

  for (const status of ['', '99', '100', '199', '0200', '2000', '20x'])
    it(`rejects the status ${JSON.stringify(status)}`, () => {
      assert.equal(toHttp1Response([':status', status], 'GET', false), undefined);
    });
});

describe('toHttp1Trailers', () => {
  it('leaves out fields that must not be trailers', () => {
    const raw = [
      'grpc-status',
      '0',
      'content-length',
      '5',
      'x-accel-redirect',
      '/',
      'host',
      'a',
      'x-sum',
      '1',
    ];
    assert.equal(toHttp1Trailers(raw)?.toString(), '0\r\ngrpc-status: 0\r\nx-sum: 1\r\n\r\n');
  });
});

describe('toHttp1Informational', () => {
  it('leaves out a length', () => {
    const raw = [':status', '103', 'link', '</a>', 'content-length', '5'];
    assert.equal(toHttp1Informational(raw)?.toString(), 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n');
  });

  for (const status of ['101', '200'])
    it(`has no form for ${status}`, () => assert.equal(toHttp1Informational([':status', status]), undefined));
});
