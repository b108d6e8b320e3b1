import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import type { ByteStreamHandler, WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { CONTROL_BUFFER_MAX_BYTES, ControlSocket } from './control-socket.ts';

const KEY = { keyId: 'key', hash: '00' };

class FakeSocket implements Pick<
  WebSocketByteStream,
  'attach' | 'writeText' | 'queuedBytes' | 'probe' | 'close' | 'destroy'
> {
  queuedBytes = 0;
  readonly calls: string[] = [];
  handler: ByteStreamHandler | undefined;

  attach(handler: ByteStreamHandler): void {
    this.handler = handler;
  }

  probe(): void {
    this.calls.push('ping');
  }

  writeText(text: string): void {
    this.calls.push(text);
  }

  close(code: number, reason: string): void {
    this.calls.push(`close ${code} ${reason}`);
  }

  destroy(): void {
    this.calls.push('destroy');
    this.handler?.onConnectionClosed?.(1006);
  }
}

function controlOn(socket: FakeSocket, takesEvents: boolean, onClose: (code: number) => void): ControlSocket {
  const options = { connection: new PassThrough(), key: KEY, now: 0, takesEvents };
  return new ControlSocket(socket as unknown as WebSocketByteStream, options, (_control, code) =>
    onClose(code),
  );
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
    socket.handler?.onStreamPong?.();
    tickUntil(31, 61);
    assert.deepEqual(socket.calls, ['ping', 'ping']);
  });

  it('is cut 60 seconds after a ping without a pong', () => {
    tickUntil(1, 89);
    assert.ok(!socket.calls.includes('destroy'));
    tickUntil(90, 90);
    assert.ok(socket.calls.includes('destroy'));
    assert.equal(closed, 1);
  });

  it('stays open with any pong', () => {
    tickUntil(1, 85);
    socket.handler?.onStreamPong?.();
    tickUntil(86, 149);
    assert.ok(!socket.calls.includes('destroy'));
    tickUntil(150, 150);
    assert.ok(socket.calls.includes('destroy'));
  });

  it('pings when it is asked to, unless an answer is due, and counts the time from then', () => {
    tickUntil(1, 10);
    control.probe(10_000);
    control.probe(11_000);
    assert.deepEqual(socket.calls, ['ping']);
    tickUntil(11, 69);
    assert.ok(!socket.calls.includes('destroy'));
    tickUntil(70, 70);
    assert.ok(socket.calls.includes('destroy'));
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

  it('reports the code with which the connection was closed', () => {
    const codes: number[] = [];
    controlOn(socket, false, (code) => codes.push(code));
    socket.handler?.onConnectionClosed?.(4001);
    assert.deepEqual(codes, [4001]);
  });

  it('is cut if the client reads nothing', () => {
    socket.queuedBytes = CONTROL_BUFFER_MAX_BYTES + 1;
    control.announce('an-id');
    assert.deepEqual(socket.calls, ['destroy']);
  });
});
