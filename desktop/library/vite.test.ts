import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { startRestRelay, closeServers } from '../testing/servers.ts';
import culvert from './vite.ts';

describe('the Vite plugin', () => {
  afterEach(closeServers);

  it('does not keep Vite from ending while it waits for the rate limit', async () => {
    const { address, calls } = await startRestRelay(() => [
      429,
      { error: 'rate limit exceeded' },
      { 'retry-after': '60' },
    ]);
    const plugin = culvert({ relay: address.origin, key: `cvt_${'k'.repeat(32)}` });
    const httpServer = Object.assign(new EventEmitter(), {
      address: () => ({ address: '127.0.0.1', family: 'IPv4', port: 1 }),
    });
    const logger = { info: assert.fail, error: assert.fail };
    plugin.configureServer({ httpServer, config: { server: {}, logger } });
    const waits = once(process, 'warning');
    httpServer.emit('listening');
    await waits;
    await plugin.closeBundle();
    assert.equal(calls.length, 1);
  });
});
