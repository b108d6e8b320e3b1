import assert from 'node:assert/strict';
import { listMembers, parseRequestHead, parseResponseHead } from './head.ts';

const limits = { target: 100, fields: 3 };
const request = (text: string) => parseRequestHead(text, limits);

describe('parseRequestHead', () => {
  it('reads a head, names as sent and values without the space around them', () => {
    assert.deepEqual(request('GET /a?b HTTP/1.1\r\nHost: x\r\nX-Thing:\t a b \t\r\nempty:\r\n\r\n'), {
      method: 'GET',
      target: '/a?b',
      minor: 1,
      fields: [
        { name: 'Host', lower: 'host', value: 'x' },
        { name: 'X-Thing', lower: 'x-thing', value: 'a b' },
        { name: 'empty', lower: 'empty', value: '' },
      ],
    });
  });

  it('keeps bytes that are no ASCII', () => {
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

  it('holds the limits of target and fields', () => {
    assert.equal(request(`GET /${'a'.repeat(100)} HTTP/1.1\r\n\r\n`), 'uri-too-long');
    assert.equal(request(`GET / HTTP/1.1\r\n${'A: b\r\n'.repeat(4)}\r\n`), 'head-too-large');
  });
});

describe('parseResponseHead', () => {
  it('reads a status line with and without a reason', () => {
    assert.deepEqual(parseResponseHead('HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n'), {
      status: 404,
      reason: 'Not Found',
      minor: 1,
      fields: [{ name: 'A', lower: 'a', value: 'b' }],
    });
    assert.equal(parseResponseHead('HTTP/1.0 200\r\n\r\n')?.status, 200);
  });

  for (const text of [
    'HTTP/1.1 20 OK\r\n\r\n',
    'HTTP/2.0 200 OK\r\n\r\n',
    'ICY 200 OK\r\n\r\n',
    'HTTP/1.1 099 x\r\n\r\n',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.equal(parseResponseHead(text), undefined));
  }
});

describe('listMembers', () => {
  it('takes all lines of a field together', () => {
    const fields = [
      { name: 'Connection', lower: 'connection', value: 'Keep-Alive, ,X-a' },
      { name: 'connection', lower: 'connection', value: 'close' },
    ];
    assert.deepEqual(listMembers(fields, 'connection'), ['keep-alive', 'x-a', 'close']);
  });
});
