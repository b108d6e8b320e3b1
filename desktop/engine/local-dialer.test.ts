import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { closedPort, closeServers, startTcp } from '../testing/servers.ts';
import { LocalDialer, LocalRefused } from './local-dialer.ts';

/** Many containers have no IPv6. */
const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);
const never = (): AbortSignal => new AbortController().signal;

describe('LocalDialer', () => {
  afterEach(closeServers);

  for (const host of ['127.0.0.1', '::1']) {
    it(`reaches a service on ${host}, and goes there first the next time`, async function () {
      if (host === '::1' && !hasIpv6) this.skip();
      const peers: (string | undefined)[] = [];
      const port = await startTcp((socket) => peers.push(socket.localAddress), host);
      const dialer = new LocalDialer(port);
      for (let round = 0; round < 2; round++) (await dialer.connect(never())).destroy();
      assert.deepEqual(peers, [host, host]);
    });
  }

  it('is refused where nothing listens', async () => {
    await assert.rejects(new LocalDialer(await closedPort()).connect(never()), LocalRefused);
  });

  it('finds a service that has moved to the other address', async function () {
    if (!hasIpv6) this.skip();
    const peers: (string | undefined)[] = [];
    const port = await startTcp((socket) => peers.push(socket.localAddress), '127.0.0.1');
    const dialer = new LocalDialer(port);
    (await dialer.connect(never())).destroy();
    closeServers();
    await startTcp((socket) => peers.push(socket.localAddress), '::1', port);
    for (let round = 0; round < 2; round++) (await dialer.connect(never())).destroy();
    assert.deepEqual(peers, ['127.0.0.1', '::1', '::1']);
  });

  it('gives up when it is told to', async () => {
    const port = await startTcp(() => {});
    const controller = new AbortController();
    controller.abort();
    await assert.rejects(new LocalDialer(port).connect(controller.signal), LocalRefused);
  });
});
