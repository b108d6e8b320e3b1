import assert from 'node:assert/strict';
import { CloseCode } from '../control.ts';
import { FakeTrunkSocket } from '../testing/fake-trunk-socket.ts';
import { DedicatedSocket } from './dedicated-socket.ts';

describe('OwnSocket', () => {
  let socket: FakeTrunkSocket;
  let heard: string[];
  let own: DedicatedSocket;

  beforeEach(() => {
    socket = new FakeTrunkSocket({ highWater: 1 });
    heard = [];
    own = new DedicatedSocket(socket, {
      drained: () => heard.push('room'),
      came: (piece) => heard.push(piece.toString()),
      closed: (code) => heard.push(String(code)),
    });
  });

  it('is not read, and gives what has come all the same when it is its turn, in order', () => {
    assert.equal(socket.isPaused, true);
    socket.receive(Buffer.from('a'));
    socket.receive(Buffer.from('b'));
    assert.deepEqual(heard, []);
    own.read();
    assert.deepEqual([heard.join(''), socket.isPaused], ['ab', false]);
    socket.receive(Buffer.from('c'));
    assert.deepEqual(heard.join(''), 'abc');
  });

  it('keeps small pieces that came too early in little memory', () => {
    for (let count = 0; count < 1000; count += 1) socket.receive(Buffer.from('x'));
    own.read();
    assert.deepEqual(heard, ['x'.repeat(1000)]);
  });

  it('tells of room and of its end before it is its turn, too', () => {
    own.socket.write(Buffer.from('x'));
    socket.take();
    socket.closeFrom(CloseCode.internalError);
    assert.deepEqual(heard, ['room', '1011']);
  });

  it('tells of an end that has come before', () => {
    socket = new FakeTrunkSocket();
    socket.closeFrom(CloseCode.normal);
    const told: number[] = [];
    void new DedicatedSocket(socket, { drained() {}, came() {}, closed: (code) => told.push(code) });
    assert.deepEqual(told, [CloseCode.normal]);
  });
});
