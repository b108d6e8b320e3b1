import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeSocket, settled } from '../testing/fake-socket.ts';
import { VisitorOutput, VisitorSocket } from './visitor-socket.ts';

// Asking for all objects of the class instead takes seconds in a process that has run many tests.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('VisitorSocket', () => {
  it('is not kept by a connection that was handed over, which may last for days', async () => {
    const handler = { onInput() {}, onInputEnd() {}, onOutput() {}, onOutputTaken() {}, onClosed() {} };
    const handOver = (): { socket: Socket; wrapper: WeakRef<VisitorSocket> } => {
      const wrapper = new VisitorSocket(new Socket(), () => undefined, handler);
      return { socket: wrapper.release().socket, wrapper: new WeakRef(wrapper) };
    };
    const handedOver = [handOver(), handOver(), handOver()];
    // What a reference was made to stays until the turn ends.
    await turn();
    collectGarbage();
    assert.deepEqual(
      handedOver.map(({ wrapper }) => wrapper.deref()),
      [undefined, undefined, undefined],
    );
    for (const { socket } of handedOver) socket.destroy();
  });
});

describe('VisitorOutput', () => {
  let socket: FakeSocket;
  let output: VisitorOutput;
  let taken: number;

  beforeEach(() => {
    // Far more than is written here: what counts is not how much Node would queue.
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

  it('is never full for a visitor whose system takes what is sent at once, however much it is', async () => {
    output.send(Buffer.alloc(1024 * 1024));
    assert.equal(output.isFull, false);
    await settled();
    assert.equal(taken, 0);
  });

  it('is full as long as one byte lies here, and says once that all was taken', async () => {
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

  it('says nothing for a visitor who has gone, nor once somebody else writes', async () => {
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

  it('half-closes behind what was sent', async () => {
    output.send(Buffer.from('last'));
    await new Promise<void>((resolve) => output.end(resolve));
    assert.equal(socket.text, 'last');
    assert.equal(socket.writableFinished, true);
  });
});
