import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { WARM_INITIAL, WARM_KEEP_MS, WARM_MAX } from '../limits.ts';
import { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import type { DataSocket } from './data-socket.ts';
import { WarmSockets } from './warm-sockets.ts';

function setUp() {
  const clock = new FakeClock();
  const offered: FakeStream[] = [];
  const served: [DataSocket, string][] = [];
  const world: { refusal: RelayRefusal | RelayUnreachable | undefined; cancelled: number } = {
    refusal: undefined,
    cancelled: 0,
  };
  const warm = new WarmSockets({
    clock,
    open(handler) {
      setImmediate(() => {
        if (world.refusal !== undefined) return handler.failed(world.refusal);
        const stream = new FakeStream();
        offered.push(stream);
        handler.opened(stream);
      });
      return { cancel: () => (world.cancelled += 1) };
    },
    serve: (stream, first) => served.push([stream, first.toString()]),
  });
  return { clock, offered, served, world, warm };
}

/** Lets what was asked for before have its effect. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('WarmSockets', () => {
  it('offers some as soon as the tunnel is online, and a new one for each that is used', async () => {
    const { warm, offered, served } = setUp();
    assert.equal(offered.length, 0);
    warm.start();
    await settled();
    assert.equal(offered.length, WARM_INITIAL);
    offered[0]?.receive('GET / HTTP/1.1\r\n\r\n');
    await settled();
    assert.deepEqual([served.length, warm.size, offered.length], [1, WARM_INITIAL, WARM_INITIAL + 1]);
  });

  it('hands on a visitor with the bytes it came with', async () => {
    const { warm, offered, served } = setUp();
    warm.start();
    await settled();
    offered[0]?.receive('GET');
    assert.deepEqual(served, [[offered[0], 'GET']]);
  });

  it('offers one more for each visitor that found none, up to the limit', async () => {
    const { warm, offered } = setUp();
    warm.start();
    for (let visitor = 0; visitor < 20; visitor += 1) warm.missed();
    await settled();
    assert.deepEqual([warm.size, offered.length], [WARM_MAX, WARM_MAX]);
  });

  it('offers fewer when they go unused, and none after a long quiet', async () => {
    const { clock, warm, offered } = setUp();
    warm.start();
    await settled();
    for (const expected of [1, 1, 1]) {
      offered.at(-1)?.closeByRelay(1000);
      offered.at(-2)?.closeByRelay(1000);
      await settled();
      assert.equal(warm.size, expected);
    }
    clock.advance(WARM_KEEP_MS + 1);
    offered.at(-1)?.closeByRelay(1000);
    await settled();
    assert.equal(warm.size, 0);
    warm.missed();
    await settled();
    assert.equal(warm.size, 1);
  });

  it('takes a no for the time it lasts', async () => {
    const { warm, offered, world } = setUp();
    world.refusal = new RelayRefusal(400, 'id is required');
    warm.start();
    await settled();
    world.refusal = undefined;
    warm.missed();
    await settled();
    assert.deepEqual([warm.size, offered.length], [0, 0]);
    warm.stop();
    warm.start();
    await settled();
    assert.equal(warm.size, WARM_INITIAL);
  });

  it('tries again with the next visitor when there was no room or no way', async () => {
    for (const refusal of [
      new RelayRefusal(429, 'too many warm data sockets'),
      new RelayRefusal(503, 'service unavailable'),
      new RelayUnreachable('gone'),
    ]) {
      const { warm, world } = setUp();
      world.refusal = refusal;
      warm.start();
      await settled();
      assert.equal(warm.size, 0);
      world.refusal = undefined;
      warm.missed();
      await settled();
      assert.equal(warm.size, 1);
    }
  });

  it('cuts what is unused when the tunnel is not online', async () => {
    const { warm, offered, world } = setUp();
    warm.start();
    await settled();
    warm.missed();
    warm.stop();
    assert.deepEqual([warm.size, world.cancelled], [0, 1]);
    assert.deepEqual(
      offered.map(({ ended }) => ended),
      ['cut', 'cut'],
    );
    warm.missed();
    await settled();
    assert.equal(warm.size, 0);
  });

  it('offers no more to a relay that shuts down, and leaves to it what it does with those it has', async () => {
    const { warm, offered, served } = setUp();
    warm.start();
    await settled();
    warm.pause();
    offered[0]?.receive('POST');
    offered[1]?.closeByRelay(4000);
    await settled();
    assert.deepEqual([served.length, warm.size, offered.length], [1, 0, WARM_INITIAL]);
  });

  it('serves who is on the way when the control connection ends, until the next one does', async () => {
    const { warm, offered, served } = setUp();
    warm.start();
    await settled();
    warm.leave();
    offered[0]?.receive('POST');
    await settled();
    assert.deepEqual([served.length, warm.size, offered.length], [1, 1, WARM_INITIAL]);
    warm.leave();
    assert.deepEqual([warm.size, offered[1]?.ended], [0, 'cut']);
  });

  it('offers new ones when another control connection takes over, and still serves who comes over the old', async () => {
    const { warm, offered, served } = setUp();
    warm.start();
    await settled();
    warm.renew();
    await settled();
    assert.equal(offered.length, 2 * WARM_INITIAL);
    offered[0]?.receive('GET');
    offered[1]?.closeByRelay(4000);
    await settled();
    assert.equal(served.length, 1);
    assert.deepEqual([warm.size, offered.length], [WARM_INITIAL, 2 * WARM_INITIAL]);
    warm.renew();
    warm.renew();
    await settled();
    assert.equal(warm.size, 2 * WARM_INITIAL);
    warm.stop();
    assert.equal(warm.size, 0);
    assert.deepEqual(
      offered.slice(2).map(({ ended }) => ended),
      Array.from({ length: offered.length - 2 }, () => 'cut'),
    );
  });
});
