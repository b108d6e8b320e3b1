import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { BULK_READ_BYTES, BULK_TURN_MS, loopScheduler } from '../../../shared/scheduler/fair-reads.ts';
import { connectLocal } from '../../testing/fake-stream.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { closeServers, startTcp } from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import { DEADLINE_TICK_MS, LOCAL_IDLE_MAX, LOCAL_IDLE_MS } from '../limits.ts';
import { LocalDialer } from './local-dialer.ts';
import { LocalExchange, LocalPool, reuse } from './local-reuse.ts';
import { type LocalConnection, localPort } from './local-service.ts';

/** A pool with `count` connections to a service that the test plays. */
async function setUp(count: number) {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const pool = new LocalPool(deadlines);
  const services: Socket[] = [];
  const port = await startTcp((socket) => services.push(socket.resume()));
  const locals: LocalConnection[] = [];
  while (locals.length < count) {
    const local = await connectLocal(new LocalDialer(localPort(port), deadlines));
    locals.push(local);
    pool.put(local);
  }
  return { clock, deadlines, pool, services, locals };
}

/** Uses up the time that a turn of the event loop has for large data. */
function useUpTurn(): void {
  const end = performance.now() + BULK_TURN_MS;
  while (performance.now() < end);
}

/** Lets the event loop run until the condition holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('LocalPool', () => {
  afterEach(closeServers);

  it('hands out the connection used last, and each only once', async () => {
    const { pool, locals, deadlines } = await setUp(2);
    assert.deepEqual([pool.take(), pool.take(), pool.take()], [locals[1], locals[0], undefined]);
    assert.equal(deadlines.size, 0);
  });

  it('closes connections that stay unused', async () => {
    const { clock, pool, services, locals } = await setUp(1);
    clock.advance(LOCAL_IDLE_MS + DEADLINE_TICK_MS);
    assert.equal(pool.size, 0);
    assert.equal(locals[0]?.isOpen, false);
    await until(() => services[0]?.readableEnded === true);
  });

  const reasons: Record<string, (service: Socket) => void> = {
    'sends something': (service) => service.write('x'),
    'ends it': (service) => service.end(),
    'resets it': (service) => service.resetAndDestroy(),
  };
  for (const [name, act] of Object.entries(reasons)) {
    it(`drops an idle connection when the service ${name}`, async () => {
      const { pool, services, locals, deadlines } = await setUp(1);
      await until(() => services.length === 1);
      for (const service of services) act(service);
      await until(() => pool.size === 0);
      assert.deepEqual([locals[0]?.isOpen, deadlines.size], [false, 0]);
    });
  }

  it('does not hand out a connection with data that waits for its turn', async () => {
    const { pool, services, locals } = await setUp(1);
    await until(() => services.length === 1);
    services[0]?.write(Buffer.alloc(BULK_READ_BYTES));
    const others = {};
    await until(() => {
      // One for the rest of this turn, and one that is first in the next.
      loopScheduler.run(others, useUpTurn);
      loopScheduler.run(others, useUpTurn);
      return locals[0]?.isQuiet === false || pool.size === 0;
    });
    assert.equal(pool.size, 1);
    assert.equal(pool.take(), undefined);
    assert.deepEqual([pool.size, locals[0]?.isOpen], [0, false]);
  });

  it('does not keep a connection that is closed, paused or above the limit', async () => {
    const { pool, locals } = await setUp(LOCAL_IDLE_MAX + 1);
    assert.equal(pool.size, LOCAL_IDLE_MAX);
    assert.equal(locals.at(-1)?.isOpen, false);
    const local = pool.take();
    local?.pause();
    if (local !== undefined) pool.put(local);
    const closed = pool.take();
    closed?.destroy();
    if (closed !== undefined) pool.put(closed);
    assert.equal(pool.size, LOCAL_IDLE_MAX - 2);
    assert.equal(local?.isOpen, false);
  });

  it('closes all connections', async () => {
    const { pool, locals, deadlines } = await setUp(3);
    pool.clear();
    assert.deepEqual([pool.size, deadlines.size], [0, 0]);
    assert.ok(locals.every(({ isOpen }) => !isOpen));
  });
});

/** Sends a request over a used connection. `act` is the service's reaction. */
async function attempt(act: (service: Socket) => void): Promise<string> {
  const { pool, services } = await setUp(1);
  const local = pool.take();
  assert.ok(local);
  await until(() => services.length === 1);
  const [service] = services;
  assert.ok(service);
  const outcome = new Promise<string>((resolve, reject) => {
    const events: string[] = [];
    const tell = (event: string): void => {
      events.push(event);
      if (events.length > 1) reject(new Error(events.join()));
      setImmediate(resolve, event);
    };
    reuse(local, Buffer.from('request'), {
      answered: (_local, first) => tell(`answered ${first.toString()}`),
      unanswered: () => tell('unanswered'),
    });
  });
  assert.equal(String((await once(service, 'data'))[0]), 'request');
  act(service);
  return await outcome;
}

describe('reuse', () => {
  afterEach(closeServers);

  it('reports the first bytes of a response', async () => {
    assert.equal(await attempt((service) => service.write('HTTP/1.1 2')), 'answered HTTP/1.1 2');
  });

  const endings: Record<string, (service: Socket) => void> = {
    'ends the connection': (service) => service.end(),
    'resets the connection': (service) => service.resetAndDestroy(),
    'says that the connection was idle too long': (service) =>
      service.write('HTTP/1.1 408 Request Timeout\r\n'),
  };
  for (const [name, act] of Object.entries(endings)) {
    it(`reports that there is no response when the service ${name}`, async () => {
      assert.equal(await attempt(act), 'unanswered');
    });
  }

  it('reports nothing after it is cancelled', async () => {
    const { pool, services } = await setUp(1);
    const local = pool.take();
    assert.ok(local);
    const handler = { answered: () => assert.fail(), unanswered: () => assert.fail() };
    reuse(local, Buffer.from('request'), handler).cancel();
    await until(() => services[0]?.readableEnded === true);
    assert.equal(local.isOpen, false);
  });
});

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
    'a head beyond the limit': [[response(`Content-Length: 0\r\nX: ${'x'.repeat(70_000)}\r\n`)]],
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
