import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { HOP_LINE_MAX_BYTES } from '../limits.ts';
import { connectionId } from './connection-id.ts';
import { HopDialer } from './hop-dialer.ts';
import { HopListener } from './hop-listener.ts';
import { writeHop } from './hop.ts';

const SECRET = 's'.repeat(32);
const request = { id: connectionId(7), key: 'key', authorization: undefined, via: 'two' };

describe('HopListener', () => {
  let listener: HopListener;
  let taken: { id: string; socket: Socket; head: Buffer }[];

  beforeEach(async () => {
    taken = [];
    listener = await HopListener.start({ host: '127.0.0.1', port: 0 }, 'one', SECRET);
    listener.onHop = ({ id }, socket, head) => taken.push({ id, socket, head });
  });

  afterEach(() => listener.close());

  async function say(text: string): Promise<Socket> {
    const socket = connect(listener.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(text);
    return socket;
  }

  /** Waits until the listener has cut the connection. */
  async function cut(socket: Socket): Promise<void> {
    socket.resume();
    if (!socket.destroyed) await once(socket, 'close');
    assert.deepEqual(taken, []);
  }

  it('takes a data socket with what came behind its line', async () => {
    const socket = await say(`${writeHop(request, 'one', SECRET)}more`);
    while (taken.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([taken[0]?.id, taken[0]?.head.toString()], [request.id, 'more']);
    socket.destroy();
  });

  for (const [name, text] of [
    ['for another relay', writeHop(request, 'two', SECRET)],
    ['under another secret', writeHop(request, 'one', 'x'.repeat(32))],
    ['that is none', 'GET / HTTP/1.1\n'],
  ] as const) {
    it(`cuts a connection with a line ${name}`, async () => cut(await say(text)));
  }

  it('cuts a connection whose line is longer than 4 KiB', async () => {
    await cut(await say('x'.repeat(HOP_LINE_MAX_BYTES)));
  });

  it('leaves the client to the dialer where it refuses', async () => {
    const dialer = new HopDialer(
      { find: () => ({ incarnation: 'one', host: '127.0.0.1', port: listener.port }) },
      'two',
      SECRET,
    );
    listener.onHop = (_request, socket) => socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
    assert.equal(await dialer.dial(request), undefined);
    listener.onHop = (_request, socket) => socket.destroy();
    assert.equal(await dialer.dial(request), undefined);
  });

  it('gets through a dialer what a client sends, and back', async () => {
    const dialer = new HopDialer(
      {
        find: (number) =>
          number === 7 ? { incarnation: 'one', host: '127.0.0.1', port: listener.port } : undefined,
      },
      'two',
      SECRET,
    );
    assert.equal(await dialer.dial({ ...request, id: connectionId(8) }), undefined);
    listener.onHop = ({ via }, socket, head) => {
      assert.equal(via, 'two');
      socket.write('HTTP/1.1 101 ');
      socket.write(head);
      socket.pipe(socket);
    };
    const hop = await dialer.dial(request);
    const [near, far] = await pair();
    hop?.carry(far, Buffer.from('head '));
    let echoed = '';
    near.on('data', (chunk: Buffer) => (echoed += chunk.toString()));
    near.end('body');
    await once(near, 'end');
    assert.equal(echoed, 'HTTP/1.1 101 head body');
    while (dialer.open > 0) await new Promise((resolve) => setImmediate(resolve));
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
