import assert from 'node:assert/strict';
import type { ByteStream } from '../tunnels/stream.ts';
import { InProcessApi } from './api-upstream.ts';

describe('InProcessApi', () => {
  it('serves one request on each stream, so that the next one also waits for the scheduler', async () => {
    const turns: string[] = [];
    const api = new InProcessApi((_request, response) => response.end('answer'), {
      take(group, begin) {
        turns.push(group);
        begin();
        return () => undefined;
      },
    });
    const text = await new Promise<string>((resolve) => {
      let received = '';
      const onBytes = (piece: Buffer) => {
        received += piece.toString('latin1');
        if (received.includes('answer')) resolve(received);
      };
      const opened = (stream: ByteStream) => {
        stream.attach({ onBytes, onRoom() {}, onEnded() {} });
        stream.write(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
      };
      api.dial({ opened, failed() {} }, 'group');
    });
    assert.match(text, /^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n/);
    assert.deepEqual(turns, ['group']);
  });

  it('notifies a request in progress that its visitor is gone, and forgets it', async () => {
    let stream: ByteStream | undefined;
    const opened = (given: ByteStream) => {
      stream = given;
      stream.attach({ onBytes() {}, onRoom() {}, onEnded: () => assert.fail('told of its own end') });
      stream.write(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    };
    const closed = new Promise<boolean>((resolve) => {
      const api = new InProcessApi(
        (request, response) => {
          response.once('close', () => resolve(request.socket.destroyed));
          stream?.abort();
        },
        {
          take(_group, begin) {
            begin();
            return () => undefined;
          },
        },
      );
      api.dial({ opened, failed() {} }, 'group');
    });
    assert.equal(await closed, true);
  });
});
