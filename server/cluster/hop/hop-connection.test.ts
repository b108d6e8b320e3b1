import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { FakeSocket, settled } from '../../testing/fake-socket.ts';
import { HopConnection } from './hop-connection.ts';

describe('HopConnection', () => {
  let socket: FakeSocket;
  let connection: HopConnection;
  let heard: string[];

  beforeEach(() => {
    socket = new FakeSocket();
    heard = [];
    connection = new HopConnection(socket as unknown as Socket, {
      onPiece: (piece, isLast) => heard.push(`${piece.toString()}${isLast ? '.' : ''}`),
      onEnd: () => heard.push('end'),
      onDrain: () => heard.push('drain'),
      onClose: () => heard.push('closed'),
    });
  });

  it('writes each frame with its length, and an empty one as the end', async () => {
    connection.send([Buffer.from('one'), Buffer.from(' two')]);
    connection.send([Buffer.alloc(0x01_02_03, 'x')]);
    connection.sendEnd();
    await settled();
    assert.equal(socket.text, `\0\0\0\u0007one two\0\u0001\u0002\u0003${'x'.repeat(0x01_02_03)}\0\0\0\0`);
  });

  it('reads frames wherever they were cut', async () => {
    const bytes = Buffer.from('\0\0\0\u0003one\0\0\0\0\0\0\0\u0003two');
    for (let cut = 1; cut < bytes.length; cut += 1) {
      heard.length = 0;
      connection.read(bytes.subarray(0, cut));
      connection.read(bytes.subarray(cut));
      assert.equal(heard.join(''), 'one.endtwo.', `cut at ${cut}`);
    }
    heard.length = 0;
    for (const byte of bytes) connection.read(Buffer.of(byte));
    assert.deepEqual(heard, ['o', 'n', 'e.', 'end', 't', 'w', 'o.']);
  });

  it('says when more is queued than should be, and when it has been sent', async () => {
    socket.isFast = false;
    assert.equal(connection.send([Buffer.from('some')]), false);
    socket.release();
    await settled();
    assert.deepEqual(heard, ['drain']);
  });

  it('passes nothing on once it was cut, and reports that', async () => {
    const handler = connection.handler;
    connection.handler = { ...handler, onEnd: () => connection.destroy() };
    connection.read(Buffer.from('\0\0\0\0\0\0\0\u0003one'));
    await settled();
    assert.deepEqual(heard, ['closed']);
    assert.equal(connection.isOpen, false);
  });

  it('ends when the relay at the other end does', async () => {
    socket.push(null);
    await settled();
    assert.deepEqual(heard, ['closed']);
  });
});
