import assert from 'node:assert/strict';
import { type Field, listMembers, parseFields } from './fields.ts';
import { fieldsStart, HeadReader, HeadWriter, parseRequestHead, parseResponseHead } from './head.ts';

const limits = { target: 100, fields: 3 };
const headRequest = (text: string) => parseRequestHead(Buffer.from(text, 'latin1'), limits);
const response = (text: string) => parseResponseHead(Buffer.from(text, 'latin1'));
const texts = ({ name, lower, value }: Field) => [name, lower, value];

describe('parseRequestHead', () => {
  it('parses a head, with names as sent and values without surrounding space', () => {
    const head = headRequest('GET /a?b HTTP/1.1\r\nHost: x\r\nX-Thing:\t a b \t\r\nempty:\r\n\r\n');
    assert.ok(typeof head === 'object');
    assert.deepEqual([head.method, head.target, head.minor], ['GET', '/a?b', 1]);
    assert.deepEqual(head.fields.map(texts), [
      ['Host', 'host', 'x'],
      ['X-Thing', 'x-thing', 'a b'],
      ['empty', 'empty', ''],
    ]);
  });

  it('keeps bytes that are not ASCII', () => {
    const head = headRequest('GET /\xc3\xa4 HTTP/1.0\r\nX: \xa0\xff\r\n\r\n');
    assert.ok(typeof head === 'object');
    assert.deepEqual([head.target, head.minor, head.fields[0]?.value], ['/\xc3\xa4', 0, '\xa0\xff']);
  });

  const malformed: Record<string, string> = {
    'two spaces in the request line': 'GET  / HTTP/1.1\r\n\r\n',
    'a space at the end of the request line': 'GET / HTTP/1.1 \r\n\r\n',
    'no version': 'GET /\r\n\r\n',
    'a lower-case version': 'GET / http/1.1\r\n\r\n',
    'a method that is no token': 'G@T / HTTP/1.1\r\n\r\n',
    'a fragment': 'GET /#a HTTP/1.1\r\n\r\n',
    'a control byte in the target': 'GET /\x01 HTTP/1.1\r\n\r\n',
    'a space before the colon': 'GET / HTTP/1.1\r\nHost : x\r\n\r\n',
    'a folded line': 'GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n',
    'a line without a colon': 'GET / HTTP/1.1\r\nHost\r\n\r\n',
    'an empty name': 'GET / HTTP/1.1\r\n: x\r\n\r\n',
    'a NUL in a value': 'GET / HTTP/1.1\r\nA: \0\r\n\r\n',
    'a bare CR in a value': 'GET / HTTP/1.1\r\nA: b\rc\r\n\r\n',
    'a bare LF as line end': 'GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n',
    'an empty line first': '\r\nGET / HTTP/1.1\r\n\r\n',
  };
  for (const [what, text] of Object.entries(malformed)) {
    it(`rejects ${what}`, () => assert.equal(headRequest(text), 'bad-request'));
  }

  it('rejects other versions', () => {
    for (const version of ['2.0', '1.2', '0.9', '3.0']) {
      assert.equal(headRequest(`GET / HTTP/${version}\r\n\r\n`), 'version-not-supported');
    }
  });

  it('enforces the limits of target and fields', () => {
    assert.equal(headRequest(`GET /${'a'.repeat(100)} HTTP/1.1\r\n\r\n`), 'uri-too-long');
    assert.equal(headRequest(`GET / HTTP/1.1\r\n${'A: b\r\n'.repeat(4)}\r\n`), 'head-too-large');
  });
});

describe('parseResponseHead', () => {
  it('parses a status line with and without a reason', () => {
    const head = response('HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n');
    assert.deepEqual([head?.status, head?.minor, head?.fields.map(texts)], [404, 1, [['A', 'a', 'b']]]);
    assert.equal(response('HTTP/1.0 200\r\n\r\n')?.status, 200);
    assert.equal(response('HTTP/1.1 200 \r\n\r\n')?.status, 200);
  });

  for (const text of [
    'HTTP/1.1 20 OK\r\n\r\n',
    'HTTP/2.0 200 OK\r\n\r\n',
    'ICY 200 OK\r\n\r\n',
    'HTTP/1.1 099 x\r\n\r\n',
    'HTTP/1.1 200OK\r\n\r\n',
    'HTTP/1.1 2000\r\n\r\n',
    'HTTP/1.1 200 a\rb\r\n\r\n',
    'HTTP/1.1 200 OK\n\r\n',
  ]) {
    it(`rejects ${JSON.stringify(text)}`, () => assert.equal(response(text), undefined));
  }
});

describe('listMembers', () => {
  it('combines all lines of a field', () => {
    const lines = 'Connection: Keep-Alive, ,X-a\r\nconnection: close\r\nX-b: c\r\n\r\n';
    assert.deepEqual(listMembers(parseFields(Buffer.from(lines), 0) ?? [], 'connection'), [
      'keep-alive',
      'x-a',
      'close',
    ]);
  });
});

describe('HeadReader', () => {
  it('returns the head and the bytes after it', () => {
    const end = new HeadReader(100).push(Buffer.from('GET / HTTP/1.1\r\n\r\nbody'));
    assert.ok(typeof end === 'object');
    assert.equal(end.head.toString('latin1'), 'GET / HTTP/1.1\r\n\r\n');
    assert.equal(end.rest.toString(), 'body');
  });

  it('accepts a head in single bytes, and then the next one', () => {
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

  it('enforces its limit, with or without an end in the data', () => {
    assert.equal(new HeadReader(10).push(Buffer.from('0123456789ab')), 'too-large');
    assert.equal(new HeadReader(10).push(Buffer.from('0123456789ab\r\n\r\n')), 'too-large');
    assert.equal(typeof new HeadReader(10).push(Buffer.from('012345\r\n\r\nmore than ten')), 'object');
  });

  it('does not copy data beyond its limit, but still shows it', () => {
    const reader = new HeadReader(100_000);
    const [start, more] = [Buffer.alloc(99_000, 'x'), Buffer.alloc(60_000, 'y')];
    reader.push(start);
    const before = process.memoryUsage().arrayBuffers;
    assert.equal(reader.push(more), 'too-large');
    const copied = process.memoryUsage().arrayBuffers - before;
    assert.ok(copied < 10_000, `${copied} bytes more`);
    assert.equal(reader.text, start.toString() + more.toString());
  });

  it('accepts a head that ends at its limit in a piece that extends beyond it', () => {
    const reader = new HeadReader(20);
    assert.equal(reader.push(Buffer.from('GET / HTTP/1.1\r\n\r')), undefined);
    const end = reader.push(Buffer.from('\nbody'));
    assert.ok(typeof end === 'object');
    assert.deepEqual([end.head.length, end.rest.toString()], [18, 'body']);
  });

  it('distinguishes a bare line feed from a head that is too large, whichever piece it is in', () => {
    for (const [piece, fault] of [
      ['\nHost: x\r\n', 'too-large'],
      ['Host: x\nA: b\r\n', 'malformed'],
    ] as const) {
      const reader = new HeadReader(20);
      reader.push(Buffer.from('GET / HTTP/1.1\r'));
      assert.equal(reader.push(Buffer.from(piece)), fault);
    }
  });

  it('rejects what cannot become a head without waiting for its end', () => {
    for (const text of ['\r\nGET /', '\n', 'GET / HTTP/1.1\nHost: x\n']) {
      assert.equal(new HeadReader(100).push(Buffer.from(text)), 'malformed');
    }
  });
});

const LIMITS = { target: 100, fields: 100 };

function headWriterHead(fields: string) {
  const parsed = parseRequestHead(Buffer.from(`GET / HTTP/1.1\r\n${fields}\r\n`, 'latin1'), LIMITS);
  assert.ok(typeof parsed === 'object');
  return parsed;
}

describe('HeadWriter', () => {
  it('keeps the selected parts in order, around the added ones', () => {
    const request = headWriterHead('A: 1\r\nB: 2\r\nC: 3\r\nD: \xff\r\n');
    const writer = new HeadWriter(request.bytes, 0);
    writer.keep(0, fieldsStart(request));
    for (const field of request.fields) if (!field.is('b')) writer.keepField(field);
    writer.text('E: \xa0\r\n\r\n');
    writer.bytes(Buffer.from('body'));
    assert.equal(
      writer.end().toString('latin1'),
      'GET / HTTP/1.1\r\nA: 1\r\nC: 3\r\nD: \xff\r\nE: \xa0\r\n\r\nbody',
    );
  });

  it('writes fields in plain form, regardless of their original form', () => {
    const request = headWriterHead('A:1\r\nB:\t2 \r\nC:  3\r\nD:\r\nE: 4\t\r\n');
    const writer = new HeadWriter(request.bytes, 0);
    for (const field of request.fields) writer.keepField(field);
    assert.equal(writer.end().toString('latin1'), 'A: 1\r\nB: 2\r\nC: 3\r\nD: \r\nE: 4\r\n');
  });

  it('grows beyond its expected size', () => {
    const writer = new HeadWriter(Buffer.from('abc'), 0);
    writer.text('x'.repeat(1000));
    writer.keep(1, 3);
    writer.bytes(Buffer.alloc(5000, 'y'));
    assert.equal(writer.end().toString(), `${'x'.repeat(1000)}bc${'y'.repeat(5000)}`);
  });
});
