import assert from 'node:assert/strict';
import { HeadReader } from './head-reader.ts';

describe('HeadReader', () => {
  it('returns the head and the bytes after it', () => {
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

  it('does not copy what comes beyond its limit, and shows it anyway', () => {
    const reader = new HeadReader(100_000);
    const [start, more] = [Buffer.alloc(99_000, 'x'), Buffer.alloc(60_000, 'y')];
    reader.push(start);
    const before = process.memoryUsage().arrayBuffers;
    assert.equal(reader.push(more), 'too-large');
    const copied = process.memoryUsage().arrayBuffers - before;
    assert.ok(copied < 10_000, `${copied} bytes more`);
    assert.equal(reader.text, start.toString() + more.toString());
  });

  it('takes a head that ends at its limit, in the piece that goes beyond', () => {
    const reader = new HeadReader(20);
    assert.equal(reader.push(Buffer.from('GET / HTTP/1.1\r\n\r')), undefined);
    const end = reader.push(Buffer.from('\nbody'));
    assert.ok(typeof end === 'object');
    assert.deepEqual([end.head.length, end.rest.toString()], [18, 'body']);
  });

  it('tells a bare line feed from what is too large, whichever piece it is in', () => {
    for (const [piece, fault] of [
      ['\nHost: x\r\n', 'too-large'],
      ['Host: x\nA: b\r\n', 'malformed'],
    ] as const) {
      const reader = new HeadReader(20);
      reader.push(Buffer.from('GET / HTTP/1.1\r'));
      assert.equal(reader.push(Buffer.from(piece)), fault);
    }
  });

  it('does not wait for the end of something that cannot be a head', () => {
    for (const text of ['\r\nGET /', '\n', 'GET / HTTP/1.1\nHost: x\n']) {
      assert.equal(new HeadReader(100).push(Buffer.from(text)), 'malformed');
    }
  });
});
