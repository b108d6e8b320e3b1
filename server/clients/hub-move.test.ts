import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { CloseCode, PENDING_TIMEOUT_MS } from '../../shared/control.ts';
import type { TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { FAR_PATH_MS } from '../../shared/trunk/trunk.ts';
import { PLAN_RULES } from '../accounts/accounts.ts';
import { FakeClock, HeldTime } from '../testing/fake-clock.ts';
import { anAccount } from '../testing/fixtures.ts';
import { settled, TrunkClient } from '../testing/trunk-client.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import { LARGE_BYTES, LARGE_FROM_FAR_BYTES, OTHERS_BYTES, SLOW_TRUNK_MS } from './client-trunks.ts';
import type { ControlSocket } from './control-socket.ts';
import { Hub } from './hub.ts';
import { ALONE } from './ownership.ts';

const HOP = 'another relay';

const tunnel = {
  id: 'one',
  account: anAccount(),
  countIn() {},
  countOut() {},
} as unknown as LiveTunnel;

/** A visitor's end of a stream. */
interface Visitor {
  readonly stream: ByteStream;
  received: string;
  readonly ends: { readonly clean: boolean; readonly lost: boolean | undefined }[];
  retired: number;
}

describe('Hub, with a stream that has grown large on a trunk', () => {
  let time: HeldTime;
  let clock: FakeClock;
  let hub: Hub;
  let trunk: TrunkClient;
  let visitor: Visitor;
  /** the client's end of the stream, and the bytes received there */
  let stream: TrunkStream;
  let received: string;
  /** id of the data socket that the client was asked to open */
  let id: string;

  beforeEach(async () => {
    tunnel.account = anAccount();
    time = new HeldTime();
    clock = new FakeClock();
    hub = new Hub({ clock, maxTrunks: 2, ownership: ALONE });
    const control = {
      key: { keyId: 'one', hash: '' },
      announce: () => assert.fail(),
      close() {},
      cut() {},
      probe() {},
    };
    void hub.attach(tunnel, control as unknown as ControlSocket);
    trunk = new TrunkClient();
    hub.get(tunnel.id)?.addTrunk(trunk.socket, { keyId: 'one' });
    time.pass(FAR_PATH_MS);
    await settled();
    visitor = await visit();
    visitor.stream.write(Buffer.alloc(LARGE_FROM_FAR_BYTES));
    await settled();
    assert.equal(trunk.moves.length, 0);
    visitor.stream.write(Buffer.from('.'));
    await settled();
    [stream, id] = trunk.moves[0] ?? assert.fail('the client was not asked');
    received = '';
    stream.attach({
      onStreamData: (piece) => (received += piece.toString()),
      onStreamDrain() {},
      onStreamClose() {},
    });
  });

  afterEach(() => time.reset());

  async function visit(): Promise<Visitor> {
    return await new Promise((resolve, reject) => {
      const opened = (byteStream: ByteStream): void => {
        const one: Visitor = { stream: byteStream, received: '', ends: [], retired: 0 };
        byteStream.attach({
          onBytes: (piece) => (one.received += piece.toString()),
          onRoom() {},
          onEnded: (clean, lost) => one.ends.push({ clean, lost }),
          onRetired: () => (one.retired += 1),
        });
        resolve(one);
      };
      hub.dial(tunnel, { opened, failed: (fault) => reject(new Error(fault)) });
    });
  }

  /** The client opens the data socket, possibly through another relay. */
  function openData(keyId?: string, via?: string): void {
    const [near, far] = duplexPair();
    const socket = new WebSocketByteStream(far, 'server', Buffer.alloc(0));
    hub.open(hub.awaited.find(id) ?? assert.fail('nothing waits for it'), socket, keyId, via);
    stream.moveTo(new WebSocketByteStream(near, 'client', Buffer.alloc(0)));
  }

  it('asks the client once to continue on a data socket, and connects it to the visitor', async () => {
    visitor.stream.write(Buffer.from('a'));
    openData();
    visitor.stream.write(Buffer.from('b'));
    stream.write(Buffer.from('1'));
    await settled();
    assert.deepEqual([received, visitor.received], ['ab', '1']);
    trunk.leave();
    await settled();
    visitor.stream.write(Buffer.alloc(LARGE_FROM_FAR_BYTES + 1, 'c'));
    stream.write(Buffer.from('2'));
    await settled();
    assert.deepEqual(
      [received.length, visitor.received, visitor.ends],
      [2 + LARGE_FROM_FAR_BYTES + 1, '12', []],
    );
    assert.equal(trunk.moves.length, 1);
    stream.close(CloseCode.normal);
    await settled();
    assert.deepEqual(visitor.ends, [{ clean: true, lost: false }]);
  });

  it('asks a client nearby only beyond 8 MiB', async () => {
    const near = new TrunkClient();
    hub.get(tunnel.id)?.addTrunk(near.socket, { keyId: 'one' });
    await settled();
    const other = await visit();
    for (let sent = 0; sent < LARGE_BYTES; sent += LARGE_FROM_FAR_BYTES) {
      other.stream.write(Buffer.alloc(LARGE_FROM_FAR_BYTES));
      await settled();
    }
    assert.deepEqual([near.streams.length, near.moves.length], [1, 0]);
    other.stream.write(Buffer.from('.'));
    await settled();
    assert.equal(near.moves.length, 1);
  });

  it('asks earlier while several streams compete for a slow trunk', async () => {
    const visitors = [await visit(), await visit(), await visit()];
    const write = async (bytes: number): Promise<void> => {
      for (const each of visitors) each.stream.write(Buffer.alloc(bytes));
      await settled();
    };
    await write(OTHERS_BYTES);
    time.pass(SLOW_TRUNK_MS - 1);
    await write(1);
    assert.equal(trunk.moves.length, 1);
    time.pass(1);
    await write(1);
    assert.deepEqual(
      trunk.moves.map(([moved]) => moved),
      trunk.streams,
    );
  });

  it('accepts one data socket for it', () => {
    openData();
    assert.deepEqual([hub.awaited.find(id), clock.pending], [undefined, 0]);
  });

  it('accepts the data socket within 10 s, and otherwise keeps the stream on the trunk', async () => {
    clock.advance(PENDING_TIMEOUT_MS - 1);
    assert.ok(hub.awaited.find(id));
    clock.advance(1);
    assert.deepEqual([hub.awaited.find(id), clock.pending], [undefined, 0]);
    visitor.stream.write(Buffer.from('a'));
    await settled();
    assert.deepEqual([received, visitor.ends], ['a', []]);
  });

  it('breaks off a stream whose client continues on a data socket that was never opened', async () => {
    const [near] = duplexPair();
    stream.moveTo(new WebSocketByteStream(near, 'client', Buffer.alloc(0)));
    await settled();
    clock.advance(PENDING_TIMEOUT_MS - 1);
    await settled();
    assert.deepEqual(visitor.ends, []);
    clock.advance(1);
    assert.deepEqual(visitor.ends, [{ clean: false, lost: true }]);
  });

  for (const [how, end] of Object.entries({
    'its visitor has left': () => visitor.stream.abort(),
    'the response was its last': () => visitor.stream.finish(),
    'the client has ended it': () => stream.close(CloseCode.normal),
    'its trunk is lost': () => trunk.leave(),
    'its tunnel has ended': () => hub.end(tunnel, { code: CloseCode.tunnelClosed }),
  })) {
    it(`accepts no data socket once ${how}, and forgets it`, async () => {
      end();
      await settled();
      assert.equal(hub.awaited.find(id), undefined);
      clock.advance(PENDING_TIMEOUT_MS);
      assert.equal(clock.pending, 0);
    });
  }

  it('counts it as one connection of the plan, before and after', async () => {
    const most = PLAN_RULES.free.maxConnections ?? 0;
    tunnel.account = anAccount({ plan: 'free' });
    for (let count = 1; count < most; count += 1) await visit();
    assert.equal(hub.gauges().streams, most);
    openData();
    assert.equal(hub.gauges().streams, most);
    await settled();
    assert.equal(hub.gauges().streams, most);
    const another = visit();
    clock.advance(1);
    await assert.rejects(another, /plan-limit/);
    visitor.stream.finish();
    assert.equal(hub.gauges().streams, most - 1);
    await visit();
  });

  it('lets it serve nothing new when a relay that forwards its data socket shuts down', async () => {
    hub.leavesHop(HOP);
    openData(undefined, HOP);
    await settled();
    assert.equal(visitor.retired, 0);
    hub.leavesHop(HOP);
    assert.equal(visitor.retired, 1);
  });

  it('ends it with its tunnel', async () => {
    openData();
    await settled();
    hub.end(tunnel, { code: CloseCode.tunnelExpired });
    assert.deepEqual(visitor.ends, [{ clean: false, lost: false }]);
  });

  for (const [opened, keyId, kept, cutting] of [
    ['without a key', undefined, 'two', 'one'],
    ['with another key', 'two', 'one', 'two'],
  ] as const) {
    it(`ends one whose data socket was opened ${opened} with key ${cutting}`, async () => {
      openData(keyId);
      await settled();
      hub.revoke(new Map([[kept, 'revoked']]));
      await settled();
      assert.deepEqual(visitor.ends, []);
      assert.ok(hub.keysInUse().has(cutting));
      hub.revoke(new Map([[cutting, 'revoked']]));
      assert.deepEqual(visitor.ends, [{ clean: false, lost: false }]);
    });
  }
});
