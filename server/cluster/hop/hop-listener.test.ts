import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { mock } from 'node:test';
import { connect as connectTls, type ConnectionOptions, createServer as createTlsServer } from 'node:tls';
import { challengeCertificate, newKey, pemOf } from '../../certificates/acme/x509.ts';
import { HOP_LINE_MAX_BYTES, HOP_RESPONSE_TIMEOUT_MS, HOPS_ASKED_MAX } from '../../limits.ts';
import { FakeSocket, settled, until } from '../../testing/edge-fixture.ts';
import { connectionId } from '../connection-id.ts';
import { HOP_TLS, HopConnection, hopKey, writeRequest } from './hop-connection.ts';
import { HopDialer } from './hop-dialer.ts';
import { HopListener, HopStream, type TakeHop } from './hop-listener.ts';

const SECRET = 's'.repeat(32);
/** Connections that a test opens before it waits for them. */
const AT_ONCE = 16;
const request = { id: connectionId(7, SECRET), key: 'key', authorization: undefined };

/** A frame on a connection between relays. */
function frame(bytes: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(bytes.length);
  return Buffer.concat([header, bytes]);
}

/** Accepts a data socket, and echoes its bytes. */
function echo(_request: unknown, stream: Duplex): void {
  stream.write('HTTP/1.1 101 ');
  stream.pipe(stream);
}

describe('HopListener', () => {
  let listener: HopListener;
  /** Handles an accepted data socket. */
  let take: TakeHop;
  let taken: { id: string; via: string; stream: Duplex }[];

  beforeEach(async () => {
    taken = [];
    take = ({ id, via }, stream) => taken.push({ id, via, stream });
    listener = await HopListener.start({
      host: '127.0.0.1',
      port: 0,
      incarnation: 'one',
      secret: SECRET,
      take: (hop, stream) => take(hop, stream),
    });
  });

  afterEach(() => listener.close());

  /** Connects like a relay, and sends frames. */
  function say(...pieces: Buffer[]): Socket {
    return sayAs({}, ...pieces);
  }

  function sayAs(given: ConnectionOptions & { to?: string; secret?: string }, ...pieces: Buffer[]): Socket {
    const { to = 'one', secret = SECRET, ...options } = given;
    const psk = hopKey({ from: 'two', to }, secret) ?? assert.fail();
    const socket = connectTls({
      port: listener.port,
      host: '127.0.0.1',
      ...HOP_TLS,
      pskCallback: () => ({ psk, identity: 'two' }),
      ...options,
    });
    socket.on('error', () => {});
    for (const piece of pieces) socket.write(piece);
    return socket;
  }

  /** Connects and sends raw bytes. */
  function sayPlainly(bytes: string | Buffer): Socket {
    const socket = connect(listener.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(bytes);
    return socket;
  }

  /** Waits until the listener has cut the connection. */
  async function cut(socket: Socket): Promise<void> {
    socket.resume();
    // A TLS error is an end like any other.
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
    assert.deepEqual(taken, []);
  }

  it('accepts a data socket with the bytes that follow its request', async () => {
    const socket = say(frame(writeRequest(request)), frame(Buffer.from('more')));
    await until(() => taken.length === 1);
    const [first] = taken;
    assert.deepEqual([first?.id, first?.via], [request.id, 'two']);
    assert.equal(String((await once(first?.stream ?? socket, 'data'))[0]), 'more');
    socket.destroy();
  });

  it('accepts the next one on the same connection, once both sides have ended the previous one', async () => {
    const socket = say(frame(writeRequest(request)), frame(Buffer.alloc(0)));
    await until(() => taken.length === 1);
    taken[0]?.stream.destroy();
    socket.write(frame(writeRequest({ ...request, id: 'the next' })));
    await until(() => taken.length === 2);
    assert.equal(taken[1]?.id, 'the next');
    socket.destroy();
  });

  for (const [name, given] of [
    ['with the key for another relay', { to: 'two' }],
    ['with the key of another secret', { secret: 'x'.repeat(32) }],
    ['under the name of another relay', { pskCallback: undefined }],
    ['with an earlier version of TLS', { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2', ciphers: 'PSK' }],
  ] as const)
    it(`cuts a connection ${name}`, async () => cut(sayAs(given, frame(writeRequest(request)))));

  it('cuts a connection under a name that no relay has, or that does not match the key', async () => {
    const psk = hopKey({ from: 'two', to: 'one' }, SECRET) ?? assert.fail();
    for (const identity of ['three', 'two one', ''])
      await cut(sayAs({ pskCallback: () => ({ psk, identity }) }, frame(writeRequest(request))));
  });

  for (const bytes of ['GET / HTTP/1.1\r\n\r\n', 'culvert-hop/2 a b c\n', Buffer.alloc(20_000, 0x16)])
    it(`cuts a connection that begins with ${String(bytes).slice(0, 10)} in clear text`, async () =>
      cut(sayPlainly(bytes)));

  it('accepts nothing from a recorded connection, and the recording reveals nothing', async () => {
    const { port, recorded } = await recorder(listener.port);
    const socket = sayAs({ port }, frame(writeRequest(request)));
    await until(() => taken.length === 1);
    socket.destroy();
    await once(socket, 'close');
    taken = [];
    const bytes = Buffer.concat(recorded);
    assert.ok(bytes.length > 100);
    assert.ok(!bytes.includes(request.id));
    await cut(sayPlainly(bytes));
  });

  it('cuts a connection with a request that is longer than 4 KiB', async () => {
    await cut(say(frame(Buffer.alloc(HOP_LINE_MAX_BYTES + 1))));
  });

  for (const text of ['no JSON', 'null', '{}', '["id"]', '[1,2,3]']) {
    it(`cuts a connection with the request ${text}`, async () => {
      await cut(say(frame(Buffer.from(text))));
    });
  }

  describe('with a dialer', () => {
    let dialer: HopDialer;
    let connections: number;

    beforeEach(() => {
      const address = { incarnation: 'one', host: '127.0.0.1', port: listener.port };
      const find = (number: number) => (number === 7 ? address : undefined);
      dialer = new HopDialer({ find }, 'two', SECRET);
      connections = 0;
      subscribe('net.server.socket', onConnection);
    });

    afterEach(() => {
      unsubscribe('net.server.socket', onConnection);
      dialer.close();
    });

    function onConnection(message: unknown): void {
      if ((message as { socket: Socket }).socket.localPort === listener.port) connections += 1;
    }

    /** The response that a client gets for a text. */
    async function carried(text: string): Promise<string> {
      const hop = await dialer.dial(request);
      const [near, far] = await pair();
      hop?.carry(far, Buffer.from('head '));
      let echoed = '';
      near.on('data', (chunk: Buffer) => (echoed += chunk.toString()));
      near.end(text);
      await once(near, 'end');
      await until(() => dialer.open === 0);
      return echoed;
    }

    it("carries the client's bytes through it, and back", async () => {
      take = echo;
      assert.equal(await carried('body'), 'HTTP/1.1 101 head body');
      const large = 'x'.repeat(1_000_000);
      assert.equal(await carried(large), `HTTP/1.1 101 head ${large}`);
    });

    it('reveals nothing to a listener that does not know the key, whatever certificate it presents', async () => {
      const key = await newKey();
      const cert = challengeCertificate('one', 'x', key, Date.now());
      let heard = 0;
      const server = createTlsServer({ key: pemOf(key), cert }, (socket) => {
        socket.on('data', () => (heard += 1)).on('error', () => {});
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const address = { incarnation: 'one', host: '127.0.0.1', port };
      assert.equal(await new HopDialer({ find: () => address }, 'two', SECRET).dial(request), undefined);
      assert.equal(heard, 0);
      server.close();
    });

    it('finds no relay if an id does not identify another one', async () => {
      assert.equal(await dialer.dial({ ...request, id: connectionId(8, SECRET) }), undefined);
    });

    it('does not forward an id that no relay has created', async () => {
      const asked: unknown[] = [];
      take = (given, stream) => {
        asked.push(given);
        stream.destroy();
      };
      const last = request.id.endsWith('0') ? '1' : '0';
      assert.equal(await dialer.dial({ ...request, id: request.id.slice(0, -1) + last }), undefined);
      assert.deepEqual([asked, connections], [[], 0]);
    });

    it('asks an unresponsive relay at most as often as the limit', async () => {
      const held: Duplex[] = [];
      take = (_request, stream) => held.push(stream);
      // However long it takes to send this many: none times out in that time.
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const asked: Promise<unknown>[] = [];
        while (asked.length < HOPS_ASKED_MAX) {
          asked.push(dialer.dial(request));
          // In small batches, because each has to connect in time.
          while (held.length < asked.length - AT_ONCE) await new Promise((resolve) => setImmediate(resolve));
        }
        // No relay is asked, so the result is known immediately.
        const beyond = Promise.race([
          dialer.dial(request),
          new Promise((resolve) => setImmediate(() => resolve('asked'))),
        ]);
        assert.equal(await beyond, undefined);
        while (held.length < HOPS_ASKED_MAX) await new Promise((resolve) => setImmediate(resolve));
        assert.equal(connections, HOPS_ASKED_MAX);
        take = (_request, stream) => stream.destroy();
        for (const stream of held) stream.destroy();
        assert.deepEqual(new Set(await Promise.all(asked)), new Set([undefined]));
      } finally {
        mock.timers.reset();
      }
      take = echo;
      assert.equal(await carried('body'), 'HTTP/1.1 101 head body');
    }).timeout(60_000);

    it('leaves the client to the dialer if it refuses', async () => {
      take = (_request, stream) => stream.end('HTTP/1.1 404 Not Found\r\n\r\n');
      assert.equal(await dialer.dial(request), undefined);
      take = (_request, stream) => stream.destroy();
      assert.equal(await dialer.dial(request), undefined);
    });

    it('carries one data socket after the other on one connection', async () => {
      take = echo;
      for (let count = 1; count <= 5; count += 1) await carried('body');
      assert.equal(connections, 1);
    });

    it('tries a new connection if the kept one is lost at that moment', async () => {
      take = echo;
      await carried('body');
      let asked = 0;
      take = (hop, stream) => {
        asked += 1;
        if (asked === 1) stream.destroy(new Error('lost'));
        else echo(hop, stream);
      };
      assert.equal(await carried('body'), 'HTTP/1.1 101 head body');
      assert.deepEqual([asked, connections], [2, 2]);
    });

    it('does not try again if there is no response within 5 s', async () => {
      take = echo;
      await carried('body');
      let asked = 0;
      take = () => (asked += 1);
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const hop = dialer.dial(request);
        await until(() => asked === 1);
        mock.timers.tick(HOP_RESPONSE_TIMEOUT_MS);
        assert.equal(await hop, undefined);
        assert.deepEqual([asked, connections], [1, 1]);
      } finally {
        mock.timers.reset();
      }
    });

    it('does not reuse a connection that broke', async () => {
      take = (_request, stream) => {
        stream.write('HTTP/1.1 101 ');
        stream.once('data', () => stream.destroy(new Error('reset')));
      };
      const hop = await dialer.dial(request);
      const [near, far] = await pair();
      hop?.carry(far, Buffer.from('head'));
      near.resume();
      await once(near, 'end');
      await until(() => dialer.open === 0);
      take = echo;
      await carried('body');
      assert.equal(connections, 2);
    });
  });
});

/** Two ends of one connection. */
async function pair(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const near = connect({ port: address.port, host: '127.0.0.1', allowHalfOpen: true });
  const [far] = (await once(server, 'connection')) as [Socket];
  server.close();
  return [near, far];
}

/** Passes connections on, and records what their senders send. */
async function recorder(to: number): Promise<{ port: number; recorded: Buffer[] }> {
  const recorded: Buffer[] = [];
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    near.on('data', (chunk: Buffer) => recorded.push(chunk));
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far).pipe(near);
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, recorded };
}

const END = '\0\0\0\0';

describe('HopStream', () => {
  let socket: FakeSocket;
  let stream: HopStream;

  beforeEach(() => {
    socket = new FakeSocket(16);
    const connection = new HopConnection(socket as unknown as Socket, {
      onPiece: (piece) => stream.receive(piece),
      onEnd: () => stream.receiveEnd(),
      onDrain: () => stream.drained(),
      onClose: () => stream.destroy(),
    });
    stream = new HopStream(connection);
    stream.on('error', () => {});
  });

  it('writes queued bytes as one frame', async () => {
    stream.cork();
    stream.write('one');
    stream.write(' two');
    stream.uncork();
    await settled();
    assert.equal(socket.text, '\0\0\0\u0007one two');
  });

  it('sends the last bytes and the end in one packet', async () => {
    stream.write('last');
    stream.destroy();
    await settled();
    assert.deepEqual(
      socket.taken.map((piece) => piece.toString()),
      [`\0\0\0\u0004last${END}`],
    );
  });

  it('holds back writes while the connection is full', async () => {
    socket.isFast = false;
    const more = 'more than enough';
    let written = 0;
    for (let count = 1; count <= 3; count += 1) stream.write(more, () => (written += 1));
    await settled();
    assert.equal(written, 0);
    socket.release();
    await settled();
    assert.deepEqual([written, socket.text], [3, `\0\0\0\u0010${more}\0\0\0\u0020${more}${more}`]);
  });

  it('stops the other relay while nothing is read', async () => {
    socket.push('\0\u0002\0\0');
    socket.push(Buffer.alloc(0x02_00_00));
    await settled();
    assert.equal(socket.isPaused(), true);
    stream.resume();
    await settled();
    assert.equal(socket.isPaused(), false);
  });

  it('ends as a whole when it is closed with everything sent, and leaves the connection open', async () => {
    stream.end('last');
    await settled();
    stream.destroy();
    await settled();
    assert.deepEqual([socket.text, socket.destroyed], [`\0\0\0\u0004last${END}`, false]);
  });

  it('accepts nothing more once it is closed, and does not block the sender', async () => {
    socket.push('\0\u0002\0\0');
    socket.push(Buffer.alloc(0x01_ff_ff));
    await settled();
    stream.destroy();
    socket.push('x');
    socket.push(END);
    await settled();
    assert.deepEqual([socket.isPaused(), socket.destroyed, socket.text], [false, false, END]);
  });

  it('breaks the connection if it is cut with unsent bytes', async () => {
    socket.isFast = false;
    stream.write('is still waiting');
    stream.write('never sent');
    stream.destroy();
    await settled();
    assert.equal(socket.destroyed, true);
  });

  it('breaks with the connection', async () => {
    socket.destroy();
    await settled();
    assert.equal(stream.destroyed, true);
  });
});
