import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { mock } from 'node:test';
import { connect as connectTls, type ConnectionOptions, createServer as createTlsServer } from 'node:tls';
import { challengeCertificate, newKey, pemOf } from '../../certificates/acme/x509.ts';
import { CloseCode } from '../../../shared/control.ts';
import {
  type FakeTrunkSocket,
  joinedTrunkSockets,
  StreamRecorder,
} from '../../../shared/testing/trunk-world.ts';
import type { TrunkStream } from '../../../shared/trunk/trunk-stream.ts';
import { Trunk, type TrunkOwner } from '../../../shared/trunk/trunk.ts';
import { WebSocketByteStream } from '../../../shared/websocket/byte-stream.ts';
import { FakeSocket, settled, until } from '../../testing/edge-fixture.ts';
import { refuseVisit } from '../../clients/forwarded-visitor.ts';
import { type Dial, LOST_BEYOND } from '../../tunnels/stream.ts';
import { connectionId } from '../connection-id.ts';
import type { RelayAddress } from '../members.ts';
import { ForwardedSocket, HOP_RESPONSE_TIMEOUT_MS, HopDialer, HOPS_ASKED_MAX } from './hop-dialer.ts';
import {
  acceptor,
  HOP_LINE_MAX_BYTES,
  HOP_LINE_TIMEOUT_MS,
  HopListener,
  type TakeHop,
} from './hop-listener.ts';
import {
  HOP_IDLE_MS,
  HOP_TLS,
  hopKey,
  HopSocket,
  hopTrunk,
  readRequest,
  writeRequest,
} from './hop-protocol.ts';

const SECRET = 's'.repeat(32);
const request = {
  kind: 'data',
  id: connectionId(7, SECRET),
  key: 'key',
  authorization: undefined,
  carriesEnd: false,
} as const;

const NOBODY: TrunkOwner = { begun: (stream) => stream.destroy(), moveAsked() {}, closed() {} };

/** Accepts a data socket, and echoes its bytes. */
function echo(_request: unknown, stream: Duplex): void {
  stream.write('HTTP/1.1 101 ');
  stream.pipe(stream);
}

/** Serves visitors with what they send, after bytes of the client that nothing has asked for. */
function echoVisit(_id: string, stream: TrunkStream): void {
  stream.write(Buffer.from('\0hello '));
  stream.attach({
    onStreamData(piece) {
      stream.write(piece);
      stream.close(CloseCode.normal);
    },
    onStreamDrain() {},
    onStreamClose() {},
  });
}

describe('the key of a hop', () => {
  const ends = { from: 'two', to: 'one' };

  it('is the same at both ends', () => {
    assert.equal(hopKey(ends, SECRET)?.length, 32);
    assert.deepEqual(hopKey(ends, SECRET), hopKey({ ...ends }, SECRET));
  });

  it('differs for any other relay, the other direction, and another secret', () => {
    const keys = [
      hopKey(ends, SECRET),
      hopKey({ ...ends, from: 'three' }, SECRET),
      hopKey({ ...ends, to: 'three' }, SECRET),
      hopKey({ from: 'one', to: 'two' }, SECRET),
      hopKey({ from: 'two-one', to: '' }, SECRET),
      hopKey(ends, 't'.repeat(32)),
    ];
    assert.equal(new Set(keys.map((key) => key?.toString('hex'))).size, keys.length);
  });

  it('does not exist for names that no relay has', () => {
    for (const from of ['', 'two one', 'two\n', 'x'.repeat(65), 'ä'])
      assert.equal(hopKey({ ...ends, from }, SECRET), undefined);
  });
});

describe('the request of a hop', () => {
  it('arrives unchanged, with the forwarding relay, within its limit', () => {
    const authorization = `Bearer cvt_${'x'.repeat(200)}`;
    const others = [{ kind: 'trunk', authorization }, { carriesEnd: true }] as const;
    for (const sent of [request, ...others.map((other) => ({ ...request, ...other }))]) {
      const line = writeRequest(sent);
      assert.ok(line.length < HOP_LINE_MAX_BYTES);
      assert.equal(line.indexOf('\n'), line.length - 1);
      assert.deepEqual(readRequest(line.subarray(0, -1), 'two'), { ...sent, via: 'two' });
    }
    for (const peers of ['', '203.0.113.7:51234 192.0.2.1:10022']) {
      const visit = { kind: 'visit', id: 'tunnel', peers } as const;
      assert.deepEqual(readRequest(writeRequest(visit), 'two'), visit);
    }
  });
});

interface Said {
  readonly socket: Socket;
  readonly trunk: Trunk;
  readonly stream: TrunkStream;
  readonly recorder: StreamRecorder;
}

describe('HopListener', () => {
  let listener: HopListener;
  /** Handles an accepted data socket. */
  let take: TakeHop['upgrade'];
  /** Handles a visitor. */
  let visit: TakeHop['visit'];
  let taken: { id: string; via: string; stream: Duplex }[];

  beforeEach(async () => {
    taken = [];
    take = ({ id, via }, stream) => taken.push({ id, via, stream });
    visit = () => assert.fail();
    listener = await HopListener.start({
      host: '127.0.0.1',
      port: 0,
      incarnation: 'one',
      secret: SECRET,
      take: {
        upgrade: (hop, stream) => take(hop, stream),
        visit: (id, stream, peers) => visit(id, stream, peers),
      },
    });
  });

  afterEach(() => listener.close());

  /** Connects like a relay, and begins a stream with the given bytes. */
  function say(bytes: Buffer, given: ConnectionOptions & { to?: string; secret?: string } = {}): Said {
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
    const { trunk } = hopTrunk(socket, 'dialer', NOBODY);
    const stream = trunk.open();
    const recorder = new StreamRecorder(stream);
    stream.write(bytes);
    return { socket, trunk, stream, recorder };
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
    const { socket } = say(Buffer.concat([writeRequest(request), Buffer.from('more')]));
    await until(() => taken.length === 1);
    const [first] = taken;
    assert.deepEqual([first?.id, first?.via], [request.id, 'two']);
    assert.equal(String((await once(first?.stream ?? socket, 'data'))[0]), 'more');
    socket.destroy();
  });

  it('accepts many on the same connection', async () => {
    const { socket, trunk } = say(writeRequest(request));
    trunk.open().write(writeRequest({ ...request, id: 'the next' }));
    await until(() => taken.length === 2);
    assert.deepEqual(
      taken.map(({ id }) => id),
      [request.id, 'the next'],
    );
    socket.destroy();
  });

  for (const [name, given] of [
    ['with the key for another relay', { to: 'two' }],
    ['with the key of another secret', { secret: 'x'.repeat(32) }],
    ['under the name of another relay', { pskCallback: undefined }],
    ['with an earlier version of TLS', { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2', ciphers: 'PSK' }],
  ] as const)
    it(`cuts a connection ${name}`, async () => cut(say(writeRequest(request), given).socket));

  it('cuts a connection under a name that no relay has, or that does not match the key', async () => {
    const psk = hopKey({ from: 'two', to: 'one' }, SECRET) ?? assert.fail();
    for (const identity of ['three', 'two one', ''])
      await cut(say(writeRequest(request), { pskCallback: () => ({ psk, identity }) }).socket);
  });

  for (const bytes of ['GET / HTTP/1.1\r\n\r\n', 'culvert-hop/2 a b c\n', Buffer.alloc(20_000, 0x16)])
    it(`cuts a connection that begins with ${String(bytes).slice(0, 10)} in clear text`, async () =>
      cut(sayPlainly(bytes)));

  it('accepts nothing from a recorded connection, and the recording reveals nothing', async () => {
    const { port, recorded } = await recordingProxy(listener.port);
    const { socket } = say(writeRequest(request), { port });
    await until(() => taken.length === 1);
    socket.destroy();
    await once(socket, 'close');
    taken = [];
    const bytes = Buffer.concat(recorded);
    assert.ok(bytes.length > 100);
    assert.ok(!bytes.includes(request.id));
    await cut(sayPlainly(bytes));
  });

  for (const [name, bytes] of [
    ['longer than 4 KiB', Buffer.alloc(HOP_LINE_MAX_BYTES + 1, 'x')],
    ['longer than 4 KiB with its end', Buffer.from(`${'x'.repeat(HOP_LINE_MAX_BYTES)}\n`)],
    ...['no JSON', 'null', '{}', '["id"]', '[1,2,3]'].map(
      (text) => [text, Buffer.from(`${text}\n`)] as const,
    ),
  ] as const)
    it(`breaks off a stream with a request that is ${name}`, async () => {
      const { socket, recorder } = say(bytes);
      await until(() => recorder.closed.length > 0);
      assert.deepEqual([recorder.closed, taken, socket.destroyed], [[CloseCode.goingAway], [], false]);
      socket.destroy();
    });

  describe('with a dialer', () => {
    let dialer: HopDialer;
    let to: RelayAddress;
    let connections: number;
    /** accepted by the listener, and open */
    let sockets: Set<Socket>;

    beforeEach(() => {
      to = { incarnation: 'one', host: '127.0.0.1', port: listener.port };
      dialer = new HopDialer('two', SECRET);
      connections = 0;
      sockets = new Set();
      subscribe('net.server.socket', onConnection);
    });

    afterEach(() => {
      unsubscribe('net.server.socket', onConnection);
      dialer.close();
    });

    function onConnection(message: unknown): void {
      const { socket } = message as { socket: Socket };
      if (socket.localPort !== listener.port) return;
      connections += 1;
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }

    /** The response that a client gets for a text, when it has all of an echo. */
    async function carried(text: string): Promise<string> {
      const join = await dialer.upgrade(to, request);
      const [near, socket] = await pair();
      assert.ok(typeof join === 'function');
      join({ socket, head: Buffer.from('head ') });
      let echoed = '';
      near.on('data', (chunk: Buffer) => {
        echoed += chunk.toString();
        if (echoed.endsWith(text)) near.end();
      });
      near.write(text);
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
      assert.equal(await new HopDialer('two', SECRET).upgrade(address, request), undefined);
      assert.equal(heard, 0);
      server.close();
    });

    it('asks an unresponsive relay at most as often as the limit', async () => {
      const held: Duplex[] = [];
      take = (_request, stream) => held.push(stream);
      // However long it takes to send this many: none times out in that time.
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const asked: Promise<unknown>[] = [];
        while (asked.length < HOPS_ASKED_MAX) asked.push(dialer.upgrade(to, request));
        // No relay is asked, so the result is known immediately.
        const beyond = Promise.race([
          dialer.upgrade(to, request),
          new Promise((resolve) => setImmediate(() => resolve('asked'))),
        ]);
        assert.equal(await beyond, undefined);
        while (held.length < HOPS_ASKED_MAX) await new Promise((resolve) => setImmediate(resolve));
        assert.equal(connections, 1);
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
      assert.equal(await dialer.upgrade(to, request), 404);
      take = (_request, stream) => stream.destroy();
      assert.equal(await dialer.upgrade(to, request), undefined);
    });

    it('carries all data sockets on one connection', async () => {
      take = echo;
      await carried('body');
      await Promise.all(Array.from({ length: 5 }, () => carried('body')));
      assert.equal(connections, 1);
    });

    it('tries a new connection if the current one is lost at that moment', async () => {
      take = echo;
      await carried('body');
      let asked = 0;
      take = (hop, stream) => {
        asked += 1;
        if (asked === 1) for (const socket of sockets) socket.destroy();
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
        const hop = dialer.upgrade(to, request);
        await until(() => asked === 1);
        mock.timers.tick(HOP_RESPONSE_TIMEOUT_MS);
        assert.equal(await hop, undefined);
        assert.deepEqual([asked, connections], [1, 1]);
      } finally {
        mock.timers.reset();
      }
    });

    /** What becomes of a visitor: `failed` and why, or the end of the stream and its code. */
    function visitor(): { readonly dial: Dial; readonly text: () => string; readonly end: Promise<string> } {
      const ended = Promise.withResolvers<string>();
      let text = '';
      const dial = dialer.visit(to, 'tunnel', {
        opened(stream) {
          stream.attach({
            onStreamData: (piece) => (text += piece.toString()),
            onStreamDrain() {},
            onStreamClose: (code) => ended.resolve(`closed ${code}`),
          });
          stream.write(Buffer.from('request'));
        },
        failed: (failure) => ended.resolve(failure.kind === 'fault' ? failure.fault : failure.kind),
      });
      return { dial, text: () => text, end: ended.promise };
    }

    it("carries a visitor's bytes through it, and the client's, from the first one", async () => {
      visit = echoVisit;
      for (let time = 0; time < 2; time += 1) {
        const { text, end } = visitor();
        assert.deepEqual([await end, text()], [`closed ${CloseCode.normal}`, 'hello request']);
      }
      assert.equal(connections, 1);
    });

    it('carries what came before a break, however soon that follows', async () => {
      visit = (_id, stream) => {
        stream.write(Buffer.from('\0hello'));
        stream.close(CloseCode.goingAway);
      };
      const { text, end } = visitor();
      assert.deepEqual([await end, text()], [`closed ${CloseCode.goingAway}`, 'hello']);
    });

    it('tells why a visitor is not served, even if it is not told', async () => {
      for (const [fault, refuse] of [
        ['client-timeout', (stream: TrunkStream) => refuseVisit(stream, 'client-timeout')],
        ['lost', (stream: TrunkStream) => refuseVisit(stream, 'away')],
        ['lost', (stream: TrunkStream) => stream.destroy()],
        ['lost', (stream: TrunkStream) => stream.write(Buffer.of(99))],
      ] as const) {
        visit = (_id, stream) => {
          stream.attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose() {} });
          refuse(stream);
        };
        assert.equal(await visitor().end, fault);
      }
    });

    it('tries a new connection for a visitor once, if the current one is lost', async () => {
      visit = echoVisit;
      await visitor().end;
      let lost = 0;
      visit = (id, stream) => {
        if (lost === 1) return echoVisit(id, stream);
        lost += 1;
        for (const socket of sockets) socket.destroy();
      };
      assert.equal(await visitor().end, `closed ${CloseCode.normal}`);
      visit = () => {
        for (const socket of sockets) socket.destroy();
      };
      assert.deepEqual([await visitor().end, connections], ['lost', 3]);
    });

    it('gives up a visitor of a relay that has stopped', async () => {
      listener.close();
      assert.equal(await visitor().end, 'lost');
    });

    it('tells the other relay that a visitor has left', async () => {
      const codes: number[] = [];
      visit = (_id, stream) =>
        stream.attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose: (code) => codes.push(code) });
      const { dial } = visitor();
      await until(() => connections === 1);
      await settled();
      dial.cancel();
      visitor().dial.cancel();
      await until(() => codes.length === 1);
      assert.deepEqual(codes, [CloseCode.goingAway]);
    });

    it('closes the connection within a minute without a data socket', async () => {
      take = echo;
      mock.timers.enable({ apis: ['setInterval'] });
      try {
        await carried('body');
        mock.timers.tick(HOP_IDLE_MS);
        assert.equal(sockets.size, 1);
        mock.timers.tick(HOP_IDLE_MS);
        await until(() => sockets.size === 0);
      } finally {
        mock.timers.reset();
      }
      assert.equal(await carried('body'), 'HTTP/1.1 101 head body');
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
async function recordingProxy(to: number): Promise<{ port: number; recorded: Buffer[] }> {
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

describe('a data socket between two relays', () => {
  let sockets: readonly FakeTrunkSocket[];
  let client: FakeSocket;
  /** the end where the visitor waits */
  let remote: Duplex;
  let received: string;
  let done: number;

  beforeEach(begin);

  async function begin(): Promise<void> {
    sockets = joinedTrunkSockets();
    const [near, far] = sockets as [FakeTrunkSocket, FakeTrunkSocket];
    const options = { flushMs: 60_000 };
    const dialing = new Trunk(near, { ...options, begins: 'this', owner: NOBODY });
    received = '';
    const owner = acceptor('two', {
      upgrade: (_request, socket) => (remote = socket),
      visit: () => assert.fail(),
    });
    assert.equal(new Trunk(far, { ...options, begins: 'peer', owner }).size, 0);
    const stream = dialing.open();
    client = new FakeSocket();
    done = 0;
    stream.attach(new ForwardedSocket(client, writeRequest(request), stream, () => (done += 1)));
    await passed();
    assert.ok(remote instanceof HopSocket);
  }

  /** Passes on everything that is sent. */
  async function passed(): Promise<void> {
    await settled();
    while (sockets.some(({ isBusy }) => isBusy)) {
      for (const socket of sockets) socket.passOn(Infinity);
      await settled();
    }
  }

  function listen(): void {
    remote.on('data', (chunk: Buffer) => (received += chunk.toString()));
  }

  it('passes bytes on in both directions', async () => {
    listen();
    client.push('to the relay');
    remote.write('to the client');
    await passed();
    assert.deepEqual([received, client.text], ['to the relay', 'to the client']);
  });

  it('passes on all bytes before the end of either side', async () => {
    listen();
    client.push('last words');
    client.push(null);
    await passed();
    assert.deepEqual([received, remote.destroyed, client.destroyed, done], ['last words', true, true, 1]);
  });

  it('ends the client with the remote end, once it has read everything', async () => {
    client.isFast = false;
    remote.write('the last');
    remote.end(' words');
    remote.destroy();
    await passed();
    assert.deepEqual([client.destroyed, done], [false, 0]);
    client.release();
    await passed();
    assert.deepEqual([client.text, client.destroyed, done], ['the last words', true, 1]);
  });

  it('gives up on a client that reads nothing for 60 s after the remote end', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      client.isFast = false;
      remote.write('the last words');
      await passed();
      remote.destroy();
      await passed();
      mock.timers.tick(59_999);
      assert.equal(client.destroyed, false);
      mock.timers.tick(1);
      assert.equal(client.destroyed, true);
    } finally {
      mock.timers.reset();
    }
  });

  it('stops the client while the remote end reads nothing', async () => {
    for (let count = 0; count < 10; count += 1) {
      client.push(Buffer.alloc(64 * 1024));
      await passed();
    }
    assert.equal(client.isPaused(), true);
    remote.resume();
    await passed();
    assert.equal(client.isPaused(), false);
  });

  it('holds back writes while the client reads nothing', async () => {
    client.isFast = false;
    let written = 0;
    for (let count = 0; count < 10; count += 1) remote.write(Buffer.alloc(64 * 1024), () => (written += 1));
    await passed();
    assert.ok(written < 10);
    client.release();
    await passed();
    assert.equal(written, 10);
  });

  for (const [name, last, cut] of [
    ['the client', ['last words', ''], () => client.destroy(new Error('reset'))],
    ['the remote end', ['', 'last words'], () => remote.destroy(new Error('reset'))],
    ['the trunk', ['', ''], () => sockets.forEach((socket) => socket.lose())],
  ] as const)
    it(`breaks at both ends when ${name} breaks, once, after its last words`, async () => {
      listen();
      client.push(last[0]);
      remote.write(last[1]);
      cut();
      await passed();
      assert.deepEqual([received, client.text], last);
      assert.deepEqual([client.destroyed, remote.destroyed, done], [true, true, 1]);
      assert.equal(remote.readableEnded, false, 'looks complete');
    });

  it('tells the loss of the other relay from that of the client', async () => {
    for (const [cut, wanted] of [
      [() => client.destroy(new Error('reset')), CloseCode.abnormal],
      [() => sockets.forEach((socket) => socket.lose()), LOST_BEYOND],
    ] as const) {
      await begin();
      const stream = new WebSocketByteStream(remote, 'server', Buffer.alloc(0));
      const closed: number[] = [];
      stream.attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose: (code) => closed.push(code) });
      cut();
      await passed();
      assert.deepEqual(closed, [wanted]);
    }
  });

  it('breaks off a stream that does not say within 5 s what it is for', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const [near, far] = (sockets = joinedTrunkSockets());
      const options = { flushMs: 60_000 };
      const trunk = new Trunk(near, { ...options, begins: 'this', owner: NOBODY });
      const owner = acceptor('two', { upgrade: () => assert.fail(), visit: () => assert.fail() });
      assert.equal(new Trunk(far, { ...options, begins: 'peer', owner }).size, 0);
      const stream = trunk.open();
      const recorder = new StreamRecorder(stream);
      stream.write(Buffer.from('['));
      await passed();
      mock.timers.tick(HOP_LINE_TIMEOUT_MS);
      await passed();
      assert.deepEqual(recorder.closed, [CloseCode.goingAway]);
    } finally {
      mock.timers.reset();
    }
  });
});
