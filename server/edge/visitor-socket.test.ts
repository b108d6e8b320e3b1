import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeSocket, settled } from '../testing/edge-fixture.ts';
import { type VisitorConnection, VisitorOutput, VisitorSocket } from './visitor-socket.ts';

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
    const handOver = (): { socket: VisitorConnection; wrapper: WeakRef<VisitorSocket> } => {
      const wrapper = new VisitorSocket(new Socket(), () => undefined, handler);
      return { socket: wrapper.release().socket, wrapper: new WeakRef(wrapper) };
    };
    const handedOver = [handOver(), handOver(), handOver()];
    // The target of a weak reference stays alive until the current iteration of the event loop ends.
    await turn();
    collectGarbage();
    assert.deepEqual(
      handedOver.map(({ wrapper }) => wrapper.deref()),
      [undefined, undefined, undefined],
    );
    for (const { socket } of handedOver) socket.destroy();
  });

  for (const [inputMax, isPaused] of [
    [1, true],
    [undefined, false],
  ] as const) {
    it(`${isPaused ? 'stops' : 'continues'} reading while a byte waits, if ${inputMax ?? 'any number'} may wait`, () => {
      const socket = new Socket();
      const input = Object.assign(socket, inputMax === undefined ? {} : { inputMax });
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

describe('VisitorOutput', () => {
  let socket: FakeSocket;
  let output: VisitorOutput;
  let taken: number;

  beforeEach(() => {
    // Far more than is written here: the size of Node's own queue must not matter.
    socket = new FakeSocket(64 * 1024);
    taken = 0;
    output = new VisitorOutput(
      Object.assign(socket, { setTimeout() {} }) as unknown as Socket,
      () => (taken += 1),
    );
  });

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
      output = new VisitorOutput(
        Object.assign(socket, { setTimeout() {} }) as unknown as Socket,
        () => (taken += 1),
      );
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
});
