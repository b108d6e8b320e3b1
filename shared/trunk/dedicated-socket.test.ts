import assert from 'node:assert/strict';
import { CloseCode } from '../control.ts';
import { FakeTrunkSocket } from '../testing/trunk-world.ts';
import { DedicatedSocket } from './dedicated-socket.ts';

describe('DedicatedSocket', () => {
  let socket: FakeTrunkSocket;
  let heard: string[];
  let own: DedicatedSocket;

  beforeEach(() => {
    socket = new FakeTrunkSocket({ highWater: 1 });
    heard = [];
    own = new DedicatedSocket(socket, (event) => heard.push(String(event)));
  });

  it('is not read early, and still hands over data received before its turn, in order', () => {
    assert.equal(socket.isPaused, true);
    socket.receive(Buffer.from('a'));
    socket.receive(Buffer.from('b'));
    assert.deepEqual(heard, []);
    own.read();
    assert.deepEqual([heard.join(''), socket.isPaused], ['ab', false]);
    socket.receive(Buffer.from('c'));
    assert.deepEqual(heard.join(''), 'abc');
  });

  it('uses little memory for small pieces that arrive early', () => {
    for (let count = 0; count < 1000; count += 1) socket.receive(Buffer.from('x'));
    own.read();
    assert.deepEqual(heard, ['x'.repeat(1000)]);
  });

  it('reports room and its end before its turn as well', () => {
    own.write(Buffer.from('x'));
    socket.take();
    socket.closeFrom(CloseCode.internalError);
    assert.deepEqual(heard, ['room', '1011']);
  });

  it('takes over queued data, and reports room as such only to a writer that waits for it', () => {
    for (const [isAwaited, event] of [
      [true, 'room'],
      [false, 'drained'],
    ] as const) {
      own.takeOver([Buffer.from('a'), Buffer.from('b')], isAwaited);
      assert.deepEqual([own.isFull, own.isAwaited], [true, isAwaited]);
      assert.equal(socket.take().toString(), 'ab');
      assert.deepEqual([own.isFull, own.isAwaited, heard.pop()], [false, false, event]);
    }
    own.takeOver([], true);
    assert.equal(own.isFull, false);
  });

  it('reports an end that was received before', () => {
    socket = new FakeTrunkSocket();
    socket.closeFrom(CloseCode.normal);
    const told: unknown[] = [];
    void new DedicatedSocket(socket, (event) => told.push(event));
    assert.deepEqual(told, [CloseCode.normal]);
  });
});
