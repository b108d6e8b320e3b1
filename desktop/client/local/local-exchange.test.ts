import assert from 'node:assert/strict';
import { LocalExchange } from './local-exchange.ts';

const REQUEST = 'GET /x?y HTTP/1.1\r\nHost: a\r\nCookie: b=c\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n';

const request = (method: string, fields = '', version = '1.1'): string =>
  `${method} / HTTP/${version}\r\nHost: a\r\n${fields}\r\n`;

const response = (fields = '', body = '', status = '200 OK', version = '1.1'): string =>
  `HTTP/${version} ${status}\r\n${fields}\r\n${body}`;

describe('LocalExchange.of', () => {
  const suitable: Record<string, string> = {
    'a GET': REQUEST,
    'a HEAD': request('HEAD'),
    'an OPTIONS': request('OPTIONS'),
    'a length of 0': request('GET', 'Content-Length: 0\r\n'),
  };
  for (const [name, bytes] of Object.entries(suitable)) {
    it(`accepts ${name}`, () => assert.ok(LocalExchange.of(Buffer.from(bytes))));
  }

  const unsuitable: Record<string, string> = {
    'a POST': request('POST'),
    'a method that may change something': request('DELETE'),
    'a method in lower case': request('get'),
    'HTTP/1.0': request('GET', '', '1.0'),
    'a body': `${request('GET', 'Content-Length: 1\r\n')}x`,
    'a body that is still to come': request('GET', 'Content-Length: 1\r\n'),
    'a chunked body': request('GET', 'Transfer-Encoding: chunked\r\n'),
    'a broken length': request('GET', 'Content-Length: 0, 0\r\n'),
    'an offered upgrade': request('GET', 'Upgrade: websocket\r\nConnection: Upgrade\r\n'),
    'a Connection field': request('GET', 'Connection: close\r\n'),
    'a login, which may be for the connection': request('GET', 'AUTHORIZATION: NTLM TlRMTVNTUAAB\r\n'),
    'a login at a proxy': request('GET', 'Proxy-Authorization: Negotiate YII\r\n'),
    'an expectation': request('GET', 'Expect: 100-continue\r\n'),
    'a part of a head': REQUEST.slice(0, -1),
    'a second request behind it': REQUEST + REQUEST,
    'one byte behind it': `${REQUEST}x`,
    'what is no HTTP': 'hello\r\n\r\n',
    'a head beyond the limit': request('GET', `X: ${'x'.repeat(40_000)}\r\n`),
  };
  for (const [name, bytes] of Object.entries(unsuitable)) {
    it(`rejects ${name}`, () => assert.equal(LocalExchange.of(Buffer.from(bytes)), undefined));
  }
});

/** Whether the connection is free after that response, which comes in these pieces. */
function isReusable(pieces: readonly string[], method = 'GET'): boolean {
  const exchange = LocalExchange.of(Buffer.from(request(method)));
  assert.ok(exchange);
  for (const piece of pieces) {
    const chunk = Buffer.from(piece, 'latin1');
    exchange.follow(chunk);
    // Masking does this to data that was passed on.
    chunk.fill(0xff);
  }
  return exchange.isReusable;
}

describe('LocalExchange', () => {
  const length = response('Content-Length: 5\r\n', 'hello');
  const chunked = response('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\nX: y\r\n\r\n');

  const free: Record<string, [string[], string?]> = {
    'a body of known length': [[length]],
    'a body in pieces': [[length.slice(0, -4), 'e', 'llo']],
    'a chunked body': [[chunked]],
    'a chunked body in pieces': [[chunked.slice(0, -20), ...Array.from(chunked.slice(-20))]],
    'an empty body': [[response('Content-Length: 0\r\n')]],
    'no content': [[response('', '', '204 No Content')]],
    'not modified': [[response('ETag: "a"\r\n', '', '304 Not Modified')]],
    'a response to HEAD that announces nothing': [[response('X: y\r\n')], 'HEAD'],
    'a connection that is said to be kept': [
      [response('Connection: Keep-Alive\r\nContent-Length: 0\r\n')],
      'GET',
    ],
    'an error': [[response('Content-Length: 0\r\n', '', '500 Internal Server Error')]],
    'interim responses before it': [
      [response('Link: </a>\r\n', '', '103 Early Hints') + response('', '', '102 Processing'), length],
    ],
    'an interim response with it': [[response('', '', '103 Early Hints') + length]],
  };
  for (const [name, [pieces, method]] of Object.entries(free)) {
    it(`is free after ${name}`, () => assert.ok(isReusable(pieces, method)));
  }

  const taken: Record<string, [string[], string?]> = {
    nothing: [[]],
    'an incomplete body': [[length.slice(0, -1)]],
    'an incomplete chunked body': [[chunked.slice(0, -1)]],
    'a part of a head': [[length.slice(0, 20)]],
    // A head that is passed on in parts would have to be copied to be parsed.
    'a head in parts': [[length.slice(0, 20), length.slice(20)]],
    'an interim response alone': [[response('', '', '103 Early Hints')]],
    'a byte behind the body': [[`${length}x`]],
    'a byte behind the body, later': [[length, 'x']],
    'a byte behind a chunked body': [[`${chunked}x`]],
    'a byte behind an empty body': [[response('Content-Length: 0\r\n', 'x')]],
    'a second response': [[length + length]],
    'a body that ends with the connection': [[response('', 'hello')]],
    'HTTP/1.0': [[response('Content-Length: 5\r\nConnection: keep-alive\r\n', 'hello', '200 OK', '1.0')]],
    'a connection that is to close': [[response('Content-Length: 0\r\nConnection: close\r\n')]],
    'close in a list': [[response('Content-Length: 0\r\nConnection: keep-alive, Close\r\n')]],
    'another connection option': [[response('Content-Length: 0\r\nConnection: upgrade\r\n')]],
    'a challenge for the connection': [
      [response('Content-Length: 0\r\nWWW-Authenticate: NTLM\r\n', '', '401 Unauthorized')],
    ],
    'a challenge of a proxy': [[response('Content-Length: 0\r\nProxy-Authenticate: Negotiate\r\n')]],
    'a switch nobody asked for': [
      [response('Upgrade: x\r\nConnection: upgrade\r\n', '', '101 Switching Protocols')],
    ],
    'two lengths': [[response('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello')]],
    'length and chunks': [[response('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', 'hello')]],
    'broken chunks': [[response('Transfer-Encoding: chunked\r\n', 'x\r\n')]],
    'broken chunks, later': [[response('Transfer-Encoding: chunked\r\n'), 'x\r\n', '0\r\n\r\n']],
    'a broken head': [['HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n']],
    'a head beyond the limit': [[response(`Content-Length: 0\r\nX: ${'x'.repeat(40_000)}\r\n`)]],
    // If the server sends a body anyway, no other visitor may receive it.
    'a response to HEAD that announces a body': [[response('Content-Length: 5\r\n')], 'HEAD'],
    'a response to HEAD that announces chunks': [[response('Transfer-Encoding: chunked\r\n')], 'HEAD'],
    'no content with a length': [[response('Content-Length: 5\r\n', '', '204 No Content')]],
    'not modified with a length': [[response('Content-Length: 5\r\n', '', '304 Not Modified')]],
  };
  for (const [name, [pieces, method]] of Object.entries(taken)) {
    it(`is not free after ${name}`, () => assert.ok(!isReusable(pieces, method)));
  }
});
