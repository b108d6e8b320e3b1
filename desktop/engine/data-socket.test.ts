import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { startFakeRelay } from '../testing/fake-relay.ts';
import { closedPort, closeServers, startTcp } from '../testing/servers.ts';
import { DataDialer } from './data-socket.ts';
import { RelayRefusal, RelayUnreachable } from './errors.ts';
import { parseRelayAddress } from './relay-address.ts';

const never = (): AbortSignal => new AbortController().signal;

/** What a correct relay answers to that request. */
function agreement(request: string): string[] {
  const key = /sec-websocket-key: (\S+)/i.exec(request)?.[1] ?? '';
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  return ['Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept}`];
}

/** A relay that answers every request with what `answer` makes of it. */
async function startScripted(answer: (request: string, socket: Socket) => void): Promise<DataDialer> {
  const port = await startTcp((socket) => {
    socket.once('data', (request) => answer(request.toString('latin1'), socket));
  });
  return new DataDialer(parseRelayAddress(`http://127.0.0.1:${port}`));
}

const head = (lines: readonly string[]): string =>
  ['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n');

describe('DataDialer', () => {
  afterEach(closeServers);

  it('opens the data socket of a pending connection at an independent WebSocket server', async () => {
    const relay = await startFakeRelay();
    const accepted = relay.data();
    const stream = await new DataDialer(relay.address).open('0b2f-1', never());
    const { socket, target } = await accepted;
    assert.equal(target, '/ws/data?id=0b2f-1');
    const received = new Promise<Buffer>((resolve) => {
      stream.attach({ onData: resolve, onDrain() {}, onClose() {} });
    });
    socket.send(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    assert.equal((await received).toString(), 'GET / HTTP/1.1\r\n\r\n');
    stream.write(Buffer.from('answer'));
    const [data, isBinary] = (await once(socket, 'message')) as [Buffer, boolean];
    assert.equal(data.toString(), 'answer');
    assert.equal(isBinary, true);
    stream.close(1000);
    assert.equal(((await once(socket, 'close')) as [number])[0], 1000);
  });

  it('keeps the bytes that come with the 101', async () => {
    const dialer = await startScripted((request, socket) =>
      socket.write(`${head(agreement(request))}\x82\x02hi`, 'latin1'),
    );
    const stream = await dialer.open('1', never());
    const received = await new Promise<Buffer>((resolve) =>
      stream.attach({ onData: resolve, onDrain() {}, onClose() {} }),
    );
    assert.equal(received.toString(), 'hi');
    stream.destroy();
  });

  it('takes the 101 in pieces, and field names and tokens in any case', async () => {
    const dialer = await startScripted((request, socket) => {
      const [, , accept = ''] = agreement(request);
      const text = head([
        'UPGRADE: WebSocket',
        'connection: keep-alive, upgrade',
        accept.toLowerCase().slice(0, 21) + accept.slice(21),
      ]);
      for (const character of text) socket.write(character);
    });
    (await dialer.open('1', never())).destroy();
  });

  it('tells a refusal by its status', async () => {
    const dialer = await startScripted((_request, socket) =>
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'),
    );
    await assert.rejects(
      dialer.open('1', never()),
      (error) => error instanceof RelayRefusal && error.status === 404,
    );
  });

  const wrong: [string, (fields: string[]) => string][] = [
    [
      'another accept value',
      (fields) => head([...fields.slice(0, 2), 'Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=']),
    ],
    ['no accept value', (fields) => head(fields.slice(0, 2))],
    ['no Upgrade', (fields) => head(fields.slice(1))],
    ['no Connection', (fields) => head([fields[0] ?? '', fields[2] ?? ''])],
    [
      'an extension nobody offered',
      (fields) => head([...fields, 'Sec-WebSocket-Extensions: permessage-deflate']),
    ],
    ['a protocol nobody offered', (fields) => head([...fields, 'Sec-WebSocket-Protocol: chat'])],
    ['what is no HTTP', () => 'SSH-2.0-server\r\n\r\n'],
    ['an endless head', (fields) => head([...fields, `X: ${'x'.repeat(20_000)}`])],
  ];
  for (const [name, answer] of wrong) {
    it(`does not take ${name}`, async () => {
      const closed = new Promise<void>((resolve) => {
        void startScripted((request, socket) => {
          socket.once('end', resolve);
          socket.resume();
          socket.write(answer(agreement(request)));
        }).then((dialer) => assert.rejects(dialer.open('1', never()), RelayUnreachable));
      });
      await closed;
    });
  }

  it('tells of a relay that hangs up', async () => {
    const dialer = await startScripted((_request, socket) => socket.end());
    await assert.rejects(dialer.open('1', never()), /the connection was closed/);
  });

  it('tells of a relay that is not there', async () => {
    const dialer = new DataDialer(parseRelayAddress(`http://127.0.0.1:${await closedPort()}`));
    await assert.rejects(dialer.open('1', never()), /nothing is listening there/);
  });

  it('gives up when it is told to', async () => {
    const controller = new AbortController();
    const dialer = await startScripted(() => controller.abort());
    await assert.rejects(dialer.open('1', controller.signal), RelayUnreachable);
  });

  it('tries the address it knows first, and the name when that fails', async () => {
    const relay = await startFakeRelay();
    const dialer = new DataDialer(relay.address);
    // Loopback too, but nothing listens there.
    dialer.prefer('127.0.0.2');
    (await dialer.open('1', never())).destroy();
  });
});
