import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, Socket } from 'node:net';
import { mock } from 'node:test';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeSocket, ownerOf, settled } from '../testing/edge-fixture.ts';
import { boundPort } from './listener.ts';
import { STALL_TIMEOUT_MS } from './timeouts.ts';
import { SocketConnection } from './visitor-connection.ts';
import { VisitorOutput, VisitorSocket } from './visitor-socket.ts';

// Querying all objects of the class instead takes seconds in a process that has run many tests.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('VisitorSocket', () => {
  it('is not kept alive by a connection that was handed over, which may last for days', async () => {
    const handler = {
      onInput() {},
      onInputEnd() {},
      onDiscarded() {},
      onOutput() {},
      onOutputTaken() {},
      onClosed() {},
    };
    const handOver = (): { socket: Socket | undefined; wrapper: WeakRef<VisitorSocket> } => {
      const wrapper = new VisitorSocket(new SocketConnection(new Socket()), () => undefined, handler);
      return { socket: wrapper.release().socket.detach?.(), wrapper: new WeakRef(wrapper) };
    };
    const handedOver = [handOver(), handOver(), handOver()];
    // The target of a weak reference stays alive until the current iteration of the event loop ends.
    await turn();
    collectGarbage();
    assert.deepEqual(
      handedOver.map(({ wrapper }) => wrapper.deref()),
      [undefined, undefined, undefined],
    );
    for (const { socket } of handedOver) socket?.destroy();
  });

  for (const [inputMax, isPaused] of [
    [1, true],
    [undefined, false],
  ] as const) {
    it(`${isPaused ? 'stops' : 'continues'} reading while a byte waits, if ${inputMax ?? 'any number'} may wait`, () => {
      const socket = new Socket();
      const input = Object.assign(new SocketConnection(socket), inputMax === undefined ? {} : { inputMax });
      const handler = {
        onInput() {},
        onInputEnd() {},
        onDiscarded() {},
        onOutput() {},
        onOutputTaken() {},
        onClosed() {},
      };
      const visitor = new VisitorSocket(input, () => undefined, handler);
      socket.emit('data', Buffer.from('a'));
      visitor.updateReading(false);
      assert.equal(socket.isPaused(), isPaused);
      socket.destroy();
    });
  }
});

describe('SocketConnection', () => {
  it('is not disturbed by a socket that fails after it has closed', async () => {
    const socket = new Socket();
    new SocketConnection(socket).attach(ownerOf(() => {}));
    const closed = once(socket, 'close');
    socket.destroy();
    await closed;
    socket.emit('error', new Error('write EBADF'));
  });
});

describe('VisitorOutput', () => {
  let socket: FakeSocket;
  let output: VisitorOutput;
  let taken: number;

  beforeEach(() => {
    // Far more than is written here: the size of Node's own queue must not matter.
    socket = new FakeSocket(64 * 1024);
    taken = 0;
    output = outputOf(Object.assign(socket, { setTimeout() {} }));
  });

  /** The output to a socket, of an owner that has nothing else. */
  function outputOf(to: Duplex): VisitorOutput {
    const connection = new SocketConnection(to as Socket);
    const made = new VisitorOutput(connection, { onOutputTaken: () => (taken += 1) });
    connection.attach({ ...ownerOf(() => {}), sent: () => made.sent(), stalled: () => made.stalled() });
    return made;
  }

  afterEach(() => {
    socket.destroy();
  });

  it('is never full for a visitor whose system accepts everything immediately, however much it is', async () => {
    output.send(Buffer.alloc(1024 * 1024));
    assert.equal(output.isFull, false);
    await settled();
    assert.equal(taken, 0);
  });

  it('is full while any byte is buffered here, and reports once that all was sent', async () => {
    socket.isFast = false;
    output.send(Buffer.from('a'));
    output.send(Buffer.from('b'));
    assert.equal(output.isFull, true);
    await settled();
    assert.equal(taken, 0);
    socket.release();
    await settled();
    assert.deepEqual([output.isFull, taken, socket.text], [false, 1, 'ab']);
  });

  it('reports nothing for a visitor that is gone, or once another writer has taken over', async () => {
    for (const leave of [() => socket.destroy(), () => output.release()]) {
      socket = new FakeSocket();
      output = outputOf(Object.assign(socket, { setTimeout() {} }));
      socket.isFast = false;
      output.send(Buffer.from('a'));
      leave();
      socket.release();
      await settled();
      assert.equal(taken, 0);
    }
  });

  it('half-closes after what was sent', async () => {
    output.send(Buffer.from('last'));
    await new Promise<void>((resolve) => output.end(resolve));
    assert.equal(socket.text, 'last');
    assert.equal(socket.writableFinished, true);
  });

  describe('of a visitor that does not read', () => {
    afterEach(() => mock.restoreAll());

    it('resets the connection after 60 s, counted from the last byte that its system accepted', async () => {
      let now = 0;
      let looksIn = 0;
      let resets = 0;
      mock.method(performance, 'now', () => now);
      const slow = Object.assign(new FakeSocket(), {
        setTimeout: (ms: number) => (looksIn = ms),
        resetAndDestroy: () => (resets += 1),
      });
      slow.isFast = false;
      outputOf(slow).send(Buffer.from('a'));
      const pass = (ms: number): void => {
        for (const end = now + ms; now + looksIn <= end; slow.emit('timeout')) now += looksIn;
      };
      pass(STALL_TIMEOUT_MS - 1);
      // A socket skips its timeout when bytes were accepted.
      now += looksIn;
      pass(STALL_TIMEOUT_MS - 1);
      assert.equal(resets, 0);
      pass(looksIn);
      assert.equal(resets, 1);
    });

    it('resets that of a visitor whose system is full, and so tells it', async () => {
      const SPEED = 200;
      const real = performance.now.bind(performance);
      mock.method(performance, 'now', () => real() * SPEED);
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const peer = connect(boundPort(server), '127.0.0.1').pause();
      const failed = once(peer, 'error');
      const [own] = await accepted;
      try {
        const setTimeout = own.setTimeout.bind(own);
        own.setTimeout = (ms) => setTimeout(ms / SPEED);
        outputOf(own).send(Buffer.alloc(50_000_000));
        await once(own, 'close');
        peer.resume();
        const [error] = (await failed) as [NodeJS.ErrnoException];
        assert.equal(error.code, 'ECONNRESET');
      } finally {
        peer.destroy();
        own.destroy();
        server.close();
      }
    });
  });
});
