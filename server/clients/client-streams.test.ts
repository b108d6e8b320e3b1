import assert from 'node:assert/strict';
import type { ByteStreamHandler, WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { DataStream } from './client-streams.ts';

describe('DataStream', () => {
  it('counts the bytes that visitors send and receive for its tunnel', () => {
    const counted: [direction: 'in' | 'out', bytes: number][] = [];
    const tunnel = {
      countIn: (bytes: number) => counted.push(['in', bytes]),
      countOut: (bytes: number) => counted.push(['out', bytes]),
    } as unknown as LiveTunnel;
    let client: ByteStreamHandler | undefined;
    const socket = {
      attach(handler: ByteStreamHandler) {
        client = handler;
      },
      write: () => true,
    } as unknown as WebSocketByteStream;
    const stream = new DataStream(socket, tunnel, 'key', { rests() {}, serves() {}, ended() {} });
    const received: string[] = [];
    stream.attach({ onBytes: (piece) => received.push(piece.toString()), onRoom() {}, onEnded() {} });
    stream.write(Buffer.from('request'));
    client?.onStreamData(Buffer.from('the answer'));
    assert.deepEqual(received, ['the answer']);
    assert.deepEqual(counted, [
      ['in', 7],
      ['out', 10],
    ]);
  });
});
