import assert from 'node:assert/strict';
import { HeadReader } from './head-reader.ts';

describe('HeadReader', () => {
  it('gives the head and the bytes behind it', () => {
    const end = new HeadReader(100).push(Buffer.from('GET / HTTP/1.1\r\n\r\nbody'));
    assert.ok(typeof end === 'object');
    assert.equal(end.head.toString('latin1'), 'GET / HTTP/1.1\r\n\r\n');
    assert.equal(end.rest.toString(), 'body');
  });

  it('takes a head in single bytes, and then the next one', () => {
    const reader = new HeadReader(100);
    for (const text of ['GET /1 HTTP/1.1\r\nA: b\r\n\r\n', 'GET /2 HTTP/1.1\r\n\r\n']) {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length - 1; at += 1) {
        assert.equal(reader.push(bytes.subarray(at, at + 1)), undefined);
        assert.ok(reader.partial);
      }
      const end = reader.push(bytes.subarray(-1));
      assert.ok(typeof end === 'object');
      assert.equal(end.head.toString('latin1'), text);
      assert.ok(!reader.partial);
    }
  });

  it('holds its limit, with and without an end in sight', () => {
    assert.equal(new HeadReader(10).push(Buffer.from('0123456789ab')), 'too-large');
    assert.equal(new HeadReader(10).push(Buffer.from('0123456789ab\r\n\r\n')), 'too-large');
    assert.equal(typeof new HeadReader(10).push(Buffer.from('012345\r\n\r\nmore than ten')), 'object');
  });

  it('does not wait for the end of what can be no head', () => {
    for (const text of ['\r\nGET /', '\n', 'GET / HTTP/1.1\nHost: x\n']) {
      assert.equal(new HeadReader(100).push(Buffer.from(text)), 'malformed');
    }
  });
});
