import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { CloseCode, PENDING_TIMEOUT_MS } from '../../shared/control.ts';
import { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { FAR_PATH_MS } from '../../shared/trunk/trunk.ts';
import { moves, traffic } from '../observe/counters.ts';
import { FakeClock, HeldTime } from '../testing/fake-clock.ts';
import { anAccount } from '../testing/fixtures.ts';
import { settled, TrunkClient } from '../testing/trunk-client.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import { LARGE_FROM_FAR_BYTES } from './client-trunks.ts';
import type { ControlSocket } from './control-socket.ts';
import { Hub } from './hub.ts';
import { ALONE } from './ownership.ts';

const tunnel = {
  id: 'one',
  account: anAccount(),
  countIn() {},
  countOut() {},
} as unknown as LiveTunnel;

/** Monotonic counters: data sockets, visitors served through trunks, moves. */
function counted(): Record<string, number> {
  const { dataSockets, trunkStreams } = traffic;
  return { dataSockets, trunkStreams, ...moves };
}

/** The relay's end of a data socket. */
function dataSocket(): WebSocketByteStream {
  const [near, far] = duplexPair();
  new WebSocketByteStream(near, 'client', Buffer.alloc(0)).attach({
    onStreamData() {},
    onStreamDrain() {},
    onStreamClose() {},
  });
  return new WebSocketByteStream(far, 'server', Buffer.alloc(0));
}

/** @returns the id of the data socket that the client is asked to open */
async function grow(stream: ByteStream, trunk: TrunkClient): Promise<string> {
  stream.write(Buffer.alloc(LARGE_FROM_FAR_BYTES));
  await settled();
  stream.write(Buffer.from('.'));
  await settled();
  return trunk.moves[0]?.[1] ?? assert.fail('the client was not asked');
}

describe('Hub, in its metrics', () => {
  let time: HeldTime;
  let clock: FakeClock;
  let hub: Hub;
  let announced: string[];
  let before: Record<string, number>;

  beforeEach(() => {
    time = new HeldTime();
    clock = new FakeClock();
    hub = new Hub({ clock, maxTrunks: 2, ownership: ALONE });
    announced = [];
    attach();
    before = counted();
  });

  afterEach(() => time.reset());

  function attach(): void {
    const control = {
      key: { keyId: 'key', hash: '' },
      announce: (id: string) => announced.push(id),
      close() {},
      cut() {},
      probe() {},
    };
    void hub.attach(tunnel, control as unknown as ControlSocket);
  }

  /** A trunk of a client that is far away. */
  async function offerTrunk(): Promise<TrunkClient> {
    const trunk = new TrunkClient();
    hub.get(tunnel.id)?.addTrunk(trunk.socket, { keyId: 'key' });
    time.pass(FAR_PATH_MS);
    await settled();
    return trunk;
  }

  /** A visitor who has sent a request, once there is a stream to the client. */
  async function visit(): Promise<ByteStream> {
    const stream = await new Promise<ByteStream>((opened, failed) => {
      hub.dial(tunnel, { opened, failed: (fault) => failed(new Error(fault)) });
    });
    stream.attach({ onBytes() {}, onRoom() {}, onEnded() {} });
    stream.write(Buffer.from('GET'));
    await settled();
    return stream;
  }

  function assertGrown(expected: Readonly<Record<string, number>>): void {
    const grown = Object.entries(counted()).map(([name, count]) => [name, count - (before[name] ?? 0)]);
    assert.deepEqual(Object.fromEntries(grown.filter(([, count]) => count !== 0)), expected);
  }

  it('counts data sockets', async () => {
    for (let count = 0; count < 2; count += 1) {
      const visiting = visit();
      hub.open(hub.awaited.find(announced[count] ?? '') ?? assert.fail(), dataSocket());
      await visiting;
    }
    assertGrown({ dataSockets: 2 });
  });

  it('counts visitors served through trunks, and shows the streams on trunks', async () => {
    await offerTrunk();
    const streams = [await visit(), await visit()];
    assertGrown({ trunkStreams: 2 });
    assert.deepEqual([hub.gauges().trunks, hub.gauges().trunkStreams, hub.gauges().streams], [1, 2, 2]);
    streams[0]?.abort();
    await settled();
    assert.equal(hub.gauges().trunkStreams, 1);
    attach();
    assert.deepEqual([hub.gauges().trunks, hub.gauges().trunkStreams], [0, 1]);
  });

  it('counts a stream that moves, and its data socket', async () => {
    const trunk = await offerTrunk();
    const id = await grow(await visit(), trunk);
    hub.open(hub.awaited.find(id) ?? assert.fail(), dataSocket());
    clock.advance(PENDING_TIMEOUT_MS);
    assertGrown({ trunkStreams: 1, dataSockets: 1, moved: 1 });
  });

  it('counts a stream whose data socket is late, but not one that has ended by then', async () => {
    const trunk = await offerTrunk();
    await grow(await visit(), trunk);
    clock.advance(PENDING_TIMEOUT_MS);
    assertGrown({ trunkStreams: 1, timeout: 1 });
    const other = await visit();
    trunk.moves.length = 0;
    await grow(other, trunk);
    other.finish();
    clock.advance(PENDING_TIMEOUT_MS);
    assertGrown({ trunkStreams: 2, timeout: 1 });
  });

  it('does not show a stream of a trunk that has moved to a data socket', async () => {
    const trunk = await offerTrunk();
    const id = await grow(await visit(), trunk);
    const [near, far] = duplexPair();
    hub.open(hub.awaited.find(id) ?? assert.fail(), new WebSocketByteStream(far, 'server', Buffer.alloc(0)));
    trunk.moves[0]?.[0].moveTo(new WebSocketByteStream(near, 'client', Buffer.alloc(0)));
    await settled();
    assert.deepEqual([hub.gauges().trunkStreams, hub.gauges().streams], [0, 1]);
    hub.end(tunnel, { code: CloseCode.tunnelClosed });
    assert.deepEqual([hub.gauges().trunkStreams, hub.gauges().streams], [0, 0]);
  });
});
