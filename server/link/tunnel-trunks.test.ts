import assert from 'node:assert/strict';
import { CloseCode } from '../../shared/control.ts';
import {
  RETIRED_TRUNKS_MAX,
  FAR_PATH_MS,
  LARGE_BYTES,
  LARGE_FROM_FAR_BYTES,
  TRUNK_DOUBT_MS,
  TRUNK_IDLE_MS,
} from '../limits.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { HeldTime } from '../testing/held-time.ts';
import { settled, TrunkClient } from '../testing/trunk-client.ts';
import { type KeyedStream, TunnelTrunks } from './tunnel-trunks.ts';

describe('TunnelTrunks', () => {
  let clock: FakeClock;
  let trunks: TunnelTrunks;

  beforeEach(() => {
    clock = new FakeClock();
    trunks = new TunnelTrunks();
  });

  function add(keyId: string, client = new TrunkClient()): TrunkClient {
    trunks.add(client.socket, keyId);
    return client;
  }

  /** A visitor who has asked for something, through the trunk that was opened with `keyId`. */
  function visit(): KeyedStream {
    const opened = trunks.open() ?? assert.fail('no trunk takes visitors');
    opened.stream.attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose() {} });
    opened.stream.write(Buffer.from('GET'));
    return opened;
  }

  it('have none to give where there is none', () => {
    assert.deepEqual([trunks.open(), trunks.size], [undefined, 0]);
  });

  it('give each visitor the trunk that has the fewest, which ends count for, too', async () => {
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

  it('say with each visitor’s stream when it is large, which one that the client answers fast says for all', async () => {
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
      visitors.map(({ keyId, largeBytes }) => [keyId, largeBytes]),
      [
        ['slow', LARGE_FROM_FAR_BYTES],
        ['fast', LARGE_BYTES],
        ['slow', LARGE_BYTES],
      ],
    );
  });

  it('give none on which the client owes a sign of life, though it has the fewest', async () => {
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

  it('forget those that end, whoever ends them', async () => {
    const first = add('one');
    add('two');
    first.leave();
    await settled();
    assert.equal(trunks.size, 1);
    assert.equal(visit().keyId, 'two');
    trunks.close(CloseCode.tunnelClosed);
    assert.deepEqual([trunks.size, trunks.open(), [...trunks.keysInUse()]], [0, undefined, []]);
  });

  it('close those that nobody uses', async () => {
    const [used, unused] = [add('one'), add('two')];
    visit();
    for (let passed = 0; passed <= TRUNK_IDLE_MS; passed += 1000) {
      trunks.tick(clock.monotonic());
      clock.advance(1000);
      await settled();
    }
    assert.deepEqual([used.closed, unused.closed, trunks.size], [[], [CloseCode.normal], 1]);
  });

  it('serve whom they serve when their control socket has ended, and nobody else', async () => {
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

  it('are eight at most that serve on after their control sockets, and the oldest ends for the next', async () => {
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

  it('end with their keys, those that are retired, too', async () => {
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

  it('end all at once with their tunnel, those that are retired, too', async () => {
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
