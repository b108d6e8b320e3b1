import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { BULK_READ_BYTES, BULK_TURN_MS, loopScheduler } from '../../../shared/scheduler/fair-reads.ts';
import { connectLocal } from '../../testing/fake-stream.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { closeServers, startTcp } from '../../testing/servers.ts';
import { Deadlines, DEADLINE_TICK_MS } from '../clock.ts';
import { LocalDialer } from './local-dialer.ts';
import { LocalExchange, LocalPool, reuse, LOCAL_IDLE_MAX, LOCAL_IDLE_MS } from './local-reuse.ts';
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

  for (const [name, act] of [
    ['sends something', (service) => service.write('x')],
    ['ends it', (service) => service.end()],
    ['resets it', (service) => service.resetAndDestroy()],
  ] as const satisfies [string, (service: Socket) => void][])
    it(`drops an idle connection when the service ${name}`, async () => {
      const { pool, services, locals, deadlines } = await setUp(1);
      await until(() => services.length === 1);
      for (const service of services) act(service);
      await until(() => pool.size === 0);
      assert.deepEqual([locals[0]?.isOpen, deadlines.size], [false, 0]);
    });

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

  for (const [what, act, outcome] of [
    ['responds', (service) => service.write('HTTP/1.1 2'), 'answered HTTP/1.1 2'],
    ['ends the connection', (service) => service.end(), 'unanswered'],
    ['resets the connection', (service) => service.resetAndDestroy(), 'unanswered'],
    ['was idle for too long', (service) => service.write('HTTP/1.1 408 Request Timeout\r\n'), 'unanswered'],
  ] as const satisfies [string, (service: Socket) => void, string][])
    it(`reports "${outcome}" when the service ${what}`, async () =>
      assert.equal(await attempt(act), outcome));

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

/** Each `|` stands for the end of a line. */
const bytesOf = (text: string): Buffer => Buffer.from(text.replaceAll('|', '\r\n'), 'latin1');

const REQUEST = 'GET /x?y HTTP/1.1|Host: a|Cookie: b=c|X-Forwarded-For: 192.0.2.1||';

describe('LocalExchange.of', () => {
  for (const request of [
    REQUEST,
    'HEAD / HTTP/1.1|Host: a||',
    'OPTIONS / HTTP/1.1|Host: a||',
    'GET / HTTP/1.1|Host: a|Content-Length: 0||',
  ])
    it(`accepts ${request}`, () => assert.ok(LocalExchange.of(bytesOf(request))));

  for (const request of [
    'POST / HTTP/1.1|Host: a||',
    'DELETE / HTTP/1.1|Host: a||',
    'get / HTTP/1.1|Host: a||',
    'GET / HTTP/1.0|Host: a||',
    'GET / HTTP/1.1|Host: a|Content-Length: 1||x',
    'GET / HTTP/1.1|Host: a|Content-Length: 1||',
    'GET / HTTP/1.1|Host: a|Transfer-Encoding: chunked||',
    'GET / HTTP/1.1|Host: a|Content-Length: 0, 0||',
    'GET / HTTP/1.1|Host: a|Upgrade: websocket|Connection: Upgrade||',
    'GET / HTTP/1.1|Host: a|Connection: close||',
    // A login may be for the connection.
    'GET / HTTP/1.1|Host: a|AUTHORIZATION: NTLM TlRMTVNTUAAB||',
    'GET / HTTP/1.1|Host: a|Proxy-Authorization: Negotiate YII||',
    'GET / HTTP/1.1|Host: a|Expect: 100-continue||',
    REQUEST.slice(0, -1),
    REQUEST + REQUEST,
    `${REQUEST}x`,
    'hello||',
    `GET / HTTP/1.1|Host: a|X: ${'x'.repeat(40_000)}||`,
  ])
    it(`rejects ${request.slice(0, 150)}`, () => assert.equal(LocalExchange.of(bytesOf(request)), undefined));
});

describe('LocalExchange', () => {
  const LENGTH = 'HTTP/1.1 200 OK|Content-Length: 5||hello';
  const CHUNKED = 'HTTP/1.1 200 OK|Transfer-Encoding: chunked||5|hello|0|X: y||';
  const EMPTY = 'HTTP/1.1 200 OK|Content-Length: 0';

  /** Whether the connection is free after that response, in pieces divided by `^`. */
  const rows: readonly [isFree: boolean, response: string, method?: string][] = [
    [true, LENGTH],
    [true, LENGTH.replace('ello', '^e^llo')],
    [true, CHUNKED],
    [true, CHUNKED.slice(0, -14) + Array.from(CHUNKED.slice(-14)).join('^')],
    [true, `${EMPTY}||`],
    [true, 'HTTP/1.1 204 No Content||'],
    [true, 'HTTP/1.1 304 Not Modified|ETag: "a"||'],
    [true, 'HTTP/1.1 200 OK|X: y||', 'HEAD'],
    [true, `${EMPTY}|Connection: Keep-Alive||`],
    [true, 'HTTP/1.1 500 Internal Server Error|Content-Length: 0||'],
    [true, `HTTP/1.1 103 Early Hints|Link: </a>||HTTP/1.1 102 Processing||^${LENGTH}`],
    [true, `HTTP/1.1 103 Early Hints||${LENGTH}`],
    [false, ''],
    [false, LENGTH.slice(0, -1)],
    [false, CHUNKED.slice(0, -1)],
    [false, LENGTH.slice(0, 20)],
    // A head that is passed on in parts would have to be copied to be parsed.
    [false, `${LENGTH.slice(0, 20)}^${LENGTH.slice(20)}`],
    [false, 'HTTP/1.1 103 Early Hints||'],
    [false, `${LENGTH}x`],
    [false, `${LENGTH}^x`],
    [false, `${CHUNKED}x`],
    [false, `${EMPTY}||x`],
    [false, LENGTH + LENGTH],
    // The body ends with the connection.
    [false, 'HTTP/1.1 200 OK||hello'],
    [false, 'HTTP/1.0 200 OK|Content-Length: 5|Connection: keep-alive||hello'],
    [false, `${EMPTY}|Connection: close||`],
    [false, `${EMPTY}|Connection: keep-alive, Close||`],
    [false, `${EMPTY}|Connection: upgrade||`],
    // The challenge may be for the connection.
    [false, 'HTTP/1.1 401 Unauthorized|Content-Length: 0|WWW-Authenticate: NTLM||'],
    [false, `${EMPTY}|Proxy-Authenticate: Negotiate||`],
    [false, 'HTTP/1.1 101 Switching Protocols|Upgrade: x|Connection: upgrade||'],
    [false, 'HTTP/1.1 200 OK|Content-Length: 5|Content-Length: 5||hello'],
    [false, 'HTTP/1.1 200 OK|Content-Length: 5|Transfer-Encoding: chunked||hello'],
    [false, 'HTTP/1.1 200 OK|Transfer-Encoding: chunked||x|'],
    [false, 'HTTP/1.1 200 OK|Transfer-Encoding: chunked||^x|^0||'],
    [false, 'HTTP/1.1 200 OK|Content-Length : 0||'],
    [false, `${EMPTY}|X: ${'x'.repeat(70_000)}||`],
    // If the server sends a body anyway, no other visitor may receive it.
    [false, 'HTTP/1.1 200 OK|Content-Length: 5||', 'HEAD'],
    [false, 'HTTP/1.1 200 OK|Transfer-Encoding: chunked||', 'HEAD'],
    [false, 'HTTP/1.1 204 No Content|Content-Length: 5||'],
    [false, 'HTTP/1.1 304 Not Modified|Content-Length: 5||'],
  ];
  for (const [isFree, response, method = 'GET'] of rows)
    it(`is ${isFree ? 'free' : 'not free'} after ${response.slice(0, 120)} to ${method}`, () => {
      const exchange = LocalExchange.of(bytesOf(`${method} / HTTP/1.1|Host: a||`));
      assert.ok(exchange);
      for (const piece of response.split('^')) {
        const chunk = bytesOf(piece);
        exchange.follow(chunk);
        // Masking does this to data that was passed on.
        chunk.fill(0xff);
      }
      assert.equal(exchange.isReusable, isFree);
    });
});
