import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { FakeSocket, settled } from '../../testing/fake-socket.ts';
import { VisitorOutput } from './visitor-output.ts';

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
