import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import type { Socket } from 'node:net';
import { settled } from '../testing/edge-fixture.ts';
import type { MessageField } from './message-fields.ts';
import { passOn } from './onward.ts';
import type { ConnectionOwner, VisitorConnection } from './visitor-connection.ts';

const PEER = { address: '192.0.2.1', proto: 'https', trusted: false } as const;

/** A stream of HTTP/2, and what it was told to send. */
class FakeStream implements VisitorConnection {
  readonly sent: string[] = [];
  readonly bytesRead = 0;
  readonly bytesWritten = 0;
  readonly writableLength = 0;
  readonly destroyed = false;
  readonly statusMax = 599;
  readonly messages = this;
  owner: ConnectionOwner | undefined;

  attach(owner: ConnectionOwner): void {
    this.owner = owner;
  }

  begin(status: number, fields: readonly MessageField[]): void {
    this.sent.push(`${status} ${fields.map(({ name, value }) => `${name}=${value}`).join(' ')}`);
  }

  finish(): void {
    this.sent.push('finish');
  }

  write(bytes: Buffer): void {
    this.sent.push(bytes.toString('latin1'));
  }

  end(): void {
    this.sent.push('end');
  }

  resetAndDestroy(): void {
    this.sent.push('reset');
  }

  destroy(): void {
    this.sent.push('destroy');
  }

  pause(): void {}
  resume(): void {}
  setTimeout(): void {}

  isPaused(): boolean {
    return false;
  }
}

describe('a stream of HTTP/2 that is passed on', () => {
  let stream: FakeStream;
  let next: Duplex;
  let received: string;

  async function begin(request: string): Promise<void> {
    stream = new FakeStream();
    received = '';
    const [own, other] = duplexPair();
    next = other.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')));
    const rest = { socket: stream, bytes: Buffer.from(request), hasEnded: false };
    await passOn(
      rest,
      PEER,
      () => Promise.resolve(own as Socket),
      () => {},
    );
    await settled();
  }

  async function answer(text: string): Promise<void> {
    next.write(text, 'latin1');
    await settled();
  }

  it('gets what the other relay responds as a message', async () => {
    await begin('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await answer(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\nConnection: close\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
    );
    next.end();
    await settled();
    assert.deepEqual(stream.sent, ['200 a=b', 'hi', 'finish', 'end']);
  });

  it('gets no body of a response to HEAD, whatever its length says', async () => {
    await begin('HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await answer('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n');
    assert.deepEqual(stream.sent, ['200 content-length=9', 'finish']);
  });

  it('gets a response without a length when the other relay ends it', async () => {
    await begin('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await answer('HTTP/1.1 200 OK\r\n\r\nhi');
    assert.deepEqual(stream.sent, ['200 ', 'hi']);
    next.end();
    await settled();
    assert.deepEqual(stream.sent, ['200 ', 'hi', 'finish', 'end']);
  });

  it('is reset by what is not a response', async () => {
    await begin('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await answer('HTTP/1.1 2000 OK\r\n\r\n');
    assert.deepEqual(stream.sent, ['reset']);
  });

  it('that opens a WebSocket carries it in both directions', async () => {
    await begin(
      'GET / HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nConnection: Upgrade\r\n\r\n',
    );
    const accept = 'Upgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n';
    await answer(`HTTP/1.1 101 x\r\n${accept}\r\nhi`);
    stream.owner?.arrived(Buffer.from('there'));
    await answer('more');
    next.end();
    await settled();
    assert.deepEqual(stream.sent, ['101 ', 'hi', 'more', 'finish', 'end']);
    assert.match(received, /\r\n\r\nthere$/);
  });
});
