import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { CloseCode } from '../../shared/control.ts';
import { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { KeptStreams } from '../edge/kept-streams.ts';
import { anAccount } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import type { ControlSocket } from './control-socket.ts';
import { DRAIN_LOOK_MS, DRAIN_MOVE_MS, Hub } from './hub.ts';
import { ALONE } from './ownership.ts';

class FakeControl {
  readonly key = { keyId: 'key', hash: '' };
  readonly told: (string | number)[] = [];
  readonly #takesEvents: boolean;
  wasAskedToMove = false;

  constructor(takesEvents: boolean) {
    this.#takesEvents = takesEvents;
  }

  announce(id: string): void {
    this.told.push(id);
  }

  askToMove(): void {
    this.wasAskedToMove = this.#takesEvents;
    if (this.#takesEvents) this.told.push('drain');
  }

  close(code: number): void {
    this.told.push(code);
  }

  get socket(): ControlSocket {
    return this as unknown as ControlSocket;
  }
}

function aTunnel(id: string): LiveTunnel {
  return { id, account: anAccount(), countIn() {}, countOut() {} } as unknown as LiveTunnel;
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('Hub, when the relay shuts down', () => {
  const [one, two] = [aTunnel('one'), aTunnel('two')];
  let clock: FakeClock;
  let hub: Hub;

  beforeEach(() => {
    clock = new FakeClock();
    hub = new Hub({ clock, maxTrunks: 2, ownership: ALONE });
  });

  function attach(tunnel: LiveTunnel, takesEvents: boolean): FakeControl {
    const control = new FakeControl(takesEvents);
    void hub.attach(tunnel, control.socket);
    return control;
  }

  /** @returns whether all clients have moved, checked after each tick */
  function waitForMoves(): { readonly over: boolean } {
    const wait = { over: false };
    void hub.moved().then(() => (wait.over = true));
    return wait;
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += DRAIN_LOOK_MS) {
      clock.advance(DRAIN_LOOK_MS);
      await settled();
    }
  }

  it('asks clients that support it to move, and announces connections to all as before', () => {
    const [taker, other] = [attach(one, true), attach(two, false)];
    hub.askToMove();
    assert.deepEqual([taker.told, other.told], [['drain'], []]);
    for (const tunnel of [one, two]) hub.dial(tunnel, { opened() {}, failed: () => assert.fail() });
    assert.deepEqual([taker.told.length, other.told.length], [2, 1]);
  });

  it('waits for the clients it has asked, and closes the sockets of the others with 1001', async () => {
    const [taker, other] = [attach(one, true), attach(two, false)];
    hub.askToMove();
    const wait = waitForMoves();
    assert.deepEqual([taker.told, other.told], [['drain'], [CloseCode.goingAway]]);
    await pass(1000);
    assert.equal(wait.over, false);
    hub.detach(one, taker.socket, CloseCode.normal);
    await pass(DRAIN_LOOK_MS);
    assert.equal(wait.over, true);
  });

  it('closes all sockets with 1001 after 5 s', async () => {
    const taker = attach(one, true);
    hub.askToMove();
    const wait = waitForMoves();
    await pass(DRAIN_MOVE_MS - DRAIN_LOOK_MS);
    assert.equal(wait.over, false);
    await pass(DRAIN_LOOK_MS);
    assert.equal(wait.over, true);
    hub.drain();
    assert.deepEqual(taker.told, ['drain', CloseCode.goingAway]);
  });

  it('accepts a client that returns for waiting visitors, asks it to move immediately, and accepts none twice', () => {
    const lost = attach(one, true);
    hub.detach(one, lost.socket, CloseCode.abnormal);
    hub.askToMove();
    assert.equal(hub.admits(one), true);
    assert.deepEqual(attach(one, true).told, ['drain']);
    assert.equal(hub.admits(one), false);
    hub.drain();
    assert.equal(hub.admits(two), false);
  });
});

/** A stream to a tunnel that was forwarded by a relay, and how its client sees it end. */
function streamVia(via: string | undefined) {
  const hub = new Hub({ clock: new FakeClock(), maxTrunks: 2, ownership: ALONE });
  const control = new FakeControl(false);
  const tunnel = aTunnel('one');
  void hub.attach(tunnel, control.socket);
  const opened: ByteStream[] = [];
  hub.dial(tunnel, { opened: (stream) => opened.push(stream), failed: () => assert.fail() });
  const pending = hub.awaited.find(String(control.told[0])) ?? assert.fail();
  const [near, far] = duplexPair();
  const closed: number[] = [];
  new WebSocketByteStream(near, 'client', Buffer.alloc(0)).attach({
    onStreamData() {},
    onStreamDrain() {},
    onStreamClose: (code) => closed.push(code),
  });
  hub.open(pending, new WebSocketByteStream(far, 'server', Buffer.alloc(0)), undefined, via);
  return { hub, stream: opened[0] ?? assert.fail(), closed };
}

describe('Hub, when another relay shuts down', () => {
  it('ends idle streams that may pass through it, and no direct ones', async () => {
    for (const [via, codes] of [
      ['leaving', [CloseCode.normal]],
      // Another relay may have opened it through the one that leaves.
      ['another', [CloseCode.normal]],
      [undefined, []],
    ] as const) {
      const { hub, stream, closed } = streamVia(via);
      const kept = new KeptStreams(1, () => 0);
      kept.keep(stream, { target: hub, host: '', isChallenged: false });
      hub.leavesHop('leaving');
      hub.leavesHop('leaving');
      await settled();
      assert.deepEqual(closed, codes, via);
      assert.equal(
        kept.take({ target: hub, host: '', fresh: false, repeatable: true }),
        via === undefined ? stream : undefined,
      );
    }
  });

  it('lets the current use of a stream complete, and does not keep the stream', async () => {
    const { hub, stream, closed } = streamVia('leaving');
    stream.attach({ onBytes() {}, onRoom() {}, onEnded: () => assert.fail() });
    hub.leavesHop('leaving');
    await settled();
    assert.deepEqual(closed, []);
    const kept = new KeptStreams(1, () => 0);
    kept.keep(stream, { target: hub, host: '', isChallenged: false });
    await settled();
    assert.deepEqual(
      [closed, kept.take({ target: hub, host: '', fresh: false, repeatable: true })],
      [[CloseCode.normal], undefined],
    );
  });
});
