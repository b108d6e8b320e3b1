import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { ByteStreamHandler } from '../../../shared/websocket/byte-stream.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Watched } from '../../testing/fake-stream.ts';
import { startFakeRelay, closedPort, closeServers, startTcp } from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import { Network } from '../network/network.ts';
import { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import { parseRelayAddress, type RelayAddress } from '../relay/relay-address.ts';
import { DataDialer, type DataSocket, DATA_HANDSHAKE_TIMEOUT_MS } from './data-dialer.ts';

/** Everything that came over a data socket. */
class DataReceiver extends Watched implements ByteStreamHandler {
  readonly stream: DataSocket;
  text = '';
  hasEnded = false;

  constructor(stream: DataSocket) {
    super();
    this.stream = stream;
    stream.attach(this);
  }

  /** Waits for that many bytes in all. */
  async read(length: number): Promise<string> {
    await this.until(() => this.text.length >= length);
    return this.text;
  }

  onStreamData(piece: Buffer): void {
    this.text += piece.toString('latin1');
    this.changed();
  }

  onStreamDrain(): void {}

  onStreamEnd(): void {
    this.hasEnded = true;
    this.changed();
  }

  onStreamClose(): void {}
}

/** @throws what the attempt fails with */
function open(dialer: DataDialer, id = '1'): Promise<DataReceiver> {
  return new Promise((resolve, failed) => {
    dialer.open(id, { opened: (stream) => resolve(new DataReceiver(stream)), failed });
  });
}

const dialerTo = (relay: RelayAddress): DataDialer =>
  new DataDialer(relay, new Network(), new Deadlines(new FakeClock()));

type Agreement = [upgrade: string, connection: string, accept: string];

/** The fields with which a correct relay responds to that request. */
function agreement(request: string): Agreement {
  const key = /sec-websocket-key: (\S+)/i.exec(request)?.[1] ?? '';
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  return ['Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept}`];
}

/** A relay that responds to every request as `answer` does. */
async function startScripted(answer: (request: string, socket: Socket) => void): Promise<DataDialer> {
  const port = await startTcp((socket) => {
    socket.once('data', (request) => answer(request.toString('latin1'), socket));
  });
  return dialerTo(parseRelayAddress(`http://127.0.0.1:${port}`));
}

const head = (lines: readonly string[]): string =>
  ['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n');

describe('DataDialer', () => {
  afterEach(closeServers);

  it('opens the data socket of a pending connection at an independent WebSocket server', async () => {
    const relay = await startFakeRelay();
    const accepted = relay.data();
    const receiver = await open(dialerTo(relay.address), '0b2f-1');
    const { stream } = receiver;
    const { socket, target } = await accepted;
    assert.equal(target, '/ws/data?id=0b2f-1');
    socket.send(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    assert.equal(await receiver.read(18), 'GET / HTTP/1.1\r\n\r\n');
    stream.write(Buffer.from('answer'));
    const [data, isBinary] = (await once(socket, 'message')) as [Buffer, boolean];
    assert.equal(data.toString(), 'answer');
    assert.equal(isBinary, true);
    stream.close(1000);
    assert.equal(((await once(socket, 'close')) as [number])[0], 1000);
  });

  it('half-closes data sockets of raw tunnels, at a relay that it has told so', async () => {
    const relay = await startFakeRelay();
    const accepted = relay.data();
    const network = new Network();
    const dialer = new DataDialer(relay.address, network, new Deadlines(new FakeClock()), {
      carriesEnd: true,
    });
    const receiver = await open(dialer);
    const { socket, target } = await accepted;
    assert.equal(target, '/ws/data?id=1&ends=1');
    receiver.stream.end();
    const [empty] = (await once(socket, 'message')) as [Buffer];
    assert.equal(empty.length, 0);
    socket.send(Buffer.alloc(0));
    await receiver.until(() => receiver.hasEnded);
    receiver.stream.destroy();
  });

  it('keeps the bytes that arrive with the 101', async () => {
    const dialer = await startScripted((request, socket) =>
      socket.write(`${head(agreement(request))}\x82\x02hi`, 'latin1'),
    );
    const receiver = await open(dialer);
    assert.equal(await receiver.read(2), 'hi');
    receiver.stream.destroy();
  });

  it('accepts the 101 in pieces, and field names and tokens in any case', async () => {
    const dialer = await startScripted((request, socket) => {
      const [, , accept] = agreement(request);
      const text = head([
        'UPGRADE: WebSocket',
        'connection: keep-alive, upgrade',
        accept.toLowerCase().slice(0, 21) + accept.slice(21),
      ]);
      for (const character of text) socket.write(character);
    });
    const opened = await open(dialer);
    assert.equal(opened.text, '');
    opened.stream.destroy();
  });

  it('reports a refusal by its status', async () => {
    const dialer = await startScripted((_request, socket) =>
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'),
    );
    await assert.rejects(open(dialer), (error) => error instanceof RelayRefusal && error.status === 404);
  });

  const OTHER = 'Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=';
  for (const [what, answer] of [
    ['another accept value', ([upgrade, connection]) => head([upgrade, connection, OTHER])],
    ['no accept value', ([upgrade, connection]) => head([upgrade, connection])],
    ['no Upgrade', ([, connection, accept]) => head([connection, accept])],
    ['no Connection', ([upgrade, , accept]) => head([upgrade, accept])],
    ['an extension nobody offered', (all) => head([...all, 'Sec-WebSocket-Extensions: permessage-deflate'])],
    ['a protocol nobody offered', (all) => head([...all, 'Sec-WebSocket-Protocol: chat'])],
    ['what is no HTTP', () => 'SSH-2.0-server\r\n\r\n'],
    ['an endless head', (all) => head([...all, `X: ${'x'.repeat(20_000)}`])],
  ] as const satisfies [string, (fields: Agreement) => string][])
    it(`rejects ${what}`, async () => {
      const closed = Promise.withResolvers<void>();
      const dialer = await startScripted((request, socket) => {
        socket.once('end', closed.resolve).resume();
        socket.write(answer(agreement(request)));
      });
      await assert.rejects(open(dialer), RelayUnreachable);
      await closed.promise;
    });

  it('reports a relay that hangs up', async () => {
    const dialer = await startScripted((_request, socket) => socket.end());
    await assert.rejects(open(dialer), /the connection was closed/);
  });

  it('reports a relay that is not running', async () => {
    const dialer = dialerTo(parseRelayAddress(`http://127.0.0.1:${await closedPort()}`));
    await assert.rejects(open(dialer), /nothing is listening there/);
  });

  it('gives up when cancelled, and reports nothing more', async () => {
    const closed = Promise.withResolvers<void>();
    const dialer = await startScripted((request, socket) => {
      attempt.cancel();
      socket.once('end', closed.resolve).resume();
      socket.write(head(agreement(request)));
    });
    const attempt = dialer.open('1', { opened: () => assert.fail(), failed: () => assert.fail() });
    await closed.promise;
  });

  it('gives up on a relay that does not respond in time', async () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    const port = await startTcp((socket) => {
      socket.resume();
      clock.advance(DATA_HANDSHAKE_TIMEOUT_MS);
    });
    const dialer = new DataDialer(parseRelayAddress(`http://127.0.0.1:${port}`), new Network(), deadlines);
    await assert.rejects(open(dialer), /it did not respond in time/);
    assert.equal(deadlines.size, 0);
  });

  it('tries the known address first, and the name when that fails', async () => {
    const relay = await startFakeRelay();
    const dialer = dialerTo(relay.address);
    // Also loopback, but nothing listens there.
    dialer.prefer('127.0.0.2');
    const opened = await open(dialer);
    assert.equal(opened.text, '');
    opened.stream.destroy();
  });
});
