import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { concurrentTests } from '../support/scope.ts';
import { assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request, type Response } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { payload, payloadChecksum, readEcho, type Site, startSite } from '../support/services/echo.ts';
import { ControlSocket } from '../support/spec-client/client.ts';

/** ms between two visitors who look whether a tunnel is back. */
const ASK_MS = 100;

/** Asks again and again, without waiting for answers, until a visitor gets one from the service. */
async function firstAnswer(visit: () => Promise<Response>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const ask = async (): Promise<void> => {
    if ((await visit()).status === 200) resolve();
  };
  const timer = setInterval(() => void ask().catch(() => undefined), ASK_MS);
  try {
    await within(60_000, 'answer', promise);
  } finally {
    clearInterval(timer);
  }
}

/** `culvert` with a bad network between it and its relay. Visitors use another path. */
describe('a client on a bad network', function () {
  const { scope, relay, pool } = sharedRelaySuite();
  let site: Site;

  before(async () => {
    site = await startSite(scope);
  });

  const together = concurrentTests();

  /** A client behind its own simulated network, and a function that visits its tunnel. */
  async function start() {
    const { key } = await pool.take();
    const network = await FaultProxy.start(scope, relay.port);
    const culvert = await Culvert.start(scope, network, key, site.port);
    const host = hostOf(culvert.tunnel, relay);
    async function visit(request: Partial<Request> = {}): Promise<Response> {
      const visitor = await RawConnection.open(scope, relay.port, 60_000);
      try {
        return await visitor.request({ host, ...request });
      } finally {
        visitor.socket.destroy();
      }
    }
    /** Repeats a visit until the service responds to it. */
    function served(ms: number): Promise<void> {
      return eventually(ms, async () => assert.equal(readEcho(await visit({ target: '/x' })).url, '/x'));
    }
    return { key, network, culvert, host, visit, served };
  }

  type Client = Awaited<ReturnType<typeof start>>;

  /** Uploads and downloads data, and compares it. */
  async function assertIntact({ visit }: Client, bytes: number): Promise<void> {
    const [down, chunked, up] = await Promise.all([
      visit({ target: `/bytes/${bytes}` }),
      visit({ target: `/chunked/${bytes}` }),
      visit({ target: '/sink', method: 'POST', body: Buffer.concat([...payload(bytes)]) }),
    ]);
    const expected = Buffer.concat([...payload(bytes)]);
    assert.deepEqual([down.status, chunked.status, up.status], [200, 200, 200]);
    assert.ok(down.body.equals(expected));
    assert.ok(chunked.body.equals(expected));
    assert.deepEqual(JSON.parse(up.text), { sha256: payloadChecksum(bytes), length: bytes });
  }

  const shapes: [string, Partial<FaultProxy['shape']>, number][] = [
    ['that delivers byte by byte', { pieceBytes: 1 }, 5000],
    ['that delivers seven bytes at a time', { pieceBytes: 7 }, 50_000],
    ['with 100 ms of latency each way', { latencyMs: 100 }, 3_000_000],
    ['with 1 MB/s', { bytesPerSecond: 1_000_000 }, 1_000_000],
    [
      'with 50 ms of latency each way that loses packets',
      { latencyMs: 50, bytesPerLoss: 200_000 },
      3_000_000,
    ],
  ];
  for (const [name, shape, bytes] of shapes) {
    together(`serves everything intact over one ${name}`, async () => {
      const client = await start();
      // With its trunks open: a visitor waits 10 s for a client that has none, which a busy machine may exceed byte by byte.
      await client.served(20_000);
      Object.assign(client.network.shape, shape);
      await assertIntact(client, bytes);
    });
  }

  together('waits while nothing arrives, and loses nothing', async () => {
    const client = await start();
    const visitor = await RawConnection.open(scope, relay.port, 60_000);
    await visitor.write(formatRequest({ host: client.host, target: '/bytes/3000000' }));
    const head = await visitor.finalHead();
    client.network.stall();
    const announced = client.visit({ target: '/x' });
    const first = await Promise.race([announced, delay(5000)]);
    assert.equal(first, undefined);
    client.network.flow();
    assert.equal((await visitor.rest(head)).body.length, 3_000_000);
    assert.equal(readEcho(await announced).url, '/x');
  });

  for (const seconds of [3, 20]) {
    together(`serves again within 2 s after its network was away for ${seconds} s`, async () => {
      const { network, culvert, served } = await start();
      await served(20_000);
      const lost = culvert.nextEvent('reconnecting');
      await network.cut();
      await lost;
      await delay(seconds * 1000);
      await network.restore();
      const { ms } = await timed(() => served(10_000));
      assertWithin(ms, 2000);
    });
  }

  together('serves again within 10 s after its connections went silent while it had visitors', async () => {
    const { network, served } = await start();
    await served(20_000);
    network.swallow();
    const { ms } = await timed(() => served(60_000));
    assertWithin(ms, 10_000);
  });

  for (const seconds of [20, 60]) {
    together(`answers visitors within 2.5 s after its line was silently cut for ${seconds} s`, async () => {
      const { network, culvert, served, visit } = await start();
      await served(20_000);
      await network.blackOut();
      await delay(seconds * 1000);
      await network.mend();
      const { ms } = await timed(() => firstAnswer(visit));
      assertWithin(ms, 2500);
      await served(20_000);
      assert.equal(culvert.child.stderr, '');
    });
  }

  together('answers visitors within 2.5 s after present and new connections were swallowed', async () => {
    const { network, culvert, served, visit } = await start();
    await served(20_000);
    let tries = 0;
    network.onRequest = () => (tries += 1);
    network.swallowsNew = true;
    network.swallow();
    // Not a multiple of the interval between two tries.
    await delay(17_300);
    assert.ok(tries >= 5, `${tries} tries`);
    network.swallowsNew = false;
    const { ms } = await timed(() => firstAnswer(visit));
    assertWithin(ms, 2500);
    await served(20_000);
    assert.equal(culvert.child.stderr, '');
  });

  together('leaves the tunnel to another client permanently', async () => {
    const { key, culvert, network } = await start();
    const other = await ControlSocket.open(scope, relay, key, culvert.tunnel.id);
    assert.equal((await culvert.child.exit(20_000)).code, 5);
    await eventually(20_000, () => assert.equal(network.connections, 0));
    assert.equal(await Promise.race([other.closed, delay(3000)]), undefined);
  });
});
