import assert from 'node:assert/strict';
import { parseRequestHead } from '../../../shared/http1/head.ts';
import { headerField } from './hpack.ts';
import { RequestFields, TrailerFields, type WrittenHead } from './request.ts';

const PLAIN = [':method', 'GET', ':scheme', 'https', ':authority', 'abc.test', ':path', '/a?b'];
const LIMITS = { target: 8192, fields: 200 };

/** @param fields names and values in turn */
function addAll(fields: readonly string[], to: RequestFields | TrailerFields): void {
  for (let index = 0; index < fields.length; index += 2)
    to.add(headerField(fields[index] ?? '', fields[index + 1] ?? ''));
}

function write(fields: readonly string[], isComplete = true): WrittenHead {
  const request = new RequestFields();
  addAll(fields, request);
  return request.write(isComplete);
}

function written(fields: readonly string[], isComplete = true): string {
  return write(fields, isComplete).bytes.toString('latin1');
}

function fault(fields: readonly string[]): unknown {
  const head = parseRequestHead(write(fields).bytes, LIMITS);
  return typeof head === 'string' ? head : undefined;
}

function trailers(fields: readonly string[]): string | undefined {
  const collected = new TrailerFields();
  addAll(fields, collected);
  return collected.write()?.toString();
}

describe('RequestFields', () => {
  it('writes the request line, Host and the fields as sent', () => {
    assert.equal(
      written([...PLAIN, 'x-a', '1', 'x-a', '2']),
      'GET /a?b HTTP/1.1\r\nHost: abc.test\r\nx-a: 1\r\nx-a: 2\r\nConnection: close\r\n\r\n',
    );
  });

  it('takes the host from Host if there is no authority', () => {
    const fields = [':method', 'GET', ':scheme', 'https', ':path', '/', 'host', 'abc.test'];
    assert.match(written(fields), /^GET \/ HTTP\/1\.1\r\nHost: abc\.test\r\nConnection/);
  });

  it('accepts a Host that equals the authority except for case and the default port', () => {
    assert.equal(fault([...PLAIN, 'host', 'ABC.test:443']), undefined);
  });

  describe('that open a WebSocket (RFC 8441)', () => {
    const CONNECT = [':method', 'CONNECT', ':protocol', 'websocket', ...PLAIN.slice(2)];

    it('become an upgrade with a key, after which nothing is read as another request', () => {
      const { bytes, body } = write([...CONNECT, 'origin', 'https://abc.test'], false);
      assert.match(
        bytes.toString('latin1'),
        /^GET \/a\?b HTTP\/1\.1\r\nHost: abc\.test\r\norigin: https:\/\/abc\.test\r\nUpgrade: websocket\r\nSec-WebSocket-Key: [\w+/]{22}==\r\nConnection: Upgrade, close\r\n\r\n$/,
      );
      assert.equal(body, 'websocket');
    });

    it('have a different key each time', () => {
      assert.notEqual(written(CONNECT, false), written(CONNECT, false));
    });

    for (const [what, fields, isComplete] of [
      ['that end with their head', CONNECT, true],
      ['of another protocol', [...CONNECT.slice(0, 3), 'connect-udp', ...CONNECT.slice(4)], false],
      ['of another method', [':method', 'GET', ...CONNECT.slice(2)], false],
      ['with a length', [...CONNECT, 'content-length', '1'], false],
      ['with a key of their own', [...CONNECT, 'sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='], false],
      ['with two protocols', [':protocol', 'websocket', ...CONNECT], false],
    ] as const)
      it(`are malformed ${what}`, () => {
        assert.match(written(fields, isComplete), /^HTTP\/2\r\n/);
      });
  });

  it('joins the parts of a cookie', () => {
    assert.match(written([...PLAIN, 'cookie', 'a=1', 'x', 'y', 'cookie', 'b=2']), /\r\ncookie: a=1; b=2\r\n/);
  });

  it('keeps the parts of a cookie apart if there are too many fields', () => {
    const crumbs = Array.from({ length: 201 }, (_, index) => ['cookie', `a${index}=1`]).flat();
    assert.equal(fault([...PLAIN, ...crumbs]), 'head-too-large');
  });

  it('keeps no more of fields that are too large than it takes to refuse them', () => {
    const crumbs = Array.from({ length: 300 }, () => ['cookie', 'a'.repeat(4000)]).flat();
    assert.equal(write([...PLAIN, ...crumbs]).bytes.length, 16 * 1024 + 1);
  });

  it('announces a body without a length as chunked', () => {
    assert.equal(write(PLAIN, false).body, 'chunked');
    assert.match(written(PLAIN, false), /\r\nTransfer-Encoding: chunked\r\n/);
  });

  it('keeps the length of a body that has one', () => {
    const fields = [...PLAIN, 'content-length', '5'];
    assert.equal(write(fields, false).body, 'length');
    assert.doesNotMatch(written(fields, false), /chunked/);
  });

  it('writes no body for a request that ends with its head', () => {
    assert.equal(write(PLAIN).body, 'none');
  });

  const replaced = (name: string, value: string): string[] =>
    PLAIN.map((text, index) => (PLAIN[index - 1] === name ? value : text));
  const malformed: Record<string, readonly string[]> = {
    'a repeated pseudo-field': [...PLAIN.slice(0, 2), ...PLAIN],
    'an unknown pseudo-field': [':status', '200', ...PLAIN],
    'a late pseudo-field': ['a', 'b', ...PLAIN],
    'another scheme': replaced(':scheme', 'http'),
    'a path with a line end': replaced(':path', '/ HTTP/1.1\r\nx: y'),
    'a path that is a URL': replaced(':path', 'https://abc.test/'),
    'a method with a line end': replaced(':method', 'GET / HTTP/1.1\r\n'),
    'an authority with a line end': replaced(':authority', 'abc.test\r\nx: y'),
    'an authority with a user': replaced(':authority', 'me@abc.test'),
    'another Host': [...PLAIN, 'host', 'other.test'],
    'a second Host': [...PLAIN, 'host', 'abc.test', 'host', 'abc.test'],
    'a field of the connection': [...PLAIN, 'connection', 'x'],
    'a transfer coding': [...PLAIN, 'transfer-encoding', 'chunked'],
    'a TE other than trailers': [...PLAIN, 'te', 'gzip'],
    'an uppercase name': [...PLAIN, 'X', 'y'],
    'no method': PLAIN.slice(2),
    'no path': PLAIN.slice(0, -2),
    'no scheme': [...PLAIN.slice(0, 2), ...PLAIN.slice(4)],
    'no authority and no Host': [...PLAIN.slice(0, 4), ...PLAIN.slice(6)],
    'an empty path': replaced(':path', ''),
    'a path with a fragment': replaced(':path', '/a#b'),
    'a path with a blank': replaced(':path', '/a b'),
    'a CONNECT': [':method', 'CONNECT', ':authority', 'abc.test'],
    'an empty name': [...PLAIN, '', 'c'],
    'a name with a blank': [...PLAIN, 'a b', 'c'],
    'a value with a NUL': [...PLAIN, 'x', 'y\0z'],
    'a value with a blank before it': [...PLAIN, 'x', ' y'],
    'a value with a line end': [...PLAIN, 'x', 'y\r\nz: 1'],
    'a value with a blank at its end': [...PLAIN, 'x', 'y '],
    'a character above 255': [...PLAIN, 'x', 'Āa'],
  };
  for (const [what, fields] of Object.entries(malformed)) {
    it(`writes a head that is refused for ${what}`, () => assert.equal(fault(fields), 'bad-request'));
  }

  it('keeps the field Accept of a malformed request, which decides on the form of the response', () => {
    assert.match(written([...PLAIN, 'accept', 'text/html', 'X', 'y']), /\r\nAccept: text\/html\r\n/);
  });

  it('writes only ASCII of that field', () => {
    assert.equal(
      written([...PLAIN, 'accept', 'text/htmlé; q=1', 'X', 'y']),
      'HTTP/2\r\nAccept: text/html; q=1\r\n\r\n',
    );
  });
});

describe('TrailerFields', () => {
  it('ends a chunked body', () => {
    assert.equal(trailers(['x-sum', '1']), '0\r\nx-sum: 1\r\n\r\n');
  });

  it('writes nothing for malformed fields', () => {
    assert.equal(trailers(['x', 'a\r\nb']), undefined);
  });
});
