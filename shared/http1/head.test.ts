import assert from 'node:assert/strict';
import { type Field, listMembers, parseFields } from './fields.ts';
import { parseRequestHead, parseResponseHead } from './head.ts';

const limits = { target: 100, fields: 3 };
const request = (text: string) => parseRequestHead(Buffer.from(text, 'latin1'), limits);
const response = (text: string) => parseResponseHead(Buffer.from(text, 'latin1'));
const texts = ({ name, lower, value }: Field) => [name, lower, value];

describe('parseRequestHead', () => {
  it('reads a head, names as sent and values without surrounding space', () => {
    const head = request('GET /a?b HTTP/1.1\r\nHost: x\r\nX-Thing:\t a b \t\r\nempty:\r\n\r\n');
    assert.ok(typeof head === 'object');
    assert.deepEqual([head.method, head.target, head.minor], ['GET', '/a?b', 1]);
    assert.deepEqual(head.fields.map(texts), [
      ['Host', 'host', 'x'],
      ['X-Thing', 'x-thing', 'a b'],
      ['empty', 'empty', ''],
    ]);
  });

  it('keeps bytes that are not ASCII', () => {
    const head = request('GET /\xc3\xa4 HTTP/1.0\r\nX: \xa0\xff\r\n\r\n');
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
    it(`refuses ${what}`, () => assert.equal(request(text), 'bad-request'));
  }

  it('refuses other versions', () => {
    for (const version of ['2.0', '1.2', '0.9', '3.0']) {
      assert.equal(request(`GET / HTTP/${version}\r\n\r\n`), 'version-not-supported');
    }
  });

  it('keeps to the limits of target and fields', () => {
    assert.equal(request(`GET /${'a'.repeat(100)} HTTP/1.1\r\n\r\n`), 'uri-too-long');
    assert.equal(request(`GET / HTTP/1.1\r\n${'A: b\r\n'.repeat(4)}\r\n`), 'head-too-large');
  });
});

describe('parseResponseHead', () => {
  it('reads a status line with and without a reason', () => {
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
    it(`refuses ${JSON.stringify(text)}`, () => assert.equal(response(text), undefined));
  }
});

describe('listMembers', () => {
  it('takes all lines of a field together', () => {
    const lines = 'Connection: Keep-Alive, ,X-a\r\nconnection: close\r\nX-b: c\r\n\r\n';
    assert.deepEqual(listMembers(parseFields(Buffer.from(lines), 0) ?? [], 'connection'), [
      'keep-alive',
      'x-a',
      'close',
    ]);
  });
});
