import assert from 'node:assert/strict';
import { PENDING_TIMEOUT_MS } from '../../shared/control.ts';
import type { MoveTarget } from '../../shared/trunk/dedicated-socket.ts';
import type { ByteStreamHandler, WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { DataStream, type LargeStream, Move } from './client-streams.ts';
import { ALONE } from './ownership.ts';
import { AwaitedSockets } from './waiting-visitors.ts';

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

describe('a stream that is asked to move to a data socket', () => {
  let clock: FakeClock;
  let awaited: AwaitedSockets;
  /** id of the data socket */
  let id: string;
  let fails: number;

  beforeEach(() => {
    clock = new FakeClock();
    awaited = new AwaitedSockets(clock, ALONE);
    fails = 0;
    const trunk = { offerMove: (asked: string) => (id = asked), moveTo() {}, moveFailed: () => (fails += 1) };
    awaited.move({} as LiveTunnel, { trunk, data: { isOpen: true } } as unknown as LargeStream);
  });

  it('fails to if none opens within 10 s, whose id is no longer valid then', () => {
    clock.advance(PENDING_TIMEOUT_MS - 1);
    assert.ok(awaited.find(id) instanceof Move);
    assert.equal(fails, 0);
    clock.advance(1);
    assert.deepEqual([awaited.find(id), fails], [undefined, 1]);
  });

  it('no longer waits once it is open, and has an id that was valid once', () => {
    const move = awaited.find(id);
    assert.ok(move instanceof Move);
    move.open({} as MoveTarget, undefined, undefined);
    assert.deepEqual([awaited.find(id), clock.pending, fails], [undefined, 0, 0]);
  });
});
