import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { mock } from 'node:test';
import type { WebSocket } from 'ws';
import { PINGS_MAX } from '../../shared/websocket/byte-stream.ts';
import { CONTROL_BUFFER_MAX_BYTES, ControlSocket } from './control-socket.ts';

const KEY = { keyId: 'key', hash: '00' };

class FakeSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  onPongSent: () => void = () => {};
  pongBytes: Buffer | undefined;
  readonly calls: string[] = [];

  ping(): void {
    this.calls.push('ping');
  }

  send(text: string): void {
    this.calls.push(text);
  }

  pong(payload: Buffer, _mask: boolean, onSent: () => void): void {
    this.calls.push(`pong ${payload.toString()}`);
    this.pongBytes = payload;
    this.onPongSent = onSent;
  }

  close(code: number, reason: string): void {
    this.readyState = 2;
    this.calls.push(`close ${code} ${reason}`);
  }

  terminate(): void {
    this.calls.push('terminate');
    this.emit('close');
  }
}

function controlOn(socket: FakeSocket, takesEvents: boolean, onClose: () => void): ControlSocket {
  const options = { connection: new PassThrough(), key: KEY, now: 0, takesEvents };
  return new ControlSocket(socket as unknown as WebSocket, options, onClose);
}

describe('ControlSocket', () => {
  let socket: FakeSocket;
  let control: ControlSocket;
  let closed: number;

  beforeEach(() => {
    socket = new FakeSocket();
    closed = 0;
    control = controlOn(socket, false, () => {
      closed += 1;
    });
  });

  /** Lets seconds pass, ticking each. */
  function tickUntil(from: number, to: number): void {
    for (let second = from; second <= to; second += 1) control.tick(second * 1000);
  }

  it('pings every 30 seconds', () => {
    tickUntil(1, 29);
    assert.deepEqual(socket.calls, []);
    tickUntil(30, 30);
    socket.emit('pong');
    tickUntil(31, 61);
    assert.deepEqual(socket.calls, ['ping', 'ping']);
  });

  it('is cut 60 seconds after a ping without a pong', () => {
    tickUntil(1, 89);
    assert.ok(!socket.calls.includes('terminate'));
    tickUntil(90, 90);
    assert.ok(socket.calls.includes('terminate'));
    assert.equal(closed, 1);
  });

  it('stays open with any pong', () => {
    tickUntil(1, 85);
    socket.emit('pong');
    tickUntil(86, 149);
    assert.ok(!socket.calls.includes('terminate'));
    tickUntil(150, 150);
    assert.ok(socket.calls.includes('terminate'));
  });

  it('pings when it is asked to, unless an answer is due, and counts the time from then', () => {
    tickUntil(1, 10);
    control.probe(10_000);
    control.probe(11_000);
    assert.deepEqual(socket.calls, ['ping']);
    tickUntil(11, 69);
    assert.ok(!socket.calls.includes('terminate'));
    tickUntil(70, 70);
    assert.ok(socket.calls.includes('terminate'));
  });

  it('announces a connection as the protocol specifies', () => {
    control.announce('an-id');
    assert.deepEqual(socket.calls, ['{"type":"connection","id":"an-id"}']);
  });

  it('asks a client that accepts such messages to move to another relay, once', () => {
    control.askToMove();
    assert.deepEqual([socket.calls, control.wasAskedToMove], [[], false]);
    const open = controlOn(socket, true, () => {});
    open.askToMove();
    open.askToMove();
    assert.deepEqual([socket.calls, open.wasAskedToMove], [['{"type":"drain"}'], true]);
  });

  it('announces each approval request once to a client that accepts such messages', () => {
    const [one, two] = ['1', '2'].map((id) => ({ id, address: '192.0.2.1', agent: 'a', at: 'now' }));
    assert.ok(one !== undefined && two !== undefined);
    control.tellKnocks([one]);
    assert.deepEqual(socket.calls, []);
    const open = controlOn(socket, true, () => {});
    open.tellKnocks([one]);
    open.tellKnocks([one, two]);
    open.tellKnocks([two]);
    const messages = [one, two].map((knock) => JSON.stringify({ type: 'knock', ...knock }));
    assert.deepEqual(socket.calls, messages);
  });

  it('reports problems to a client that accepts such messages', () => {
    const problem = { code: 'local-malformed', detail: 'SSH-2.0' } as const;
    control.tellProblem(problem);
    controlOn(socket, true, () => {}).tellProblem(problem);
    assert.deepEqual(socket.calls, [JSON.stringify({ type: 'problem', ...problem })]);
  });

  it('answers pings', () => {
    socket.emit('ping', Buffer.from('hi'));
    assert.deepEqual(socket.calls, ['pong hi']);
  });

  it('has one pong in progress at a time, and answers only the latest ping received in that time', () => {
    for (const ping of ['one', 'two', 'three']) socket.emit('ping', Buffer.from(ping));
    assert.deepEqual(socket.calls, ['pong one']);
    socket.onPongSent();
    assert.deepEqual(socket.calls, ['pong one', 'pong three']);
    socket.onPongSent();
    socket.emit('ping', Buffer.from('four'));
    assert.deepEqual(socket.calls.slice(2), ['pong four']);
  });

  it('does not keep the buffer that a ping arrived in until it is answered', () => {
    socket.emit('ping', Buffer.alloc(65_536, 'culvert').subarray(100, 107));
    assert.equal(socket.pongBytes?.toString(), 'lvertcu');
    assert.equal(socket.pongBytes.buffer.byteLength, 7);
  });

  describe('of a client that pings constantly', () => {
    beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
    afterEach(() => mock.timers.reset());

    it('answers 100 in a second, and again in the next', () => {
      for (let second = 0; second < 3; second += 1) {
        pingFast(socket, PINGS_MAX);
        mock.timers.tick(1000);
      }
      assert.deepEqual(socket.calls, Array(3 * PINGS_MAX).fill('pong hi'));
    });

    it('is closed with 1008, once, at the first ping above the limit', () => {
      pingFast(socket, PINGS_MAX + 10);
      assert.deepEqual(socket.calls.slice(PINGS_MAX), ['close 1008 too many pings', 'terminate']);
    });
  });

  it('is cut 5 s after its Close frame if the client does not answer that', () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      control.close(4001, 'closed');
      mock.timers.tick(4999);
      assert.deepEqual(socket.calls, ['close 4001 closed']);
      mock.timers.tick(1);
      assert.deepEqual(socket.calls, ['close 4001 closed', 'terminate']);
    } finally {
      mock.timers.reset();
    }
  });

  it('is cut if the client pings and reads nothing', () => {
    socket.bufferedAmount = CONTROL_BUFFER_MAX_BYTES + 1;
    socket.emit('ping', Buffer.from('hi'));
    assert.deepEqual(socket.calls, ['terminate']);
  });

  it('is cut if the client reads nothing', () => {
    socket.bufferedAmount = CONTROL_BUFFER_MAX_BYTES + 1;
    control.announce('an-id');
    assert.deepEqual(socket.calls, ['terminate']);
  });
});

/** Sends pings, each as soon as the previous one is answered. */
function pingFast(socket: FakeSocket, times: number): void {
  for (let count = 0; count < times; count += 1) {
    socket.emit('ping', Buffer.from('hi'));
    socket.onPongSent();
  }
}
