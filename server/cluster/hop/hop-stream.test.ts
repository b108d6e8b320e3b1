import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { FakeSocket, settled } from '../../testing/fake-socket.ts';
import { HopConnection } from './hop-connection.ts';
import { HopStream } from './hop-stream.ts';

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

  it('writes what is queued as one frame', async () => {
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

  it('holds back what is written while the connection has no room', async () => {
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

  it('stops the other relay while nobody reads', async () => {
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

  it('accepts nothing more once it is closed, and holds nobody up', async () => {
    socket.push('\0\u0002\0\0');
    socket.push(Buffer.alloc(0x01_ff_ff));
    await settled();
    stream.destroy();
    socket.push('x');
    socket.push(END);
    await settled();
    assert.deepEqual([socket.isPaused(), socket.destroyed, socket.text], [false, false, END]);
  });

  it('breaks the connection when it is cut with something left to send', async () => {
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
