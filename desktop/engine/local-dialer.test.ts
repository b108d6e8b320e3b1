import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { connectLocal } from '../testing/attempts.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { closedPort, closeServers, startTcp } from '../testing/servers.ts';
import { Deadlines } from './deadlines.ts';
import { LOCAL_CONNECT_TIMEOUT_MS } from './limits.ts';
import { LocalDialer } from './local-dialer.ts';

/** Many containers have no IPv6. */
const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);
const dialerTo = (port: number): LocalDialer => new LocalDialer(port, new Deadlines(new FakeClock()));

describe('LocalDialer', () => {
  afterEach(closeServers);

  for (const host of ['127.0.0.1', '::1']) {
    it(`reaches a service on ${host}, and goes there first the next time`, async function () {
      if (host === '::1' && !hasIpv6) this.skip();
      const peers: (string | undefined)[] = [];
      const port = await startTcp((socket) => peers.push(socket.localAddress), host);
      const dialer = dialerTo(port);
      for (let round = 0; round < 2; round++) (await connectLocal(dialer)).destroy();
      assert.deepEqual(peers, [host, host]);
    });
  }

  it('is refused where nothing listens', async () => {
    await assert.rejects(connectLocal(dialerTo(await closedPort())), /refused/);
  });

  it('finds a service that has moved to the other address', async function () {
    if (!hasIpv6) this.skip();
    const peers: (string | undefined)[] = [];
    const port = await startTcp((socket) => peers.push(socket.localAddress), '127.0.0.1');
    const dialer = dialerTo(port);
    (await connectLocal(dialer)).destroy();
    closeServers();
    await startTcp((socket) => peers.push(socket.localAddress), '::1', port);
    for (let round = 0; round < 2; round++) (await connectLocal(dialer)).destroy();
    assert.deepEqual(peers, ['127.0.0.1', '::1', '::1']);
  });

  it('says nothing more when it is cancelled', async () => {
    const dialer = dialerTo(await startTcp((socket) => socket.resume()));
    dialer.connect({ connected: () => assert.fail(), refused: () => assert.fail() }).cancel();
    (await connectLocal(dialer)).destroy();
  });

  it('gives up on both addresses in time', async () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    const refused = new Promise<void>((resolve) => {
      const handler = { connected: () => assert.fail(), refused: resolve };
      new LocalDialer(9, deadlines).connect(handler);
    });
    // Before the system has said anything about either.
    clock.advance(2 * LOCAL_CONNECT_TIMEOUT_MS);
    await refused;
    assert.equal(deadlines.size, 0);
  });
});
