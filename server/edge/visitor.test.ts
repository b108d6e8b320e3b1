import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { EdgeFixture, type FakeStream, TestVisitor, until } from '../testing/edge-fixture.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { LOST_BEYOND } from '../tunnels/stream.ts';
import { AddressCount, ConnectionLimiter, Slot, ConnectionSlots } from './connection-limiter.ts';
import { KeptStreams } from './kept-streams.ts';
import { boundPort } from './listener.ts';
import {
  BARRED_RESPONSE_MS,
  BODY_TIMEOUT_MS,
  DRAIN_IDLE_MS,
  HEAD_TIMEOUT_MS,
  IDLE_TIMEOUT_MS,
  LEAVE_TIMEOUT_MS,
  LINGER_MAX_MS,
  LINGER_TIMEOUT_MS,
  REPLACED_IDLE_MS,
} from './timeouts.ts';
import { SocketConnection } from './visitor-connection.ts';
import { BACKLOG_MAX_BYTES } from './visitor-socket.ts';
import { Visitor } from './visitor.ts';

/** The limits of one connection, with a fake clock. */
describe('Visitor', () => {
  let fixture: EdgeFixture;
  let server: Server;
  let socket: Socket;
  let visitor: Visitor;
  let peer: TestVisitor;
  let slots: ConnectionSlots;
  /** number of times that its owner was notified that it is gone */
  let gone: number;
  let from: { address: string; proto: 'http'; trusted: boolean };
  /** what its connection keeps for several visitors, as with HTTP/2 */
  let shared: KeptStreams | undefined;

  beforeEach(async () => {
    fixture = new EdgeFixture();
    gone = 0;
    shared = undefined;
    from = { address: '127.0.0.1', proto: 'http', trusted: false };
    server = createServer({ allowHalfOpen: true });
    const accepted = new Promise<void>((resolve) => {
      server.on('connection', (connection: Socket) => {
        socket = connection;
        slots = new ConnectionSlots({ visitors: 1, newcomers: 1 });
        const enter = (entering: Visitor) =>
          new ConnectionLimiter(
            new Slot(slots, entering),
            new AddressCount(fixture.addresses, from, entering),
          );
        const options = { enter, gone: () => (gone += 1), ...(shared && { kept: shared }) };
        visitor = new Visitor(new SocketConnection(connection), from, fixture.upstreams, options);
        resolve();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    peer = await TestVisitor.connect(boundPort(server));
    await accepted;
  });

  afterEach(() => {
    peer.socket.destroy();
    visitor.destroy();
    server.close();
  });

  /** Lets time pass. */
  function advance(ms: number): void {
    fixture.now += ms;
    visitor.tick(fixture.now);
  }

  /** Sends bytes and waits until they have arrived. */
  async function send(text: string): Promise<void> {
    const before = socket.bytesRead;
    peer.socket.write(text);
    await until(() => socket.bytesRead === before + text.length);
  }

  /** Ends the visitor's side, and waits until that has arrived. */
  async function halfClose(): Promise<void> {
    const ended = once(socket, 'end');
    peer.socket.end();
    await ended;
  }

  /** Suspends the tunnel. */
  function suspend(): void {
    Object.assign(fixture.tunnel, { isSuspended: true });
    visitor.review(fixture.tunnel);
  }

  /** A request whose response has begun with these bytes; without any, one that waits. */
  async function begin(answer: string, fields = ''): Promise<FakeStream> {
    peer.get('abc.localhost', '/', fields);
    await until(() => fixture.dials.length === 1);
    const stream = fixture.openStream();
    stream.answer(answer);
    if (answer !== '') await peer.receives('\r\n\r\n');
    return stream;
  }

  it('is disconnected without a response after 75 s without a request, and after 75 s between two', async () => {
    advance(IDLE_TIMEOUT_MS - 1);
    peer.get('localhost');
    await peer.receives('api');
    advance(IDLE_TIMEOUT_MS - 1);
    assert.equal(socket.destroyed, false);
    advance(1);
    assert.equal(socket.destroyed, true);
    await peer.ended;
    assert.equal(peer.text, '');
  });

  it('is recorded in the access log when its request has ended, a WebSocket when it has closed', async () => {
    peer.get('abc.localhost', '/socket?x', 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
    await until(() => fixture.dials.length === 1);
    const stream = fixture.openStream();
    stream.answer('HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await peer.receives('\r\n\r\n');
    await send('12345');
    assert.equal(fixture.accesses.length, 0);
    fixture.now += 7;
    stream.handler?.onEnded(false);
    await until(() => fixture.accesses.length === 1);
    const { path, status, outcome, ms, bytes_in } = fixture.accesses[0] ?? assert.fail();
    assert.deepEqual([path, status, outcome, ms], ['/socket', 101, 'upgraded', 7]);
    assert.equal(bytes_in, socket.bytesRead);
  });

  it('has a repeatable request sent again, once, if a relay was lost on the way to the client', async () => {
    const lose = (): void => fixture.openStream().handler?.onEnded(false, true, LOST_BEYOND);
    peer.get('abc.localhost');
    await until(() => fixture.dials.length === 1);
    lose();
    assert.equal(fixture.dials.length, 1);
    lose();
    await peer.receives('client-closed');
    assert.equal(fixture.dials.length, 0);
    await send('POST / HTTP/1.1\r\nHost: abc.localhost\r\nContent-Length: 0\r\n\r\n');
    await until(() => fixture.dials.length === 1);
    lose();
    assert.equal(fixture.dials.length, 0);
  });

  it('is recorded there with a response that broke off', async () => {
    peer.get('abc.localhost');
    await until(() => fixture.dials.length === 1);
    const stream = fixture.openStream();
    stream.answer('HTTP/1.1 203 x\r\nContent-Length: 5\r\n\r\nhe');
    stream.handler?.onEnded(false);
    assert.deepEqual(
      fixture.accesses.map(({ status, outcome }) => [status, outcome]),
      [[203, 'broken']],
    );
  });

  for (const [what, answer, refused] of [
    ['a banner', 'SSH-2.0-x\r\n\r\n', 'SSH-2.0-x'],
    ['a folded field', 'HTTP/1.1 200 x\r\nA: b\r\n c\r\n\r\n', ' c'],
    ['two lengths', 'HTTP/1.1 200 x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 'Content-Length: 2'],
    ['a bad chunk', 'HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 'zz'],
    ['an upgrade that was not asked for', 'HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n', 'HTTP/1.1 101 x'],
  ] as const) {
    it(`says that the service sent something that is not HTTP for ${what}, and tells its owner the line`, async () => {
      const stream = await begin(answer);
      assert.match(peer.text, /sent something that is not HTTP.*"code":"local-malformed"/);
      assert.deepEqual([fixture.problems, stream.ended], [[`local-malformed: ${refused}`], 'abort']);
    });
  }

  it('tells the owner also of a line that breaks a response', async () => {
    const stream = await begin('HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n');
    stream.answer('zz\r\n');
    await peer.ended;
    assert.deepEqual(
      [fixture.problems, peer.text.includes('Culvert-Error')],
      [['local-malformed: zz'], false],
    );
  });

  describe('of a tunnel with an access policy', () => {
    const ENTRANT = { visitor: 'password', version: 'v1', kept: { authorization: false }, cookie: undefined };

    beforeEach(() => {
      Object.assign(fixture.tunnel, { access: {} });
      fixture.entry = ENTRANT;
    });

    it('is cut 30 s after the access policy stopped allowing its response', async () => {
      const stream = await begin('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1');
      fixture.standing = 'barred';
      visitor.review(fixture.tunnel);
      advance(BARRED_RESPONSE_MS - 1);
      assert.equal(socket.destroyed, false);
      advance(1);
      assert.equal(socket.destroyed, true);
      await until(() => stream.ended === 'abort');
    });

    it('is not cut if it is allowed again before that', async () => {
      await begin('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1');
      fixture.standing = 'barred';
      visitor.review(fixture.tunnel);
      fixture.standing = 'allowed';
      advance(BARRED_RESPONSE_MS);
      fixture.standing = 'barred';
      visitor.review(fixture.tunnel);
      advance(BARRED_RESPONSE_MS - 1);
      assert.equal(socket.destroyed, false);
    });

    for (const [what, answer, fields] of [
      ['a response of known length', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1', ''],
      ['a response without end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n', ''],
      ['a response that has not begun', '', ''],
      [
        'a WebSocket',
        'HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
        'Connection: Upgrade\r\nUpgrade: websocket\r\n',
      ],
    ] as const) {
      it(`loses ${what} when its own right is revoked`, async () => {
        const stream = await begin(answer, fields);
        fixture.standing = 'revoked';
        visitor.review(fixture.tunnel);
        assert.equal(socket.destroyed, true);
        await until(() => stream.ended === 'abort');
      });

      it(`loses ${what} when its right expires`, async () => {
        fixture.entry = { ...ENTRANT, until: 1 };
        const stream = await begin(answer, fields);
        advance(500);
        assert.equal(socket.destroyed, false);
        fixture.standing = 'revoked';
        advance(500);
        assert.equal(socket.destroyed, true);
        await until(() => stream.ended === 'abort');
      });
    }

    it('gets a reset if a response without a length is cut', async () => {
      const failed = new Promise<NodeJS.ErrnoException>((resolve) => peer.socket.once('error', resolve));
      await begin('HTTP/1.1 200 OK\r\n\r\nbegun');
      fixture.standing = 'revoked';
      visitor.review(fixture.tunnel);
      assert.equal((await failed).code, 'ECONNRESET');
    });

    it('gets only the fields that answer a preflight, and the rest of the response is aborted', async () => {
      fixture.entry = { ...ENTRANT, visitor: undefined, isPreflight: true };
      peer.socket.write('OPTIONS / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
      await until(() => fixture.dials.length === 1);
      const stream = fixture.openStream();
      stream.answer(
        'HTTP/1.1 200 secret\r\nallow: GET\r\nX: secret\r\nSet-Cookie: secret=1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nsecret\r\n',
      );
      const head = await peer.receives('\r\n\r\n');
      assert.equal(
        head,
        'HTTP/1.1 200 OK\r\nallow: GET\r\nContent-Length: 0\r\nCache-Control: private\r\n\r\n',
      );
      assert.equal(stream.ended, 'abort');
      // The connection serves the next request.
      peer.get('localhost');
      assert.doesNotMatch(await peer.receives('api'), /secret/);
    });
  });

  it('has 1 s for a request that is on its way when the shutdown begins', async () => {
    visitor.drain();
    advance(DRAIN_IDLE_MS - 1);
    assert.equal(socket.writableEnded, false);
    advance(1);
    assert.equal(socket.writableEnded, true);
    await peer.ended;
  });

  describe('of a relay that is being replaced', () => {
    let passed: { readonly peer: object; readonly socket: PassThrough }[];

    beforeEach(() => {
      passed = [];
    });

    function onward(of: object): Promise<Socket> {
      const next = new PassThrough();
      passed.push({ peer: of, socket: next });
      return Promise.resolve(next as unknown as Socket);
    }

    it('waits, and is served if the new relay does not start', async () => {
      visitor.hold();
      await send('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
      assert.equal(fixture.dials.length, 0);
      visitor.resume();
      assert.equal(fixture.dials.length, 1);
    });

    it('is passed on with its unread bytes, even part of a head, and with its address', async () => {
      await send('GET / HTTP/1.1\r\nHo');
      visitor.hold();
      await send('st: abc.localhost\r\n\r\n');
      visitor.leave(onward);
      await until(() => passed.length === 1);
      assert.equal(passed[0]?.peer, from);
      const sent = await new Promise((resolve) =>
        passed[0]?.socket.once('data', (bytes) => resolve(String(bytes))),
      );
      assert.equal(sent, 'GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
      assert.equal(fixture.dials.length, 0);
    });

    it('is passed on with its end, even if that comes before the new relay has been reached', async () => {
      await send('GET / HTTP/1.1\r\n');
      let reach: ((next: Socket) => void) | undefined;
      visitor.leave(() => new Promise((resolve) => (reach = resolve)));
      await halfClose();
      const next = new PassThrough();
      reach?.(next as unknown as Socket);
      await until(() => next.writableEnded);
    });

    it('is passed on with a request that waits for its client', async () => {
      await send('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
      assert.equal(fixture.dials.length, 1);
      visitor.leave(onward);
      await until(() => passed.length === 1);
      assert.equal(visitor.ownWork, 'none');
    });

    it('gets the response to a request that its client already has, as the last one', async () => {
      await send('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
      const stream = fixture.openStream();
      visitor.leave(onward);
      stream.answer('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere');
      assert.match(await peer.receives('here'), /Connection: close/);
      await peer.ended;
      assert.deepEqual(passed, []);
    });

    it('is passed on with a later request, within 10 s', async () => {
      visitor.leave(onward);
      advance(REPLACED_IDLE_MS - 1);
      await send('GET');
      await until(() => passed.length === 1);
      advance(1);
      assert.equal(socket.destroyed, false);
    });

    it('is closed if no request arrives for 10 s', async () => {
      visitor.leave(onward);
      advance(REPLACED_IDLE_MS - 1);
      assert.equal(socket.writableEnded, false);
      advance(1);
      assert.equal(socket.writableEnded, true);
      await peer.ended;
    });

    it('is cut if the new relay cannot be reached', async () => {
      await send('GET');
      visitor.leave(() => Promise.reject(new Error('gone')));
      await peer.ended;
      assert.equal(socket.destroyed, true);
    });
  });

  it('leaves no stream behind when a proxy uses its connection for a client', async () => {
    await send('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
    const stream = fixture.openStream();
    stream.answer('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere');
    await peer.receives('here');
    assert.equal(stream.ended, undefined);
    peer.get('localhost', '/ws/data?id=x', 'Connection: upgrade\r\nUpgrade: websocket\r\n');
    await peer.receives('101 Switching Protocols');
    assert.equal(stream.ended, 'finish');
    fixture.given[0]?.destroy();
  });

  it('gets 408 if its head is incomplete 15 s after its first byte', async () => {
    advance(1000);
    await send('GET / HTTP/1.1\r\n');
    advance(HEAD_TIMEOUT_MS - 1);
    await send('Host: abc.localhost\r\n');
    assert.equal(peer.text, '');
    advance(1);
    assert.match(await peer.receives('request-timeout'), /^HTTP\/1\.1 408 /);
  });

  for (const start of ['H', 'HEAD', 'HEAD / HTTP/1.1\r\nHost: abc.localhost\r\n']) {
    it(`gets 408 without a body if all that arrived is ${JSON.stringify(start)}`, async () => {
      await send(start);
      advance(HEAD_TIMEOUT_MS);
      await peer.ended;
      assert.match(peer.text, /^HTTP\/1\.1 408 [^]*\r\n\r\n$/);
    });
  }

  it('gets 408 after 60 s of silence within a body, but not while its client accepts none', async () => {
    await send('POST / HTTP/1.1\r\nHost: abc.localhost\r\nContent-Length: 9\r\n\r\n');
    const stream = fixture.openStream();
    for (const byte of 'body') {
      advance(BODY_TIMEOUT_MS - 1);
      await send(byte);
    }
    advance(BODY_TIMEOUT_MS - 1);
    stream.hasRoom = false;
    await send('x');
    advance(2 * BODY_TIMEOUT_MS);
    stream.hasRoom = true;
    stream.handler?.onRoom();
    advance(BODY_TIMEOUT_MS - 1);
    assert.equal(peer.text, '');
    advance(1);
    assert.match(await peer.receives('request-timeout'), /^HTTP\/1\.1 408 /);
    assert.equal(stream.ended, 'abort');
  });

  it('is not cut for the silence of either side once a response has begun, until that is complete', async () => {
    await send('POST / HTTP/1.1\r\nHost: abc.localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n');
    const stream = fixture.openStream();
    advance(BODY_TIMEOUT_MS - 1);
    stream.answer('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (const [asked, answered] of [
      ['2\r\nbc\r\n', '5\r\nlater'],
      ['1\r\nd\r\n', '\r\n0\r\n\r\n'],
    ] as const) {
      advance(24 * 3600 * 1000);
      stream.answer(answered);
      await peer.receives(answered);
      await send(asked);
      assert.ok(stream.received.endsWith(asked));
    }
    advance(BODY_TIMEOUT_MS - 1);
    assert.equal(socket.destroyed, false);
    advance(1);
    assert.equal(socket.destroyed, true);
  });

  it('has no deadline while the local service works', async () => {
    await send('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
    const stream = fixture.openStream();
    advance(24 * 3600 * 1000);
    stream.answer('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate');
    assert.match(await peer.receives('late'), /^HTTP\/1\.1 200 OK\r\n/);
  });

  describe('that half-closes', () => {
    it('gets a response that begins within 10 s and never pauses for longer', async () => {
      await send('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
      const stream = fixture.openStream();
      advance(3_600_000);
      await halfClose();
      for (const piece of ['HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n', 'l', 'at']) {
        advance(LEAVE_TIMEOUT_MS - 1);
        stream.answer(piece);
        await peer.receives(piece);
      }
      advance(LEAVE_TIMEOUT_MS - 1);
      stream.answer('e');
      await peer.receives('e');
      await peer.ended;
      assert.deepEqual([stream.ended, gone], ['finish', 1]);
    });

    it('is gone if the response has not begun 10 s later, and leaves nothing behind', async () => {
      await send('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
      const stream = fixture.openStream();
      await halfClose();
      advance(LEAVE_TIMEOUT_MS - 1);
      assert.deepEqual([slots.busy, stream.ended], [1, undefined]);
      advance(1);
      await once(socket, 'close');
      assert.deepEqual([slots.busy, slots.idle.size, stream.ended, gone], [0, 0, 'abort', 1]);
      assert.deepEqual(
        fixture.accesses.map(({ outcome }) => outcome),
        ['abandoned'],
      );
    });

    it('counts as answered if it leaves before the end of its request, but after the response', async () => {
      await send('POST / HTTP/1.1\r\nHost: abc.localhost\r\nContent-Length: 9\r\n\r\npart');
      fixture.openStream().answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      await peer.receives('ok');
      peer.socket.destroy();
      await once(socket, 'close');
      assert.deepEqual(
        fixture.accesses.map(({ outcome, status }) => [outcome, status]),
        [['answered', 200]],
      );
    });

    it('is gone if the response pauses for 10 s, and does not see a complete one', async () => {
      const reset = once(peer.socket, 'error');
      await send('GET / HTTP/1.0\r\nHost: abc.localhost\r\n\r\n');
      const stream = fixture.openStream();
      await halfClose();
      stream.answer('HTTP/1.1 200 OK\r\n\r\npart');
      await peer.receives('part');
      advance(LEAVE_TIMEOUT_MS - 1);
      assert.equal(stream.ended, undefined);
      advance(1);
      const [error] = (await reset) as [NodeJS.ErrnoException];
      assert.deepEqual([error.code, stream.ended], ['ECONNRESET', 'abort']);
    });

    it('has its usual time to read the response, and 10 s again once it has', async () => {
      await send('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
      const stream = fixture.openStream();
      await halfClose();
      socket.cork();
      stream.answer('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npart');
      advance(2 * LEAVE_TIMEOUT_MS);
      assert.equal(socket.destroyed, false);
      socket.uncork();
      await peer.receives('part');
      await until(() => !stream.isPaused);
      advance(LEAVE_TIMEOUT_MS - 1);
      assert.equal(socket.destroyed, false);
      advance(1);
      assert.equal(socket.destroyed, true);
    });

    it('is gone 10 s later if there is no stream for its request yet, whether or not its body was read', async () => {
      await send('POST / HTTP/1.1\r\nHost: abc.localhost\r\nContent-Length: 4\r\n\r\nbody');
      assert.equal(fixture.dials.length, 1);
      await halfClose();
      advance(LEAVE_TIMEOUT_MS - 1);
      assert.equal(fixture.cancelled, 0);
      advance(1);
      await once(socket, 'close');
      assert.deepEqual([fixture.cancelled, slots.busy, gone], [1, 0, 1]);
    });

    it('gets the responses to all requests that it has sent, each within 10 s', async () => {
      await send(
        'GET /1 HTTP/1.1\r\nHost: abc.localhost\r\n\r\nGET /2 HTTP/1.1\r\nHost: abc.localhost\r\n\r\n',
      );
      await halfClose();
      const stream = fixture.openStream();
      advance(LEAVE_TIMEOUT_MS - 1);
      stream.answer('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none');
      await peer.receives('one');
      advance(LEAVE_TIMEOUT_MS - 1);
      stream.answer('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo');
      await peer.receives('two');
      await peer.ended;
    });

    it("is gone immediately while an upgrade to one of the relay's own sockets is being decided", async () => {
      let takeOver: (() => unknown) | undefined;
      fixture.upgrade = (request) => {
        takeOver = () => request.takeOver();
        return new Promise(() => {});
      };
      await send(
        'GET /ws/data?id=x HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
      );
      peer.socket.end();
      await once(socket, 'close');
      assert.deepEqual([takeOver?.(), gone], [undefined, 1]);
    });
  });

  for (const [what, pauses, lastMs] of [
    ['is silent for 2 s', 3, LINGER_TIMEOUT_MS],
    ['has sent for 30 s', 15, LINGER_MAX_MS - 15 * (LINGER_TIMEOUT_MS - 1)],
  ] as const) {
    it(`may continue sending after its last response, until it ${what}`, async () => {
      peer.socket.write('nonsense\r\n\r\n');
      await peer.receives('bad-request');
      await peer.ended;
      for (let pause = 0; pause < pauses; pause += 1) {
        advance(LINGER_TIMEOUT_MS - 1);
        await send('more nonsense');
      }
      advance(lastMs - 1);
      assert.equal(socket.destroyed, false);
      advance(1);
      assert.equal(socket.destroyed, true);
    });
  }

  it('gets no second response to the rest of the body of a refused request', async () => {
    const inside = 'GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n';
    peer.socket.write(
      `POST / HTTP/1.1\r\nHost: nobody.localhost\r\nContent-Length: ${inside.length}\r\n\r\n`,
    );
    peer.socket.write(inside);
    await peer.ended;
    assert.match(peer.text, /^HTTP\/1\.1 404 [^]*\r\nConnection: close\r\n/);
    assert.deepEqual([peer.text.match(/HTTP\/1\.1/g)?.length, fixture.dials.length], [1, 0]);
  });

  it('never reuses a stream that delivered more than its response', async () => {
    await send('POST / HTTP/1.1\r\nHost: abc.localhost\r\nContent-Length: 1\r\n\r\n');
    const stream = fixture.openStream();
    stream.answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await peer.receives('ok');
    stream.answer('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled');
    await send('x');
    assert.equal(stream.ended, 'finish');
  });

  describe('when its tunnel is suspended', () => {
    for (const [how, fields] of [
      ['a length', 'Content-Length: 100'],
      ['chunks', 'Transfer-Encoding: chunked'],
      ['its connection', 'Connection: close'],
    ] as const)
      it(`sees an incomplete response if it has begun and ends with ${how}`, async () => {
        const broken = once(peer.socket, 'error');
        peer.socket.write('POST / HTTP/1.1\r\nHost: abc.localhost\r\nContent-Length: 9\r\n\r\nupload');
        await until(() => fixture.dials.length === 1);
        const stream = fixture.openStream();
        stream.answer(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\n5\r\nbegun`);
        await peer.receives('begun');
        suspend();
        assert.equal(stream.ended, 'abort');
        stream.answer('more');
        await (how === 'its connection' ? broken : peer.ended);
        assert.equal(peer.text, '');
        assert.equal(fixture.accesses[0]?.outcome, 'broken');
      });

    it('gets 451 if no response has begun, whether or not the service has the request', async () => {
      for (const isHanded of [false, true]) {
        Object.assign(fixture.tunnel, { isSuspended: false });
        peer.get('abc.localhost');
        await until(() => fixture.dials.length === 1);
        const stream = isHanded ? fixture.openStream() : undefined;
        suspend();
        await peer.receives('HTTP/1.1 451 ');
        await peer.receives('suspended');
        await peer.receives('}');
        if (!isHanded) fixture.dials.shift();
        assert.equal(stream?.ended, isHanded ? 'abort' : undefined);
      }
      assert.equal(socket.destroyed, false);
    });

    it('stays connected between two requests, and on another tunnel', async () => {
      peer.get('localhost');
      await peer.receives('api');
      suspend();
      Object.assign(fixture.tunnel, { isSuspended: false });
      peer.get('abc.localhost');
      await until(() => fixture.dials.length === 1);
      visitor.review({ isSuspended: true } as LiveTunnel);
      fixture.openStream().answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      await peer.receives('ok');
    });
  });

  it('keeps a stream flowing for the next request, even if it read the end of a response late', async () => {
    peer.get('abc.localhost');
    await until(() => fixture.dials.length === 1);
    const stream = fixture.openStream();
    socket.cork();
    stream.answer('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast');
    assert.notEqual(socket.writableLength, 0);
    socket.uncork();
    await peer.receives('last');
    stream.received = '';
    peer.get('abc.localhost');
    await until(() => stream.received !== '');
    assert.equal(stream.isPaused, false);
  });

  it('keeps a WebSocket flowing, even if it read the head of the response late', async () => {
    peer.get('abc.localhost', '/socket', 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
    await until(() => fixture.dials.length === 1);
    const stream = fixture.openStream();
    socket.cork();
    stream.answer('HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    assert.notEqual(socket.writableLength, 0);
    socket.uncork();
    await peer.receives('\r\n\r\n');
    assert.equal(stream.isPaused, false);
  });

  for (const [challenge, status, trusted, streams] of [
    ['NTLM', '401 x', false, 1],
    ['Basic realm="x", Negotiate', '401 x', false, 1],
    ['NTLM', '401 x', true, 2],
    ['NTLM', '200 x', false, 2],
    ['Basic realm="NTLM"', '401 x', false, 2],
    ['NTLMv3', '401 x', false, 2],
  ] as const)
    it(`sends POSTs over ${streams} after ${status}, ${challenge}${trusted ? ' through a proxy' : ''}`, async () => {
      from.trusted = trusted;
      const post = 'POST / HTTP/1.1\r\nHost: abc.localhost\r\nContent-Length: 0\r\n\r\n';
      await send(post);
      const first = fixture.openStream();
      first.answer(`HTTP/1.1 ${status}\r\nWWW-Authenticate: ${challenge}\r\nContent-Length: 2\r\n\r\nno`);
      await peer.receives('no');
      await send(post);
      const isSame = first.received.split('POST').length === 3;
      assert.deepEqual(
        [isSame, fixture.dials.length, first.ended],
        streams === 1 ? [true, 0, undefined] : [false, 1, 'finish'],
      );
      if (!isSame) return;
      // Once its connection is authenticated, it gets streams of its own again.
      first.answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      await peer.receives('ok');
      await send(post);
      assert.deepEqual([fixture.dials.length, first.ended], [1, 'finish']);
    });

  it('gets no cookie for a whole host in the path form, and its owner hears why', async () => {
    peer.get('localhost', '/t/abc/x');
    await until(() => fixture.dials.length === 1);
    fixture.openStream().answer('HTTP/1.1 204 x\r\nSet-Cookie: __Host-id=1; Secure; Path=/\r\nA: b\r\n\r\n');
    assert.doesNotMatch(await peer.receives('\r\nA: b\r\n'), /Host-id/);
    assert.deepEqual(fixture.problems, ['path-cookie: __Host-id']);
  });

  it('that is a proxy gets another stream after a visitor has authenticated the connection', async () => {
    from.trusted = true;
    const text = 'GET / HTTP/1.1\r\nHost: abc.localhost\r\nAuthorization: NTLM abc\r\n\r\n';
    for (const which of ['first', 'second']) {
      await send(text);
      await until(() => fixture.dials.length === 1);
      const stream = fixture.openStream();
      stream.answer(`HTTP/1.1 200 OK\r\nContent-Length: ${which.length}\r\n\r\n${which}`);
      await peer.receives(which);
      assert.equal(stream.ended, 'finish');
    }
  });

  describe('of a connection with several requests at a time', () => {
    beforeEach(async () => {
      visitor.destroy();
      const before = visitor;
      shared = new KeptStreams(9, () => fixture.now);
      peer = await TestVisitor.connect(boundPort(server));
      await until(() => visitor !== before);
    });

    for (const [what, fields, answer, ended] of [
      ['keeps its stream for the others', '', '200 OK\r\n', undefined],
      [
        'keeps no stream whose service asks it to authenticate',
        '',
        '401 x\r\nWWW-Authenticate: NTLM\r\n',
        'finish',
      ],
      ['keeps no stream that it has authenticated', 'Authorization: NTLM abc\r\n', '200 OK\r\n', 'finish'],
    ] as const)
      it(what, async () => {
        // Each stream of HTTP/2 has one request.
        const stream = await begin('', `Connection: close\r\n${fields}`);
        stream.answer(`HTTP/1.1 ${answer}Content-Length: 2\r\n\r\nok`);
        await peer.receives('ok');
        visitor.destroy();
        await until(() => gone > 0);
        assert.equal(stream.ended, ended);
      });
  });

  it('is not read from while more than 64 KiB wait to be processed', async () => {
    await send('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
    peer.socket.write('x'.repeat(10 * 1024 * 1024));
    await until(() => socket.isPaused());
    // One more read, of at most 64 KiB, may be added to that.
    const waiting = socket.bytesRead;
    assert.ok(waiting >= BACKLOG_MAX_BYTES && waiting < 2 * BACKLOG_MAX_BYTES + 100, `${waiting} bytes`);
  });
});
