import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { CloseCode } from '../../shared/control.ts';
import { timersSetBy } from '../../shared/testing/fake-turns.ts';
import type { TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import { FAR_PATH_MS } from '../../shared/trunk/trunk.ts';
import { FakeClock, HeldTime } from '../testing/fake-clock.ts';
import { settled, TrunkClient } from '../testing/trunk-client.ts';
import { LIFE_SIGN_MS } from './client-streams.ts';
import {
  EARLIER_TRUNK_ANSWER_MS,
  HeldTrunk,
  type KeyedStream,
  LARGE_AMONG_OTHERS_BYTES,
  LARGE_BYTES,
  LARGE_FROM_FAR_BYTES,
  RETIRED_TRUNKS_MAX,
  TRUNK_FLUSH_MS,
  TRUNK_IDLE_MS,
  TunnelTrunks,
} from './client-trunks.ts';
import { TRUNK_ANSWER_MS, TRUNK_DOUBT_MS } from './trunk-life.ts';

/** A trunk with a visitor. @returns the client's end, and how the visitor's stream ended */
async function visited(trunks: TunnelTrunks, client: TrunkClient) {
  trunks.add(client.socket, 'key');
  const opened = trunks.open() ?? assert.fail('no trunk takes visitors');
  const ends: number[] = [];
  opened.stream.attach({
    onStreamData() {},
    onStreamDrain() {},
    onStreamClose: (code) => ends.push(code),
  });
  opened.stream.write(Buffer.from('GET'));
  await settled();
  return { client, ends };
}

describe('TunnelTrunks', () => {
  let clock: FakeClock;
  let trunks: TunnelTrunks;
  let losses: number;

  beforeEach(() => {
    clock = new FakeClock();
    losses = 0;
    trunks = new TunnelTrunks({ clock, lost: () => (losses += 1) });
  });

  function add(keyId: string, client = new TrunkClient()): TrunkClient {
    trunks.add(client.socket, keyId);
    return client;
  }

  /** A visitor who has sent a request, through the trunk that was opened with `keyId`. */
  function visit(): KeyedStream {
    const opened = trunks.open() ?? assert.fail('no trunk takes visitors');
    opened.stream.attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose() {} });
    opened.stream.write(Buffer.from('GET'));
    return opened;
  }

  /** Lets ms pass, with a tick every second and time for everything in progress. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      clock.advance(1000);
      trunks.tick(clock.monotonic());
      await settled();
    }
  }

  it('open no stream without a trunk', () => {
    assert.deepEqual([trunks.open(), trunks.size], [undefined, 0]);
  });

  it('assign each visitor to the trunk with the fewest streams, not counting ended ones', async () => {
    add('one');
    add('two');
    const visitors = [visit(), visit(), visit(), visit()];
    assert.deepEqual(
      visitors.map(({ keyId }) => keyId),
      ['one', 'two', 'one', 'two'],
    );
    await settled();
    visitors[1]?.stream.close(CloseCode.normal);
    visitors[3]?.stream.close(CloseCode.normal);
    await settled();
    assert.deepEqual([visit().keyId, visit().keyId, visit().keyId], ['two', 'two', 'one']);
  });

  it('report when a visitor’s stream is large; one trunk that is answered fast counts for all', async () => {
    const time = new HeldTime();
    add('slow');
    time.pass(FAR_PATH_MS);
    await settled();
    const early = visit();
    add('fast');
    await settled();
    time.reset();
    const visitors = [early, visit(), visit()];
    assert.deepEqual(
      visitors.map(({ keyId, largeFrom }) => [keyId, largeFrom.bytes, largeFrom.crowded?.bytes]),
      [
        ['slow', LARGE_FROM_FAR_BYTES, LARGE_AMONG_OTHERS_BYTES],
        ['fast', LARGE_BYTES, undefined],
        ['slow', LARGE_BYTES, undefined],
      ],
    );
  });

  it('assign no visitors to a trunk that owes a sign of life, even if it has the fewest streams', async () => {
    add('silent', new TrunkClient({ isThere: false }));
    visit();
    add('one');
    visit();
    visit();
    await settled();
    for (let second = 0; second * 1000 <= TRUNK_DOUBT_MS; second += 1) {
      trunks.tick(clock.monotonic());
      clock.advance(1000);
      await settled();
    }
    assert.deepEqual([visit().keyId, visit().keyId, trunks.size], ['one', 'one', 2]);
  });

  it('forget trunks that end from either side', async () => {
    const first = add('one');
    add('two');
    first.leave();
    await settled();
    assert.equal(trunks.size, 1);
    assert.equal(visit().keyId, 'two');
    trunks.close(CloseCode.tunnelClosed);
    assert.deepEqual([trunks.size, trunks.open(), [...trunks.keysInUse()]], [0, undefined, []]);
  });

  describe('while unused', () => {
    let clients: TrunkClient[];

    beforeEach(() => {
      clients = [add('one'), add('two')];
    });

    /** Close codes of all trunks. */
    const closed = (): number[] => clients.flatMap((client) => client.closed);

    it('close after 60 s, with 1000, and not before', async () => {
      await pass(TRUNK_IDLE_MS);
      assert.deepEqual([closed(), trunks.size], [[], 2]);
      await pass(1000);
      assert.deepEqual([closed(), trunks.size], [[CloseCode.normal, CloseCode.normal], 0]);
    });

    it('stay open, all of them, until 60 s after the last visitor', async () => {
      await pass(TRUNK_IDLE_MS);
      const { stream } = visit();
      await pass(2 * TRUNK_IDLE_MS);
      stream.close(CloseCode.normal);
      await settled();
      assert.equal(trunks.streams, 0);
      await pass(TRUNK_IDLE_MS);
      assert.deepEqual(closed(), []);
      await pass(1000);
      assert.deepEqual(closed(), [CloseCode.normal, CloseCode.normal]);
    });

    it('count a visitor between two ticks', async () => {
      await pass(TRUNK_IDLE_MS);
      visit().stream.close(CloseCode.normal);
      await settled();
      await pass(TRUNK_IDLE_MS);
      assert.deepEqual(closed(), []);
    });

    it('wait for 60 s after another one was opened', async () => {
      await pass(TRUNK_IDLE_MS);
      clients.push(add('three'));
      await pass(TRUNK_IDLE_MS);
      assert.deepEqual(closed(), []);
    });
  });

  it('serve only their current visitors once their control socket has ended', async () => {
    const [used, unused] = [add('one'), add('two')];
    const { stream } = visit();
    await settled();
    trunks.retire();
    await settled();
    assert.deepEqual([trunks.size, trunks.open()], [0, undefined]);
    assert.deepEqual([used.closed, unused.closed], [[], [CloseCode.normal]]);
    assert.deepEqual([...trunks.keysInUse()], ['one']);
    const next = add('three');
    assert.deepEqual([visit().keyId, trunks.size], ['three', 1]);
    stream.close(CloseCode.normal);
    await settled();
    assert.deepEqual([used.closed, next.closed], [[CloseCode.normal], []]);
    assert.deepEqual([...trunks.keysInUse()], ['three']);
  });

  it('keep at most eight trunks of earlier control sockets, and close the oldest first', async () => {
    const retired: TrunkClient[] = [];
    for (let count = 0; count <= RETIRED_TRUNKS_MAX; count += 1) {
      assert.ok(retired.every(({ closed }) => closed.length === 0));
      retired.push(add('key'));
      visit();
      await settled();
      trunks.retire();
      await settled();
    }
    const [oldest, ...others] = retired.map(({ closed }) => closed);
    assert.deepEqual(oldest, [CloseCode.goingAway]);
    assert.ok(others.every((closed) => closed.length === 0));
  });

  it('ask all trunks for a sign of life when one owes one, so that no request is sent again on a dead one', async () => {
    add('silent', new TrunkClient({ isThere: false }));
    visit();
    const other = new TrunkClient({ isThere: false });
    add('also silent', other);
    await settled();
    for (let second = 0; second * 1000 <= TRUNK_DOUBT_MS; second += 1) {
      trunks.tick(clock.monotonic());
      clock.advance(1000);
      await settled();
    }
    assert.equal(trunks.open(), undefined);
    other.wake();
    await settled();
    assert.equal(visit().keyId, 'also silent');
  });

  it('report each that breaks or is given up, and none that closes', async () => {
    const [first, second] = [add('one'), add('two')];
    second.leave();
    await settled();
    assert.equal(losses, 1);
    trunks.retire();
    await settled();
    assert.deepEqual([first.closed, losses], [[CloseCode.normal], 1]);
  });

  describe('of a client that has opened another control socket', () => {
    it('are given up after 1 s without an answer, and keep their visitors with one', async () => {
      const dead = await visited(trunks, new TrunkClient({ isThere: false }));
      const alive = await visited(trunks, new TrunkClient());
      trunks.question();
      assert.equal(trunks.size, 0);
      await settled();
      clock.advance(EARLIER_TRUNK_ANSWER_MS - 1);
      assert.deepEqual([dead.ends, losses], [[], 0]);
      clock.advance(1);
      assert.deepEqual([dead.ends, alive.ends, losses], [[CloseCode.abnormal], [], 1]);
      clock.advance(60_000);
      assert.deepEqual([alive.ends, clock.pending], [[], 0]);
    });

    it('have 1 s each, however often the client opens control sockets', async () => {
      const dead = await visited(trunks, new TrunkClient({ isThere: false }));
      trunks.question();
      clock.advance(EARLIER_TRUNK_ANSWER_MS / 2);
      const late = await visited(trunks, new TrunkClient({ isThere: false }));
      trunks.question();
      clock.advance(EARLIER_TRUNK_ANSWER_MS / 2);
      assert.deepEqual([dead.ends, late.ends], [[CloseCode.abnormal], []]);
      late.client.wake();
      await settled();
      clock.advance(EARLIER_TRUNK_ANSWER_MS);
      assert.deepEqual(late.ends, []);
    });

    it('leave no timer behind when they close', async () => {
      const { client } = await visited(trunks, new TrunkClient({ isThere: false }));
      trunks.question();
      assert.equal(clock.pending, 1);
      client.leave();
      await settled();
      assert.equal(clock.pending, 0);
    });
  });

  it('end with their keys, including retired ones', async () => {
    const [retired, other] = [add('one'), add('two')];
    visit();
    visit();
    await settled();
    trunks.retire();
    const fresh = add('one');
    trunks.revoke(new Map([['one', 'revoked']]));
    await settled();
    assert.deepEqual(
      [retired.closed, other.closed, fresh.closed],
      [[CloseCode.keyRevoked], [], [CloseCode.keyRevoked]],
    );
  });

  it('end immediately with their tunnel, including retired ones', async () => {
    const retired = add('one');
    visit();
    await settled();
    trunks.retire();
    const fresh = add('two');
    trunks.close(CloseCode.tunnelExpired);
    await settled();
    assert.deepEqual([retired.closed, fresh.closed], [[CloseCode.tunnelExpired], [CloseCode.tunnelExpired]]);
  });
});

describe('HeldTrunk', () => {
  let clock: FakeClock;
  let ended: HeldTrunk[];
  let trunk: HeldTrunk;

  beforeEach(() => {
    clock = new FakeClock();
    ended = [];
  });

  function hold(client: TrunkClient): void {
    trunk = new HeldTrunk({
      socket: client.socket,
      keyId: 'key',
      via: undefined,
      ended: (which) => ended.push(which),
    });
  }

  /** A visitor who has sent a request, and how the visitor's stream ended. */
  function visit(): { stream: TrunkStream; ends: number[] } {
    const stream = trunk.open();
    const ends: number[] = [];
    stream.attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose: (code) => ends.push(code) });
    stream.write(Buffer.from('GET'));
    return { stream, ends };
  }

  /** Lets ms pass, with a tick every second and time for everything in progress. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      clock.advance(Math.min(1000, left));
      trunk.tick(clock.monotonic());
      await settled();
    }
  }

  it('keeps the data before the end of a stream for 60 s for a client that accepts none of it', async () => {
    const client = new TrunkClient({ isThere: false });
    client.listen();
    hold(client);
    const { stream } = visit();
    stream.write(Buffer.alloc(2 * 64 * 1024));
    await settled();
    const timers = timersSetBy(() => stream.close(CloseCode.normal));
    await settled();
    assert.equal(stream.hasSentEnd, false);
    assert.deepEqual(
      timers.map(({ ms }) => ms),
      [TRUNK_FLUSH_MS],
    );
    timers[0]?.callback();
    await settled();
    assert.equal(stream.hasSentEnd, true);
  });

  it('gives a client a stream together with its first bytes', async () => {
    const client = new TrunkClient();
    hold(client);
    visit();
    assert.equal(trunk.size, 1);
    await settled();
    assert.deepEqual(client.received, ['GET']);
  });

  describe('of a client that is silent', () => {
    it('accepts visitors for 2 s, and ends 8 s later, with its streams', async () => {
      const client = new TrunkClient({ isThere: false });
      hold(client);
      const { ends } = visit();
      await settled();
      await pass(1000);
      await pass(TRUNK_DOUBT_MS - 1000);
      assert.ok(trunk.takesVisitors);
      await pass(1000);
      assert.ok(!trunk.takesVisitors);
      await pass(LIFE_SIGN_MS - 1000);
      assert.deepEqual([ends, ended], [[], []]);
      await pass(1000);
      assert.deepEqual([ends, ended], [[CloseCode.abnormal], [trunk]]);
      assert.equal(trunk.size, 0);
    });

    it('is not in doubt while nothing has to be answered', async () => {
      hold(new TrunkClient({ isThere: false }));
      await pass(TRUNK_IDLE_MS);
      assert.ok(trunk.takesVisitors);
    });

    it('accepts visitors again as soon as the client has answered', async () => {
      const client = new TrunkClient({ isThere: false });
      hold(client);
      const { ends } = visit();
      await settled();
      await pass(TRUNK_DOUBT_MS + 1000);
      assert.ok(!trunk.takesVisitors);
      client.wake();
      await settled();
      assert.ok(trunk.takesVisitors);
      await pass(2 * LIFE_SIGN_MS);
      assert.deepEqual([ends, ended], [[], []]);
    });
  });

  it('accepts visitors all the time while a response is awaited', async () => {
    const client = new TrunkClient();
    hold(client);
    const { ends } = visit();
    for (let second = 0; second < 120; second += 1) {
      await pass(1000);
      assert.ok(trunk.takesVisitors, `after ${second} s`);
    }
    assert.deepEqual([ends, ended], [[], []]);
  });

  it('treats any data of the client as a sign of life, though it never answers all pings', async () => {
    const client = new TrunkClient();
    hold(client);
    const { ends } = visit();
    await settled();
    for (let second = 0; second < 30; second += 1) {
      client.streams[0]?.write(Buffer.from('event'));
      await settled();
      visit();
      await pass(1000);
      assert.ok(trunk.takesVisitors);
    }
    assert.deepEqual(ends, []);
  });

  describe('of a client that answers pings, but not the ends of streams', () => {
    let client: TrunkClient;

    beforeEach(async () => {
      client = new TrunkClient({ isThere: false });
      client.listen();
      hold(client);
      const { stream } = visit();
      await settled();
      stream.close(CloseCode.normal);
      await settled();
      assert.equal(trunk.size, 1);
    });

    it('ends with a protocol error after some time, though other data still arrives', async () => {
      const { ends } = visit();
      await pass(TRUNK_ANSWER_MS);
      assert.deepEqual([trunk.takesVisitors, ended], [true, []]);
      await pass(TRUNK_ANSWER_MS + 1000);
      await settled();
      assert.deepEqual([client.closed, ends], [[CloseCode.protocolError], [CloseCode.abnormal]]);
      assert.deepEqual([ended, trunk.size], [[trunk], 0]);
    });

    it('closes immediately when it is retired', async () => {
      trunk.retire();
      await settled();
      assert.deepEqual([client.closed, ended], [[CloseCode.normal], [trunk]]);
    });
  });

  it('accepts no visitors once retired, and closes after its last one', async () => {
    const client = new TrunkClient();
    hold(client);
    const { stream } = visit();
    await settled();
    trunk.retire();
    assert.ok(!trunk.takesVisitors);
    await settled();
    assert.deepEqual([client.closed, ended], [[], []]);
    stream.close(CloseCode.normal);
    await settled();
    assert.deepEqual([client.closed, ended], [[CloseCode.normal], [trunk]]);
  });

  it('breaks its streams off when it is closed, and reports the reason to the client', async () => {
    const client = new TrunkClient();
    hold(client);
    const { ends } = visit();
    await settled();
    trunk.close(CloseCode.tunnelClosed);
    await settled();
    assert.deepEqual([ends, client.closed, ended], [[CloseCode.abnormal], [CloseCode.tunnelClosed], [trunk]]);
  });

  describe('classifies the client as', () => {
    let time: HeldTime;

    beforeEach(() => {
      time = new HeldTime();
    });

    afterEach(() => {
      time.reset();
    });

    for (const [what, ms, isNear] of [
      ['nearby where a ping takes less than 5 ms', FAR_PATH_MS - 0.1, true],
      ['far where it takes 5 ms', FAR_PATH_MS, false],
    ] as const) {
      it(what, async () => {
        hold(new TrunkClient());
        time.pass(ms);
        await settled();
        assert.equal(trunk.isNear, isNear);
      });
    }

    it('far as long as no ping was answered', async () => {
      const client = new TrunkClient({ isThere: false });
      hold(client);
      await settled();
      assert.equal(trunk.isNear, false);
      client.wake();
      await settled();
      assert.equal(trunk.isNear, true);
    });

    it('far only after ten pings, a second apart: a client that is busy or starting takes longer to answer', async () => {
      const client = new TrunkClient();
      let asked = 0;
      mock.method(client.socket, 'measureRoundTrip', () => (asked += 1));
      hold(client);
      assert.equal(asked, 1);
      await pass(3000);
      assert.equal(asked, 4);
      await pass(20_000);
      assert.equal(asked, 10);
    });

    it('nearby after one fast answer, and then stops measuring', async () => {
      const client = new TrunkClient();
      hold(client);
      await settled();
      assert.equal(trunk.isNear, true);
      const asked = mock.method(client.socket, 'measureRoundTrip');
      await pass(3000);
      assert.equal(asked.mock.callCount(), 0);
    });
  });

  it('ends when the client opens a stream on it', async () => {
    const client = new TrunkClient();
    hold(client);
    const { ends } = visit();
    await settled();
    // OPEN of stream 2, in its own frame.
    client.write(Buffer.from([0, 0, 0, 0, 2, 0, 0, 0, 0]));
    await settled();
    assert.deepEqual([ends, client.closed], [[CloseCode.abnormal], [CloseCode.protocolError]]);
  });
});
